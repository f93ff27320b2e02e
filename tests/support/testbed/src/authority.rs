//! A certificate authority for the servers and clients of a test.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

pub struct Authority {
    /// The authority's certificate, as PEM.
    pub certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its private key, as PEM.
pub struct Issued {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new() -> anyhow::Result<Authority> {
        let key = KeyPair::generate()?;
        let mut parameters = CertificateParams::new(Vec::new())?;
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = parameters.self_signed(&key)?.pem();
        Ok(Authority { certificate, issuer: Issuer::new(parameters, key) })
    }

    pub fn issue(&self, host: &str) -> anyhow::Result<Issued> {
        let key = KeyPair::generate()?;
        let mut parameters = CertificateParams::new(vec![host.to_string()])?;
        // Set a subject name. Without it, the certificate would have rcgen's default name, which is
        // also the authority's name. A certificate with the name of its issuer would count as
        // self-signed.
        parameters.distinguished_name.push(DnType::CommonName, host);
        let certificate = parameters.signed_by(&key, &self.issuer)?.pem();
        Ok(Issued { certificate, key: key.serialize_pem() })
    }
}
