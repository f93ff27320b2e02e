//! A session consists of six connections to one database server, which are opened and closed
//! together.
//!
//! A replaced primary still answers reads. In a pool of independent connections, some connections
//! would still reach the old primary after a failover. A list from the old primary could show an
//! order whose cancellation the new primary has committed. So all connections of a session reach
//! the same server. Lists and the rate limiter use answers of this server only while the session
//! has a valid [`lease`](crate::store::agreement::lease).
//!
//! A connection executes one statement after the other. Lists, for example, must not wait behind a
//! batch that waits for the change lock. So each kind of work has its own connection:
//!
//! | Connection | Type | Its job |
//! |---|---|---|
//! | writer | [`BatchWriter`] | cancels orders |
//! | freshness | [`ListReader`], [`KeyReader`] | query the last changes for lists and for keys |
//! | reader | [`RowReader`] | reads single orders and pets |
//! | maintenance | [`Maintenance`] | records uses of keys, removes old rows, checks the schema and the standbys |
//! | heartbeat | [`Heartbeat`] | renews the lease |
//! | counts | [`Counter`] | counts requests |
//!
//! These types share [`SessionState`] and do not use each other. Only `BatchWriter` holds a mutex
//! while statements run. Its statements take the change lock first, and then lock the rows of
//! orders. Each other mutex is held only while one value is read or written, and no two of them
//! are held at the same time.
//!
//! A session ends if a connection closes or fails, a task panics, or an answer is late or must not
//! be used. For example, an answer must not be used in these cases:
//!
//! - The journal lacks a change that this server has seen.
//! - The standby did not confirm a commit.
//! - The lease expired before a list got its answer.
//!
//! When the session ends, all its connections are closed, and [`opener`] opens the next session. An
//! answer that arrives after the end is discarded, because a replaced primary may have sent it. The
//! request then fails. Only a batch is sent again, in the next session.

mod counter;
mod durability;
mod heartbeat;
mod key_reader;
mod list_reader;
mod maintenance;
pub(super) mod opener;
pub(super) mod replica;
mod row_reader;
mod state;
mod writer;

pub(super) use state::with_time_limit;
pub(super) use writer::{Batch, time_to_send, too_late};

use super::connecting::roles::Role;
use super::connecting::{
    ConnectError, Connection, PostgresUrl, ServerIdentity, Target, connect_to,
};
use super::error::unreachable_because;
use super::timeouts::{CONNECT_LIMIT, READ_LIMIT};
use crate::store::{Order, StoreError};
use counter::Counter;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use heartbeat::Heartbeat;
use key_reader::KeyReader;
use list_reader::ListReader;
use maintenance::Maintenance;
use row_reader::RowReader;
use state::SessionState;
use std::sync::Arc;
use writer::BatchWriter;

/// Six connections to one PostgreSQL server.
pub struct Session {
    pub(super) writer: BatchWriter,
    pub(super) lists: ListReader,
    pub(super) keys: KeyReader,
    pub(super) rows: RowReader,
    pub(super) maintenance: Maintenance,
    heartbeat: Heartbeat,
    pub(super) counter: Counter,
    pub(super) state: Arc<SessionState>,
    /// The connections of the fields above, in the order of [`NAMES`].
    connections: [Arc<Connection>; 6],
    store_id: String,
    server: ServerIdentity,
    url: PostgresUrl,
    target: Target,
}

/// The names of a session's connections. The log names the connection whose loss ended the session.
const NAMES: [&str; 6] = ["writer", "freshness", "reader", "maintenance", "heartbeat", "counts"];

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("the connections came to different servers")]
    Different,
    /// The program does not support the schema's version, or the request counts belong to another
    /// store, for example.
    #[error(transparent)]
    Schema(StoreError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OpenError {
    /// True if the operator must act before another attempt can succeed.
    pub fn is_final(&self) -> bool {
        match self {
            OpenError::Connect(error) => error.is_final,
            OpenError::Schema(_) | OpenError::Store(StoreError::Refused(_)) => true,
            OpenError::Different | OpenError::Store(_) => false,
        }
    }
}

impl Session {
    /// Reads an order if it is cancelled. Then waits until the change that cancelled it is
    /// confirmed, so that the standby has the change, too.
    pub async fn cancelled_order(&self, id: i64) -> Result<Option<Order>, StoreError> {
        // Request a heartbeat now, so that reading the row and confirming the last seen change
        // overlap.
        self.heartbeat.confirm_last_seen();
        let Some((order, number)) = self.rows.cancelled_order(id).await? else { return Ok(None) };
        with_time_limit(READ_LIMIT, self.state.require_confirmed(number)).await?;
        Ok(Some(order))
    }

    /// Closes all connections when the session ends or loses one of them. Returns the reason why
    /// the session ended.
    async fn close_when_ended(&self) -> String {
        let closed = NAMES.iter().zip(&self.connections).map(async |(name, connection)| {
            connection.link.closed().await;
            name
        });
        let mut closed: FuturesUnordered<_> = closed.collect();
        tokio::select! {
            _ = self.state.ended() => {}
            Some(name) = closed.next() => {
                self.state.end(&format_args!("the {name} connection was closed"));
            }
        }
        self.lists.close();
        // Close the connections explicitly, because tasks may still own the session. Requests that
        // wait for an answer then fail immediately.
        for connection in &self.connections {
            connection.close();
        }
        self.state.ended().await
    }

    /// Opens another connection to this session's server, for long work. If the new connection is
    /// lost, the session continues.
    pub async fn open_another(&self, role: &Role) -> Result<Connection, StoreError> {
        let opened = connect_to(&self.url, &self.target, role, CONNECT_LIMIT).await;
        let connection = opened.map_err(|error| unreachable_because(error.to_string()))?;
        if connection.server != self.server {
            return Err(unreachable_because(OpenError::Different.to_string()));
        }
        Ok(connection)
    }
}
