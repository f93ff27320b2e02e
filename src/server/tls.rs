//! The TLS certificate, reloaded when its files change.
//!
//! Each handshake asks for the current certificate, so a reload affects neither the listener nor
//! open connections.

use crate::blocking::spawn_blocking_with_permit;
use crate::config::ServerConfig;
use anyhow::Context;
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use slog::{Logger, error, info};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use x509_cert::Certificate;
use x509_cert::der::Decode;

/// The interval between checks for changes of the certificate file and the key file. A check takes
/// two system calls.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate chain, which begins with the server's own certificate.
    pub certificate: PathBuf,
    /// The private key, in one of the formats PKCS #8, PKCS #1 and SEC 1.
    pub key: PathBuf,
}

impl TlsFiles {
    /// Returns `None` if the settings name no files. `EffectiveSettings::check` refuses settings
    /// with only one of the two files.
    pub fn from_config(config: &ServerConfig) -> Option<TlsFiles> {
        let files = config.tls_cert.clone().zip(config.tls_key.clone());
        files.map(|(certificate, key)| TlsFiles { certificate, key })
    }
}

#[derive(Debug)]
pub struct ReloadableCertificate {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    current: ArcSwap<CertifiedKey>,
    versions: Mutex<SeenVersions>,
    reload_requested: Notify,
}

/// The versions of the certificate file and the key file when the pair was last read, and at the
/// last check. A field is `None` if the metadata of one file could not be read.
#[derive(Debug)]
struct SeenVersions {
    loaded: Option<[FileVersion; 2]>,
    last_checked: Option<[FileVersion; 2]>,
    /// True if the last reload could not read a file. Keeps later reloads from logging the error
    /// again. SIGHUP resets the field, because the operator wants to see the error.
    is_unreadable: bool,
}

/// The metadata of a file, or of the target of a symbolic link. The server compares metadata to
/// detect a change without reading the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileVersion {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
}

impl ReloadableCertificate {
    /// Reads the certificate and its key from their files. Blocks the thread.
    pub fn open(files: TlsFiles) -> anyhow::Result<ReloadableCertificate> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let version = file_versions(&files);
        let current = ArcSwap::from_pointee(read_pair(&files, &provider)?);
        let seen_versions =
            SeenVersions { loaded: version, last_checked: version, is_unreadable: false };
        let versions = Mutex::new(seen_versions);
        let reload_requested = Notify::new();
        Ok(ReloadableCertificate { files, provider, current, versions, reload_requested })
    }

    /// Returns a TLS configuration that serves the current certificate, even after a reload.
    pub fn server_config(self: &Arc<Self>) -> Result<rustls::ServerConfig, rustls::Error> {
        let mut config = rustls::ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(self) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    /// Returns the time at which the current certificate expires, in Unix seconds. Returns NaN if
    /// the certificate cannot be parsed.
    pub fn ends_at(&self) -> f64 {
        let current = self.current.load();
        let certificate = current.cert.first().map(|der| Certificate::from_der(der));
        certificate.and_then(Result::ok).map_or(f64::NAN, |certificate| {
            certificate.tbs_certificate.validity.not_after.to_unix_duration().as_secs_f64()
        })
    }

    /// Asks [`ReloadableCertificate::keep_current`] to reload the files, even if they look
    /// unchanged. Several calls during one reload lead to only one further reload.
    pub fn request_reload(&self) {
        self.reload_requested.notify_one();
    }

    /// Reads files, so this method blocks its thread.
    fn check(&self, is_requested: bool, log: &Logger) {
        if is_requested {
            // Log an unreadable file again, because the operator asked for this reload.
            self.versions.lock().is_unreadable = false;
        }
        if is_requested || self.has_changed() {
            self.try_reload(log);
        }
    }

    /// Reloads the files. If the files are unusable, logs the error and keeps the previous
    /// certificate.
    ///
    /// Later checks retry files that cannot be read, but retry invalid files only after a change. A
    /// repeated read error is logged only after SIGHUP.
    fn try_reload(&self, log: &Logger) {
        let version = file_versions(&self.files);
        let pair = read_pair(&self.files, &self.provider);
        let is_unreadable = pair.as_ref().is_err_and(|error| error.is::<io::Error>());
        let mut seen_versions = self.versions.lock();
        let was_unreadable = std::mem::replace(&mut seen_versions.is_unreadable, is_unreadable);
        if !is_unreadable {
            seen_versions.loaded = version;
        }
        match pair {
            Ok(pair) => {
                self.current.store(Arc::new(pair));
                info!(log, "certificate reloaded";
                    "certificate" => %self.files.certificate.display());
            }
            Err(_) if is_unreadable && was_unreadable => {}
            Err(error) => error!(log, "certificate not reloaded"; "error" => format!("{error:#}"),
                "effect" => "the previous certificate stays in use",
                "fix" => "replace the files with a matching pair"),
        }
    }

    /// Reloads the files whenever they change or a reload is requested. Runs only one reload at a
    /// time, because each read from a hanging disk occupies a thread.
    pub async fn keep_current(self: Arc<Self>, log: Logger) {
        let mut tick = tokio::time::interval(CHECK_INTERVAL);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let is_requested = tokio::select! {
                _ = tick.tick() => false,
                () = self.reload_requested.notified() => true,
            };
            let (certificate, log) = (Arc::clone(&self), log.clone());
            let check =
                spawn_blocking_with_permit((), move || certificate.check(is_requested, &log));
            // Ignore a panic of the check, because the panic hook logs it. The next check tries
            // again.
            let _ = check.await;
        }
    }

    /// True if the files differ from the loaded files, and are unchanged since the last check.
    /// While the files still change, perhaps only one of the two has been replaced.
    fn has_changed(&self) -> bool {
        let current = file_versions(&self.files);
        let mut seen_versions = self.versions.lock();
        let is_stable = current == seen_versions.last_checked;
        seen_versions.last_checked = current;
        is_stable && current.is_some() && current != seen_versions.loaded
    }
}

impl ResolvesServerCert for ReloadableCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.load_full())
    }
}

fn file_versions(files: &TlsFiles) -> Option<[FileVersion; 2]> {
    Some([file_version(&files.certificate)?, file_version(&files.key)?])
}

fn file_version(path: &Path) -> Option<FileVersion> {
    let metadata = std::fs::metadata(path).ok()?;
    Some(FileVersion {
        device: metadata.dev(),
        inode: metadata.ino(),
        length: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
    })
}

fn read_pair(files: &TlsFiles, provider: &CryptoProvider) -> anyhow::Result<CertifiedKey> {
    let (certificate, key) = (files.certificate.display(), files.key.display());
    let chain =
        std::fs::read(&files.certificate).with_context(|| format!("cannot read {certificate}"))?;
    let chain = CertificateDer::pem_slice_iter(&chain)
        .collect::<Result<Vec<_>, _>>()
        .and_then(|chain| if chain.is_empty() { Err(pem::Error::NoItemsFound) } else { Ok(chain) })
        .with_context(|| format!("{certificate} holds no certificate in PEM"))?;
    let private_key = std::fs::read(&files.key).with_context(|| format!("cannot read {key}"))?;
    let private_key = PrivateKeyDer::from_pem_slice(&private_key)
        .with_context(|| format!("{key} holds no private key in PEM"))?;
    CertifiedKey::from_der(chain, private_key, provider)
        .with_context(|| format!("{certificate} and {key} cannot be used together"))
}
