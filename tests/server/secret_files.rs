//! A server warns at its start if every user can read a file with a secret.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use testbed::{CliSandbox, Signal, free_address};

/// Starts a server with these settings, and returns its warnings about secret files. `file` is
/// `settings.toml` or `password`, and gets the mode `mode`.
async fn warnings(settings: &str, file: &str, mode: u32) -> Vec<String> {
    let sandbox = CliSandbox::new();
    let store = free_address().unwrap();
    sandbox.write("password", "hidden");
    sandbox.write("settings.toml", settings.replace("STORE", &store.to_string()));
    for name in ["password", "settings.toml"] {
        let mode = if name == file { mode } else { 0o600 };
        std::fs::set_permissions(sandbox.path(name), Permissions::from_mode(mode)).unwrap();
    }
    let server = sandbox.serve(&["--listen", "127.0.0.1:0", "--config", "settings.toml"]);
    server.signal(Signal::TERM).unwrap();
    let (_, log) = server.exited().await;
    assert!(!log.contains("hidden"), "{log}");
    let warnings = log.lines().filter(|line| line.contains("every user can read a secret"));
    warnings.map(str::to_string).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_every_user_can_read_gets_a_warning() {
    let with_file = "store = 'postgres://store@STORE/orders'\nstore_password_file = 'password'";
    let with_password = "store = 'postgres://store:hidden@STORE/orders'";
    for (settings, file) in [(with_file, "password"), (with_password, "settings.toml")] {
        let warning = warnings(settings, file, 0o644).await.join("\n");
        for field in [
            format!(r#""file":"{file}""#),
            r#""mode":"0644""#.to_string(),
            format!(r#""fix":"chmod o-rwx {file}""#),
        ] {
            assert!(warning.contains(&field) && warning.lines().count() == 1, "{field}: {warning}");
        }
        for mode in [0o640, 0o600] {
            assert_eq!(warnings(settings, file, mode).await, [""; 0], "{file} {mode:o}");
        }
    }
    // A settings file without a password is not secret.
    assert_eq!(warnings(with_file, "settings.toml", 0o644).await, [""; 0]);
}
