//! A certificate authority for the servers and clients of a test.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// A certificate authority, which issues certificates for a test.
pub struct Authority {
    /// The authority's certificate, as PEM.
    pub certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its private key, as PEM.
pub struct Issued {
    /// The certificate, as PEM.
    pub certificate: String,
    /// The private key, as PEM.
    pub key: String,
}

impl Authority {
    /// Creates an authority with a new key.
    pub fn new() -> anyhow::Result<Authority> {
        let key = KeyPair::generate()?;
        let mut parameters = CertificateParams::new(Vec::new())?;
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = parameters.self_signed(&key)?.pem();
        Ok(Authority { certificate, issuer: Issuer::new(parameters, key) })
    }

    /// Issues a certificate for this host.
    pub fn issue(&self, host: &str) -> anyhow::Result<Issued> {
        let key = KeyPair::generate()?;
        let mut parameters = CertificateParams::new(vec![host.to_string()])?;
        // A certificate with the authority's own name would count as self-signed.
        parameters.distinguished_name.push(DnType::CommonName, host);
        let certificate = parameters.signed_by(&key, &self.issuer)?.pem();
        Ok(Issued { certificate, key: key.serialize_pem() })
    }
}
