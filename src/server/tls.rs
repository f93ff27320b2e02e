//! The certificate that connections are answered with, read from two files and
//! read again when they change.
//!
//! There is one TLS configuration for the life of the server. It asks for the
//! certificate at each handshake, so a new one touches neither the listener nor a
//! connection that is open.

use crate::config::ServerConfig;
use arc_swap::ArcSwap;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use slog::{Logger, error, info};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often the files are looked at. A look is two system calls.
const LOOKED_AT_EVERY: Duration = Duration::from_secs(1);

/// Where certificate and key are, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The chain, the server's own certificate first.
    pub certificate: PathBuf,
    /// Its private key: PKCS #8, PKCS #1 or SEC 1.
    pub key: PathBuf,
}

impl TlsFiles {
    /// The files that the settings name.
    pub fn of(config: &ServerConfig) -> Option<TlsFiles> {
        let files = config.tls_cert.clone().zip(config.tls_key.clone());
        files.map(|(certificate, key)| TlsFiles { certificate, key })
    }
}

/// Why a certificate and its key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file holds no PEM, or not of the kind that belongs there.
    #[error("{} holds no {what} in PEM", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What it ought to hold.
        what: &'static str,
        /// What is wrong with it.
        source: pem::Error,
    },
    /// They are no pair, or of a kind that rustls does not know.
    #[error("{} and {} cannot be used together", files.certificate.display(), files.key.display())]
    Pair {
        /// The files.
        files: TlsFiles,
        /// What rustls says.
        source: rustls::Error,
    },
}

/// A certificate that follows its files.
#[derive(Debug)]
pub struct LiveCertificate {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    current: ArcSwap<CertifiedKey>,
    /// What the files looked like when they were read last, and when they were
    /// looked at last.
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    read: Option<[Look; 2]>,
    looked: Option<[Look; 2]>,
}

/// What tells one content of a file from another without reading it, and one
/// file behind a symbolic link from the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
}

impl LiveCertificate {
    /// Reads the files. Blocks.
    pub fn open(files: TlsFiles) -> Result<LiveCertificate, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let look = look_at(&files);
        let current = ArcSwap::from_pointee(read(&files, &provider)?);
        let seen = Mutex::new(Seen { read: look, looked: look });
        Ok(LiveCertificate { files, provider, current, seen })
    }

    /// The TLS configuration that answers with it, for HTTP/2 and HTTP/1.1.
    pub fn server_config(self: &Arc<Self>) -> Result<rustls::ServerConfig, rustls::Error> {
        let mut config = rustls::ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(self) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    /// Reads the files anew. What cannot be used is refused with a line of the
    /// log, and the old certificate stays. Blocks.
    pub fn reload(&self, log: &Logger) {
        let look = look_at(&self.files);
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).read = look;
        match read(&self.files, &self.provider) {
            Ok(pair) => {
                self.current.store(Arc::new(pair));
                info!(log, "a new certificate is in force";
                    "certificate" => %self.files.certificate.display());
            }
            Err(error) => error!(log, "the new certificate is refused, and the old one stays";
                "error" => crate::log::chain(&error)),
        }
    }

    /// Follows the files until the task is dropped.
    pub async fn keep_current(self: Arc<Self>, log: Logger) {
        let mut tick = tokio::time::interval(LOOKED_AT_EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            let (live, log) = (Arc::clone(&self), log.clone());
            let looked = tokio::task::spawn_blocking(move || {
                if live.has_settled() {
                    live.reload(&log);
                }
            });
            // A panic is logged by the hook; the next look is a second away.
            let _ = looked.await;
        }
    }

    /// Whether the files have changed since they were read, and no more since the
    /// last look: whoever writes two files has not written both at once.
    fn has_settled(&self) -> bool {
        let look = look_at(&self.files);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let settled = look.is_some() && look == seen.looked && look != seen.read;
        seen.looked = look;
        settled
    }
}

impl ResolvesServerCert for LiveCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.load_full())
    }
}

/// None while one of them is missing.
fn look_at(files: &TlsFiles) -> Option<[Look; 2]> {
    Some([look_at_one(&files.certificate)?, look_at_one(&files.key)?])
}

fn look_at_one(path: &Path) -> Option<Look> {
    let metadata = std::fs::metadata(path).ok()?;
    Some(Look {
        device: metadata.dev(),
        inode: metadata.ino(),
        length: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
    })
}

fn read(files: &TlsFiles, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
    let content = |path: &PathBuf| {
        std::fs::read(path).map_err(|source| TlsError::Read { path: path.clone(), source })
    };
    let bad = |path: &PathBuf, what| {
        let path = path.clone();
        move |source| TlsError::Pem { path, what, source }
    };
    let certificates = content(&files.certificate)?;
    let chain = CertificateDer::pem_slice_iter(&certificates)
        .collect::<Result<Vec<_>, _>>()
        .and_then(|chain| if chain.is_empty() { Err(pem::Error::NoItemsFound) } else { Ok(chain) })
        .map_err(bad(&files.certificate, "certificate"))?;
    let key = PrivateKeyDer::from_pem_slice(&content(&files.key)?)
        .map_err(bad(&files.key, "private key"))?;
    CertifiedKey::from_der(chain, key, provider)
        .map_err(|source| TlsError::Pair { files: files.clone(), source })
}
