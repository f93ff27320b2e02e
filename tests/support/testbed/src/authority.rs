//! An authority that issues certificates for the servers of a test and their clients.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// Issues certificates.
pub struct Authority {
    /// Its own certificate, as PEM.
    pub certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its private key, as PEM.
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

impl Authority {
    /// One with a key of its own.
    pub fn new() -> anyhow::Result<Authority> {
        let key = KeyPair::generate()?;
        let mut parameters = CertificateParams::new(Vec::new())?;
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = parameters.self_signed(&key)?.pem();
        Ok(Authority { certificate, issuer: Issuer::new(parameters, key) })
    }

    /// A certificate for this host.
    pub fn issue(&self, host: &str) -> anyhow::Result<Issued> {
        let key = KeyPair::generate()?;
        let mut parameters = CertificateParams::new(vec![host.to_string()])?;
        // One that has its authority's name counts as signed by itself.
        parameters.distinguished_name.push(DnType::CommonName, host);
        let certificate = parameters.signed_by(&key, &self.issuer)?.pem();
        Ok(Issued { certificate, key: key.serialize_pem() })
    }
}
