//! The settings themselves: what each is called, means and is by default, and
//! which of them contradict each other.

use super::{InForce, Unusable, all_settings};
use crate::keys::Environment;
use clap::{Args, FromArgMatches, ValueEnum};
use ipnet::IpNet;
use slog::Level;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The default of [`ServerConfig::keyless_per_minute`].
pub const KEYLESS_PER_MINUTE: u32 = 1_000;

/// The part of the time to stop that counts and log lines have after the requests.
const FINAL_FLUSH_RESERVE: Duration = Duration::from_secs(1);

/// What every command needs.
#[derive(Args, Clone, Debug)]
pub struct StoreSettings {
    /// Where the store is kept; created at need
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "STORE_ORDERS_DATA_DIR",
        default_value = "./store-orders-data"
    )]
    pub data_dir: PathBuf,
}

/// How the server is to run.
#[derive(Args, Clone, Debug)]
pub struct ServerConfig {
    /// Where to listen; port 0 takes a free one
    #[arg(
        long,
        value_name = "ADDR:PORT",
        env = "STORE_ORDERS_LISTEN",
        default_value = "127.0.0.1:8080"
    )]
    pub listen: SocketAddr,
    /// Whose keys to take: sto_live_ in production, sto_test_ in staging
    #[arg(long, value_enum, env = "STORE_ORDERS_ENVIRONMENT", default_value = "production")]
    pub environment: Environment,
    /// Requests a minute from one address without a valid key
    #[arg(long, value_name = "N", env = "STORE_ORDERS_KEYLESS_PER_MINUTE", default_value_t = KEYLESS_PER_MINUTE)]
    pub keyless_per_minute: u32,
    /// Networks whose X-Forwarded-For is believed, such as 10.0.0.0/8; may be repeated
    #[arg(
        long = "trusted-proxy",
        value_name = "CIDR",
        env = "STORE_ORDERS_TRUSTED_PROXIES",
        value_delimiter = ','
    )]
    pub trusted_proxies: Vec<IpNet>,
    /// Which lines the log has: info has one for each request, off has none at all
    #[arg(long, value_enum, env = "STORE_ORDERS_LOG_LEVEL", default_value = "info")]
    pub log_level: LogLevel,
    /// A file with the certificate to answer with over TLS, and the chain that
    /// leads to it, as PEM; read anew when it changes, and on SIGHUP
    #[arg(long, value_name = "FILE", env = "STORE_ORDERS_TLS_CERT")]
    pub tls_cert: Option<PathBuf>,
    /// A file with the private key of that certificate, as PEM
    #[arg(long, value_name = "FILE", env = "STORE_ORDERS_TLS_KEY")]
    pub tls_key: Option<PathBuf>,
    /// Where operators ask for /livez, /readyz and /metrics, without a key; off for
    /// nowhere
    #[arg(
        long,
        value_name = "ADDR:PORT",
        env = "STORE_ORDERS_ADMIN_LISTEN",
        default_value = "127.0.0.1:8081"
    )]
    pub admin_listen: AdminListen,
    /// After how long a client that takes nothing of its answer, or has vanished, is
    /// cut off; only on Linux
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = duration,
        env = "STORE_ORDERS_STALLED_AFTER",
        default_value = "60s"
    )]
    pub stalled_after: Duration,
    /// How long the server may take to stop: requests under way have all of it but
    /// a second, which is for what was counted and logged
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = duration,
        env = "STORE_ORDERS_STOP_WITHIN",
        default_value = "20s"
    )]
    pub stop_within: Duration,
}

impl Default for ServerConfig {
    /// The defaults of the command line.
    fn default() -> Self {
        let command = all_settings().mut_args(|arg| arg.env(None::<&str>));
        let matches = command.get_matches_from(["defaults"]);
        #[expect(clippy::expect_used, reason = "every setting is optional or has a default")]
        ServerConfig::from_arg_matches(&matches).expect("the defaults are valid settings")
    }
}

impl ServerConfig {
    /// How long requests under way may take to finish when the server stops.
    pub fn drain_timeout(&self) -> Duration {
        self.stop_within - FINAL_FLUSH_RESERVE.min(self.stop_within / 4)
    }

    /// Refuses settings that are sound each by itself, but not together.
    pub fn check(&self, in_force: &InForce) -> Result<(), Unusable> {
        match self.contradiction(in_force) {
            Some((keys, why)) => Err(Unusable::one(in_force.place_of(keys), why)),
            None => Ok(()),
        }
    }

    /// The keys that contradict each other, the one to be named first, and how.
    fn contradiction(&self, in_force: &InForce) -> Option<(&'static [&'static str], &'static str)> {
        match (&self.tls_cert, &self.tls_key) {
            (Some(_), None) => return Some((&["tls_cert"], "a certificate needs its tls_key")),
            (None, Some(_)) => return Some((&["tls_key"], "a key needs its tls_cert")),
            _ => {}
        }
        match self.admin_listen {
            AdminListen::At(admin)
                if same_place(admin, self.listen) && !in_force.is_default("admin_listen") =>
            {
                Some((&["admin_listen"], "it is where listen is; operators need another port"))
            }
            _ => None,
        }
    }
}

/// Whether only one of two listeners at these addresses can be.
fn same_place(one: SocketAddr, other: SocketAddr) -> bool {
    let everywhere = one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() != 0 && one.port() == other.port() && (everywhere || one.ip() == other.ip())
}

/// Where the server listens for operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminListen {
    /// Nowhere.
    Off,
    /// At this address, or the server does not start.
    At(SocketAddr),
    /// At this address if it is free: it is the default, not a choice.
    IfFree(SocketAddr),
}

impl AdminListen {
    /// The same, where a taken address is no error.
    pub fn if_free(self) -> AdminListen {
        match self {
            AdminListen::At(address) => AdminListen::IfFree(address),
            other => other,
        }
    }
}

impl FromStr for AdminListen {
    type Err = String;

    fn from_str(text: &str) -> Result<AdminListen, String> {
        match text {
            "off" => Ok(AdminListen::Off),
            _ => text
                .parse()
                .map(AdminListen::At)
                .map_err(|error| format!("{error}; write ADDR:PORT, or off")),
        }
    }
}

/// Which lines the log has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// No line at all.
    Off,
    /// What went wrong.
    Error,
    /// And what may.
    Warning,
    /// And every request.
    Info,
    /// And what only developers ask for.
    Debug,
}

impl LogLevel {
    /// The least important records that are written, if any are.
    pub const fn level(self) -> Option<Level> {
        match self {
            LogLevel::Off => None,
            LogLevel::Error => Some(Level::Error),
            LogLevel::Warning => Some(Level::Warning),
            LogLevel::Info => Some(Level::Info),
            LogLevel::Debug => Some(Level::Debug),
        }
    }
}

/// A duration such as `20s` or `1m 30s`.
fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|error| format!("{error}; write a duration like 500ms, 20s or 2m"))
}
