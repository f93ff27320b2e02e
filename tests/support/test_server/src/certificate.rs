//! A self-signed certificate for `localhost`.

use store_orders::server::TlsFiles;

#[derive(Clone)]
pub struct TestCertificate {
    pub pem: String,
    pub der: Vec<u8>,
    /// The private key, as PEM.
    pub key: String,
}

impl TestCertificate {
    pub fn new() -> TestCertificate {
        let generated = rcgen::generate_simple_self_signed(vec!["localhost".to_string()]).unwrap();
        TestCertificate {
            pem: generated.cert.pem(),
            der: generated.cert.der().to_vec(),
            key: generated.signing_key.serialize_pem(),
        }
    }

    /// Writes the certificate and then the key, as certificate tools do. Each file is renamed into
    /// place, so the server never reads a partial file.
    pub fn install(&self, files: &TlsFiles) {
        for (path, content) in [(&files.certificate, &self.pem), (&files.key, &self.key)] {
            let new = path.with_extension("new");
            std::fs::write(&new, content).unwrap();
            std::fs::rename(new, path).unwrap();
        }
    }
}

/// Returns a builder for clients that trust only these certificates. [`reqwest::tls::TlsInfo`] of a
/// response contains the server's certificate.
pub fn client_trusting(certificates: &[&TestCertificate]) -> reqwest::ClientBuilder {
    let roots = certificates.iter().map(|one| reqwest::Certificate::from_der(&one.der).unwrap());
    reqwest::Client::builder().no_gzip().tls_certs_only(roots).tls_info(true)
}
