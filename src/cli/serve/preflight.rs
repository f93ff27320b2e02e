//! Checks that a server can use its settings, the files that they name, and the host names of its
//! addresses. `serve` runs these checks before it opens anything, and `config check` runs only
//! these checks.

use crate::config::{
    EffectiveSettings, InvalidSettings, ServerConfig, StoreLocation, StoreSettings,
};
use crate::log::ErrorChain;
use crate::server::{ReloadableCertificate, TlsFiles};
use crate::store::postgres;
use std::net::SocketAddr;

/// Checks the settings, and fails with all problems that are found. If [`EffectiveSettings::check`]
/// finds a contradiction between settings, reports only that contradiction. Blocks while host names
/// are looked up.
pub fn check_settings(
    effective: &EffectiveSettings,
    store: &StoreSettings,
    config: &ServerConfig,
) -> Result<(), InvalidSettings> {
    effective.check(config)?;
    let mut problems = Vec::new();
    match store.location() {
        Ok(StoreLocation::Directory(_)) => {}
        Ok(StoreLocation::Postgres(url)) => {
            if let Err(error) = postgres::check_tls(&url) {
                problems.push(effective.problem("store", ErrorChain(&error)));
            }
        }
        Err(InvalidSettings(others)) => problems.extend(others),
    }
    if let Some(files) = TlsFiles::from_config(config)
        && let Err(error) = ReloadableCertificate::open(files)
    {
        problems.push(effective.problem("tls_cert", format_args!("{error:#}")));
    }
    match (config.listen.resolve("--listen"), config.admin_listen.resolve()) {
        (Ok(listen), Ok(Some(admin))) if addresses_conflict(listen, admin) => {
            let why = "the same address as listen; choose another port";
            problems.push(effective.problem("admin_listen", why));
        }
        (listen, admin) => {
            problems.extend(
                [listen.err(), admin.err()].into_iter().flatten().map(|error| error.to_string()),
            );
        }
    }
    InvalidSettings::check(problems)
}

/// Returns true if two listeners may be unable to use these addresses at the same time. This is so
/// if the ports are equal, and the IP addresses are equal or one of them is unspecified. Port 0
/// never conflicts, because each listener gets a free port.
fn addresses_conflict(one: SocketAddr, other: SocketAddr) -> bool {
    let unspecified = one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() != 0 && one.port() == other.port() && (unspecified || one.ip() == other.ip())
}
