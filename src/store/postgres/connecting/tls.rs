//! Sets up TLS to PostgreSQL according to `sslmode` and the certificates.

use super::tls_mode::{PostgresTls, TlsMode};
use super::url::PostgresUrl;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::VerifierBuilderError;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

#[derive(Debug, thiserror::Error)]
pub enum TlsSetupError {
    #[error("{} cannot be used", path.display())]
    File { path: PathBuf, source: rustls::pki_types::pem::Error },
    #[error("no authority is trusted: name a file of certificates with sslrootcert")]
    NoAuthority(#[source] VerifierBuilderError),
    #[error("the certificates cannot be used")]
    Rustls(#[from] rustls::Error),
}

/// Returns whether tokio-postgres must use TLS. rustls, not tokio-postgres, verifies the
/// certificates.
pub fn ssl_mode(mode: TlsMode) -> SslMode {
    match mode {
        TlsMode::Disable => SslMode::Disable,
        TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
    }
}

/// Fails if TLS cannot be set up for one of the hosts, for example because a certificate file
/// cannot be read.
pub fn check_tls(url: &PostgresUrl) -> Result<(), TlsSetupError> {
    let tls = url.tls();
    url.hosts().try_for_each(|(host, _)| connector(tls, tls.mode_for(host)).map(drop))
}

pub fn connector(tls: &PostgresTls, mode: TlsMode) -> Result<MakeRustlsConnect, TlsSetupError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match mode {
        TlsMode::VerifyFull => web_pki_verifier(tls, &provider)?,
        TlsMode::VerifyCa => Arc::new(Lenient {
            authority: Some(web_pki_verifier(tls, &provider)?),
            provider: Arc::clone(&provider),
        }),
        _ => Arc::new(Lenient { authority: None, provider: Arc::clone(&provider) }),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let config = match (&tls.certificate, &tls.key) {
        (Some(certificate), Some(key)) => config.with_client_auth_cert(
            read_certificates(certificate)?,
            PrivateKeyDer::from_pem_file(key).map_err(file_error(key))?,
        )?,
        _ => config.with_no_client_auth(),
    };
    Ok(MakeRustlsConnect::new(config))
}

fn web_pki_verifier(
    tls: &PostgresTls,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, TlsSetupError> {
    let mut roots = RootCertStore::empty();
    match &tls.root {
        Some(path) => {
            for certificate in read_certificates(path)? {
                roots.add(certificate)?;
            }
        }
        // Unreadable certificates are skipped. If none remains, building the verifier fails.
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(TlsSetupError::NoAuthority)
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsSetupError> {
    CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<_, _>>)
        .map_err(file_error(path))
}

fn file_error(path: &Path) -> impl FnOnce(rustls::pki_types::pem::Error) -> TlsSetupError {
    move |source| TlsSetupError::File { path: path.to_path_buf(), source }
}

/// Implements `verify-ca` if there is an authority, and otherwise `require`. Neither mode checks
/// the host name.
#[derive(Debug)]
struct Lenient {
    authority: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        match authority.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            // Accept a wrong name. rustls checks the name last, so all other checks of the
            // certificate have succeeded.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::ErrorChain;

    #[test]
    fn the_error_of_a_file_is_not_repeated() {
        let url = "postgres://a/d?sslmode=verify-full&sslrootcert=/none.pem".parse().unwrap();
        let message = ErrorChain(&check_tls(&url).unwrap_err()).to_string();
        let expected =
            "/none.pem cannot be used: I/O error: No such file or directory (os error 2)";
        assert_eq!(message, expected);
    }
}
