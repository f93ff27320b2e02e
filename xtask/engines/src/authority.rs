//! An authority that issues certificates for database servers and their clients.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use std::path::Path;

/// Issues certificates.
pub struct Authority {
    /// Its own certificate.
    pub certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// One with a key of its own.
    pub fn new() -> anyhow::Result<Authority> {
        let key = KeyPair::generate()?;
        let mut parameters = CertificateParams::new(Vec::new())?;
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = parameters.self_signed(&key)?;
        Ok(Authority { certificate, issuer: Issuer::new(parameters, key) })
    }

    /// Writes a certificate for this host, and its private key, as PEM files.
    pub fn issue(&self, host: &str, certificate: &Path, key: &Path) -> anyhow::Result<()> {
        let own = KeyPair::generate()?;
        let mut parameters = CertificateParams::new(vec![host.to_string()])?;
        // One that has its authority's name counts as signed by itself.
        parameters.distinguished_name.push(DnType::CommonName, host);
        std::fs::write(certificate, parameters.signed_by(&own, &self.issuer)?.pem())?;
        Ok(std::fs::write(key, own.serialize_pem())?)
    }
}
