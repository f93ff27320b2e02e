//! An authority and a certificate that it issued.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// Certificates and a key, as PEM.
pub struct Issued {
    /// The certificate of the authority.
    pub authority: String,
    /// The certificate for a host.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

/// A certificate for this host from a new authority.
pub fn issue(host: &str) -> anyhow::Result<Issued> {
    let authority_key = KeyPair::generate()?;
    let mut parameters = CertificateParams::new(Vec::new())?;
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = parameters.self_signed(&authority_key)?.pem();
    let issuer = Issuer::new(parameters, authority_key);
    let key = KeyPair::generate()?;
    let mut parameters = CertificateParams::new(vec![host.to_string()])?;
    // One that has its authority's name counts as signed by itself.
    parameters.distinguished_name.push(DnType::CommonName, host);
    let certificate = parameters.signed_by(&key, &issuer)?.pem();
    Ok(Issued { authority, certificate, key: key.serialize_pem() })
}
