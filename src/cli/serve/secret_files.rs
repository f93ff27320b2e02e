//! Warns at the start if every user of the machine can read a file with a secret.

use crate::config::{EffectiveSettings, ServerConfig, StoreSettings};
use slog::{Logger, warn};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const OTHERS_MAY_READ: u32 = 0o004;

/// Returns the secret files that the settings name. Also returns the configuration file if it
/// contains the store's password.
pub fn secret_files(
    store: &StoreSettings,
    config: &ServerConfig,
    effective: &EffectiveSettings,
) -> Vec<PathBuf> {
    let url = store.store.as_ref();
    let settings = url.filter(|url| url.has_password()).and_then(|_| effective.file_of("store"));
    let client_key = url.and_then(|url| url.tls().key.clone());
    let files = [config.tls_key.clone(), store.store_password_file.clone(), client_key, settings];
    files.into_iter().flatten().collect()
}

/// Logs a warning for each file that every user can read.
pub fn warn_of_readable(files: &[PathBuf], log: &Logger) {
    // If this server is process 1, it runs in a container. In containers, every user can usually
    // read mounted secrets, so a warning would be noise.
    if std::process::id() == 1 {
        return;
    }
    for file in files {
        // Skip a missing file, because the server reports an error when it opens the file.
        let Ok(metadata) = file.metadata() else { continue };
        let mode = metadata.permissions().mode() & 0o7777;
        if mode & OTHERS_MAY_READ != 0 {
            warn!(log, "every user can read a secret"; "file" => %file.display(),
                "mode" => format!("{mode:04o}"), "fix" => format!("chmod o-rwx {}", file.display()));
        }
    }
}
