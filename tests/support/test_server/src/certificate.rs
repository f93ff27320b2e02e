//! A certificate for `localhost` and its key.

use store_orders::server::TlsFiles;

/// A certificate for `localhost` with its key.
#[derive(Clone)]
pub struct TestCertificate {
    /// As PEM.
    pub pem: String,
    /// As DER.
    pub der: Vec<u8>,
    /// The key as PEM.
    pub key: String,
}

impl TestCertificate {
    /// A new one.
    pub fn new() -> TestCertificate {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_string()]).unwrap();
        TestCertificate {
            pem: made.cert.pem(),
            der: made.cert.der().to_vec(),
            key: made.signing_key.serialize_pem(),
        }
    }

    /// Writes both files as certificate tools do: each is complete when it
    /// appears, one after the other.
    pub fn install(&self, files: &TlsFiles) {
        for (path, content) in [(&files.certificate, &self.pem), (&files.key, &self.key)] {
            let new = path.with_extension("new");
            std::fs::write(&new, content).unwrap();
            std::fs::rename(new, path).unwrap();
        }
    }
}

/// A client that trusts these certificates and no others.
pub fn client_trusting(certificates: &[&TestCertificate]) -> reqwest::ClientBuilder {
    let roots = certificates.iter().map(|one| reqwest::Certificate::from_der(&one.der).unwrap());
    reqwest::Client::builder().no_gzip().tls_certs_only(roots).tls_info(true)
}
