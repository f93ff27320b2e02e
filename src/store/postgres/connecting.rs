//! Connects to the primary. The primary is the first server, in the order of the URL, that is
//! neither in recovery nor read-only.
//!
//! Tries each address in a separate call, with a timeout. With all hosts in one call,
//! tokio-postgres waited 12 s for a suspended primary.

mod link;
pub(super) mod roles;
mod tls;
mod tls_mode;
mod url;

pub use link::Link;
pub use roles::COMMAND;
pub use tls::check_tls;
pub use url::{InvalidUrl, PostgresUrl, read_password};

use super::error::PostgresError;
use super::timeouts::{
    KEEPALIVE_IDLE, KEEPALIVE_INTERVAL, KEEPALIVE_RETRIES, UNACKNOWLEDGED_LIMIT,
};
use link::drive;
use roles::Role;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tls::{connector, ssl_mode};
use tls_mode::TlsMode;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Reads whether the server accepts writes, and the server's system identifier, timeline and start
/// time. On a standby, the timeline is empty, because the functions that compute the timeline fail
/// there.
///
/// Also sets two settings that cannot be startup options:
///
/// - `search_path` becomes the current schema alone. The schema's name is known only after the
///   connection is open.
/// - `transaction_timeout` becomes 0. PostgreSQL before version 17 would refuse a connection with
///   this setting.
const SELECT_IDENTITY: &str = "SELECT pg_is_in_recovery(), \
    current_setting('transaction_read_only') = 'on', \
    (SELECT system_identifier::text FROM pg_control_system()), \
    CASE WHEN pg_is_in_recovery() THEN '' \
         ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END, \
    extract(epoch FROM pg_postmaster_start_time())::text, \
    set_config('search_path', coalesce(quote_ident(current_schema()), '\"\"'), false), \
    CASE WHEN current_setting('server_version_num')::int >= 170000 \
         THEN set_config('transaction_timeout', '0', false) END";

pub struct Connection {
    pub client: Client,
    pub server: ServerIdentity,
    /// Reports the end of the connection. Also counts commits on this connection that may not have
    /// waited for the standby.
    pub link: Arc<Link>,
    driver: Driver,
}

impl Connection {
    /// Closes the socket. Does not cancel running statements, because a cancelled COMMIT would
    /// succeed without the standby's confirmation.
    pub fn close(&self) {
        self.driver.0.abort();
    }
}

/// The task that transfers a connection's messages. The task ends when this value is dropped.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Identifies a running PostgreSQL server. Connections with equal identities lead to the same
/// server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerIdentity {
    /// The address and port, or the socket's directory and port.
    pub address: String,
    /// PostgreSQL's system identifier, which differs between clusters.
    pub system: String,
    /// The timeline, which rises at each promotion.
    pub timeline: String,
    /// PostgreSQL's start time. It distinguishes servers that were promoted to the same timeline.
    pub started: String,
}

/// The reason why a host, or every host, could not be used.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct ConnectError {
    pub text: String,
    /// True if retries are pointless: PostgreSQL refuses the role or its password, the database
    /// does not exist, or the password file cannot be read. False for every other error. For
    /// example, an unknown host name or a wrong certificate may be corrected while the program
    /// retries.
    pub is_final: bool,
}

impl ConnectError {
    fn final_because(text: impl ToString) -> ConnectError {
        ConnectError { text: text.to_string(), is_final: true }
    }

    /// Combines the errors of all hosts into one. The combined error is final only if each host's
    /// error is final, because otherwise a later attempt may succeed.
    pub fn no_primary(refusals: &[ConnectError]) -> ConnectError {
        let text = refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let is_final = !refusals.is_empty() && refusals.iter().all(|refusal| refusal.is_final);
        ConnectError { text, is_final }
    }
}

impl<T: Into<String>> From<T> for ConnectError {
    fn from(text: T) -> ConnectError {
        ConnectError { text: text.into(), is_final: false }
    }
}

/// One address of a host, and the TLS settings for connections to the address.
#[derive(Clone)]
pub struct Target {
    host: Host,
    /// `None` for a Unix socket.
    address: Option<SocketAddr>,
    port: u16,
    mode: TlsMode,
    /// The TLS connector. All connections to this target share it, because a new connector may read
    /// every certificate of the system.
    tls: MakeRustlsConnect,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.host, self.address) {
            (Host::Tcp(name), Some(address)) if *name != address.ip().to_string() => {
                write!(f, "{name} ({address})")
            }
            (Host::Tcp(name), _) => write!(f, "{name}:{}", self.port),
            (Host::Unix(path), _) => write!(f, "{}:{}", path.display(), self.port),
        }
    }
}

/// Connects to the first host that is a primary. `limit` is the timeout for each address.
pub async fn connect(
    url: &PostgresUrl,
    role: &Role,
    limit: Duration,
) -> Result<Connection, ConnectError> {
    let mut refusals = Vec::new();
    for target in targets(url, limit, &mut refusals).await {
        match connect_to(url, &target, role, limit).await {
            Ok(connection) => return Ok(connection),
            Err(refusal) => refusals.push(refusal),
        }
    }
    Err(ConnectError::no_primary(&refusals))
}

