//! Opens connections to Redis, plain or with TLS.

use crate::config::{RedisNode, RedisUrl};
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, Connection, ConnectionAddr, IntoConnectionInfo,
    RedisConnectionInfo, RedisError, TlsCertificates,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a connection may take to be opened. Short, because Redis is tried again until it
/// is back.
pub const CONNECT_LIMIT: Duration = Duration::from_millis(400);

/// How long Redis may take to answer.
pub const ANSWER_LIMIT: Duration = Duration::from_millis(250);

/// How long a command of the operator waits for a connection and for an answer.
const COMMAND_LIMIT: Duration = Duration::from_secs(5);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// It does not answer, or refuses the password.
    #[error("cannot connect to {node}: {why}")]
    Unreachable {
        /// Where.
        node: RedisNode,
        /// Why. It says twice what Redis said if it is taken as the source.
        why: RedisError,
    },
    /// It is a replica: another was made the primary, or the wrong one was named.
    #[error("{0} is a replica, which takes no writes; name the primary")]
    Replica(RedisNode),
    /// No Sentinel answers, or none knows the primary.
    #[error("no Sentinel names the primary {service}: {}", refusals(.why))]
    NoPrimary {
        /// The name of the primary in Sentinel.
        service: String,
        /// What each of them did instead.
        why: Vec<(RedisNode, String)>,
    },
    /// A certificate or a private key cannot be read.
    #[error("cannot read {}", .0.display())]
    File(PathBuf, #[source] std::io::Error),
    /// No time will make it fit.
    #[error("{0} cannot count requests: {1}")]
    Unsuitable(RedisNode, String),
}

fn refusals(why: &[(RedisNode, String)]) -> String {
    why.iter().map(|(node, why)| format!("{node}: {why}")).collect::<Vec<_>>().join("; ")
}

impl ConnectError {
    /// Whether it may be over when it is tried again.
    pub fn may_pass(&self) -> bool {
        !matches!(self, ConnectError::File(..) | ConnectError::Unsuitable(..))
    }
}

/// Opens a connection as this user. Blocks.
pub fn open_blocking(
    url: &RedisUrl,
    node: &RedisNode,
    settings: RedisConnectionInfo,
) -> Result<Connection, ConnectError> {
    let client = client(url, node, settings)?;
    let connect = || {
        let connection = client.get_connection_with_timeout(COMMAND_LIMIT)?;
        connection.set_read_timeout(Some(COMMAND_LIMIT))?;
        Ok(connection)
    };
    connect().map_err(|why| ConnectError::Unreachable { node: node.clone(), why })
}

/// Opens a connection as this user.
pub async fn open(
    url: &RedisUrl,
    node: &RedisNode,
    settings: RedisConnectionInfo,
) -> Result<MultiplexedConnection, ConnectError> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_LIMIT))
        .set_response_timeout(Some(ANSWER_LIMIT));
    let client = client(url, node, settings)?;
    let opened = client.get_multiplexed_async_connection_with_config(&config).await;
    opened.map_err(|why| ConnectError::Unreachable { node: node.clone(), why })
}

/// What connects. The certificates are read each time, because they are renewed.
fn client(
    url: &RedisUrl,
    node: &RedisNode,
    settings: RedisConnectionInfo,
) -> Result<Client, ConnectError> {
    let RedisNode { host, port } = node.clone();
    let (address, certificates) = match url.tls() {
        None => (ConnectionAddr::Tcp(host, port), None),
        Some(tls) => {
            let own = |(certificate, key): &(PathBuf, PathBuf)| {
                let (client_cert, client_key) = (read(certificate)?, read(key)?);
                Ok(ClientTlsConfig { client_cert, client_key })
            };
            let certificates = TlsCertificates {
                client_tls: tls.own.as_ref().map(own).transpose()?,
                root_cert: tls.root.as_deref().map(read).transpose()?,
            };
            let address = ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None };
            (address, Some(certificates))
        }
    };
    let build = || {
        let info = address.into_connection_info()?;
        let tcp = info.tcp_settings().clone().set_nodelay(true);
        let info = info.set_redis_settings(settings).set_tcp_settings(tcp);
        match certificates {
            None => Client::open(info),
            Some(certificates) => Client::build_with_tls(info, certificates),
        }
    };
    build().map_err(|why| ConnectError::Unreachable { node: node.clone(), why })
}

fn read(path: &Path) -> Result<Vec<u8>, ConnectError> {
    std::fs::read(path).map_err(|error| ConnectError::File(path.to_path_buf(), error))
}
