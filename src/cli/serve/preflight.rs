//! Checks that a server can use its settings, and the files and host names in the settings. `serve`
//! runs these checks before it opens anything. `config check` runs only these checks.

use crate::config::{
    EffectiveSettings, InvalidSettings, ServerConfig, StoreLocation, StoreSettings,
};
use crate::log::ErrorChain;
use crate::server::{ReloadableCertificate, TlsFiles};
use crate::store::postgres;
use std::net::SocketAddr;

/// Checks the server's settings. First checks which settings need each other
/// ([`EffectiveSettings::check`]). If this check fails, the error contains only its problem.
/// Otherwise the error contains all problems. Blocks while host names are looked up.
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

/// True if two listeners may be unable to use these addresses at the same time. Port 0 never
/// conflicts, because each listener gets a free port.
fn addresses_conflict(one: SocketAddr, other: SocketAddr) -> bool {
    let unspecified = one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() != 0 && one.port() == other.port() && (unspecified || one.ip() == other.ip())
}