/// Looks up every address of every host, in the order of the URL. Adds failures to `refusals`.
pub async fn targets(
    url: &PostgresUrl,
    limit: Duration,
    refusals: &mut Vec<ConnectError>,
) -> Vec<Target> {
    let mut targets = Vec::new();
    for (host, port) in url.hosts() {
        targets.extend(targets_of(url, host, port, limit, refusals).await);
    }
    targets
}

async fn targets_of(
    url: &PostgresUrl,
    host: &Host,
    port: u16,
    limit: Duration,
    refusals: &mut Vec<ConnectError>,
) -> Vec<Target> {
    let addresses = match host {
        Host::Unix(_) => vec![None],
        Host::Tcp(name) => {
            match timeout(limit, tokio::net::lookup_host((name.as_str(), port))).await {
                Ok(Ok(addresses)) => addresses.map(Some).collect(),
                Ok(Err(error)) => {
                    refusals.push(format!("{name}: {error}").into());
                    Vec::new()
                }
                Err(_) => {
                    refusals.push(format!("{name}: its address is not found in time").into());
                    Vec::new()
                }
            }
        }
    };
    let mode = url.tls().mode_for(host);
    let tls = match connector(url.tls(), mode) {
        Ok(tls) => tls,
        Err(error) => {
            refusals.push(error.to_string().into());
            return Vec::new();
        }
    };
    let target = |address| {
        let (host, tls) = (host.clone(), tls.clone());
        Target { host, address, port, mode, tls }
    };
    addresses.into_iter().map(target).collect()
}

fn explain(error: tokio_postgres::Error) -> ConnectError {
    let error = PostgresError::from(error);
    let is_final = matches!(
        error.state,
        Some(
            SqlState::INVALID_PASSWORD
                | SqlState::INVALID_AUTHORIZATION_SPECIFICATION
                | SqlState::INVALID_CATALOG_NAME
        )
    );
    ConnectError { text: error.with_advice(), is_final }
}

/// Connects to the PostgreSQL server `target` within the time `limit`. Fails if the PostgreSQL
/// server is a standby or read-only.
pub async fn connect_to(
    url: &PostgresUrl,
    target: &Target,
    role: &Role,
    limit: Duration,
) -> Result<Connection, ConnectError> {
    let refused = |why: ConnectError| ConnectError { text: format!("{target}: {why}"), ..why };
    let mut config = url.session();
    // PostgreSQL uses the last of repeated options, so the role's options override those of the
    // URL.
    let options = config.get_options().unwrap_or_default().to_string() + &role.options();
    config
        .options(options)
        .keepalives_idle(KEEPALIVE_IDLE)
        .keepalives_interval(KEEPALIVE_INTERVAL)
        .keepalives_retries(KEEPALIVE_RETRIES)
        .tcp_user_timeout(UNACKNOWLEDGED_LIMIT);
    config.application_name(role.name).ssl_mode(ssl_mode(target.mode)).port(target.port);
    let address = match (&target.host, target.address) {
        (Host::Unix(path), _) => {
            config.host_path(path);
            format!("{}:{}", path.display(), target.port)
        }
        (Host::Tcp(name), Some(address)) => {
            config.host(name).hostaddr(address.ip());
            address.to_string()
        }
        (Host::Tcp(name), None) => {
            return Err(refused(format!("{name} has no address").into()));
        }
    };
    let connecting = async {
        if let Some(file) = url.password_file() {
            config.password(file.read().await.map_err(ConnectError::final_because)?);
        }
        open(config, target.tls.clone(), address).await
    };
    match timeout(limit, connecting).await {
        Ok(opened) => opened.map_err(refused),
        Err(_) => Err(refused(format!("no answer within {} ms", limit.as_millis()).into())),
    }
}

async fn open(
    config: Config,
    tls: MakeRustlsConnect,
    address: String,
) -> Result<Connection, ConnectError> {
    let (client, connection) = config.connect(tls).await.map_err(explain)?;
    let link = Arc::new(Link::default());
    let driver = Driver(tokio::spawn(drive(connection, Arc::clone(&link))));
    // If a later step fails, the driver is dropped, which closes the socket.
    let row = client.query_typed_one(SELECT_IDENTITY, &[]).await.map_err(explain)?;
    let flag = |column| row.try_get::<_, bool>(column).map_err(explain);
    if flag(0)? {
        return Err("it is a standby".into());
    }
    if flag(1)? {
        let why = "it is read-only: default_transaction_read_only is on, for the server, the \
                   database or the role";
        return Err(why.into());
    }
    let text = |column| row.try_get::<_, String>(column).map_err(explain);
    let (system, timeline, started) = (text(2)?, text(3)?, text(4)?);
    let server = ServerIdentity { address, system, timeline, started };
    Ok(Connection { client, server, link, driver })
}

#[cfg(test)]
mod tests;
