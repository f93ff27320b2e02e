//! Finds the Redis that counts, connects to it, and asks it what it is.

use super::connecting::{ConnectError, open, open_blocking};
use super::sentinel;
use super::server_facts::ServerFacts;
use crate::config::{RedisNode, RedisPlace, RedisUrl};
use redis::Connection;
use redis::aio::MultiplexedConnection;

/// A connection, and where it leads.
pub struct Connected {
    /// The connection.
    pub connection: MultiplexedConnection,
    /// The primary.
    pub node: RedisNode,
    /// What it says of itself.
    pub facts: ServerFacts,
}

/// Connects to read what is counted; a replica will do. Blocks.
pub fn connect_to_read(url: &RedisUrl) -> Result<Connection, ConnectError> {
    let node = match url.place() {
        RedisPlace::Primary(node) => node.clone(),
        RedisPlace::Sentinels { nodes, service } => {
            sentinel::primary_for_a_command(url, nodes, service)?
        }
    };
    open_blocking(url, &node, url.settings().clone())
}

/// Connects to the primary; says what was found.
pub async fn connect(url: &RedisUrl) -> Result<Connected, ConnectError> {
    let node = match url.place() {
        RedisPlace::Primary(node) => node.clone(),
        RedisPlace::Sentinels { nodes, service } => sentinel::primary(url, nodes, service).await?,
    };
    let mut connection = open(url, &node, url.settings().clone()).await?;
    let info = redis::cmd("INFO").query_async::<String>(&mut connection).await;
    let info = info.map_err(|why| ConnectError::Unreachable { node: node.clone(), why })?;
    let facts = ServerFacts::read(&info);
    if let Some(why) = facts.unsuitable_because() {
        return Err(ConnectError::Unsuitable(node, why));
    }
    if facts.is_replica() {
        return Err(ConnectError::Replica(node));
    }
    Ok(Connected { connection, node, facts })
}
