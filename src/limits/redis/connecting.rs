//! Connects to the Redis that counts, and asks it what it is.

use super::server_facts::ServerFacts;
use crate::config::RedisUrl;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Connection, RedisError};
use std::time::Duration;

/// How long a connection may take to be opened.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);

/// How long Redis may take to answer.
pub const ANSWER_LIMIT: Duration = Duration::from_millis(250);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// It does not answer, or refuses the password.
    #[error("cannot connect to {url}: {why}")]
    Unreachable {
        /// Where, without the password.
        url: RedisUrl,
        /// Why. It says twice what Redis said if it is taken as the source.
        why: RedisError,
    },
    /// It is a replica: another was made the primary, or the wrong one was named.
    #[error("{0} is a replica, which takes no writes; name the primary")]
    Replica(RedisUrl),
    /// No time will make it fit.
    #[error("{0} cannot count requests: {1}")]
    Unsuitable(RedisUrl, String),
}

/// How long a command of the operator waits for an answer.
const COMMAND_LIMIT: Duration = Duration::from_secs(5);

/// Connects to read what is counted; a replica will do. Blocks.
pub fn connect_to_read(url: &RedisUrl) -> Result<Connection, ConnectError> {
    let connect = || {
        let client = Client::open(url.connection_info())?;
        let connection = client.get_connection_with_timeout(CONNECT_LIMIT)?;
        connection.set_read_timeout(Some(COMMAND_LIMIT))?;
        Ok(connection)
    };
    connect().map_err(|why| ConnectError::Unreachable { url: url.clone(), why })
}

/// Connects; says what was found.
pub async fn connect(url: &RedisUrl) -> Result<(MultiplexedConnection, ServerFacts), ConnectError> {
    let unreachable = |why| ConnectError::Unreachable { url: url.clone(), why };
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_LIMIT))
        .set_response_timeout(Some(ANSWER_LIMIT));
    let client = Client::open(url.connection_info()).map_err(unreachable)?;
    let opened = client.get_multiplexed_async_connection_with_config(&config).await;
    let mut connection = opened.map_err(unreachable)?;
    let info: String =
        redis::cmd("INFO").query_async(&mut connection).await.map_err(unreachable)?;
    let facts = ServerFacts::read(&info);
    if let Some(why) = facts.unsuitable_because() {
        return Err(ConnectError::Unsuitable(url.clone(), why));
    }
    if facts.is_replica() {
        return Err(ConnectError::Replica(url.clone()));
    }
    Ok((connection, facts))
}
