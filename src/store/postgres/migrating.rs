//! What `migrate` does, through a connection of its own: the other commands refuse a
//! database that it has not brought up to date.

use super::command::CommandConnection;
use super::{grants, schema};
use crate::config::PostgresUrl;
use crate::store::{StoreError, WaitNotice};

/// Creates the store, or brings its tables up to date. Returns a line for each thing that was
/// done.
pub fn migrate(url: &PostgresUrl, notice: WaitNotice) -> Result<Vec<String>, StoreError> {
    let CommandConnection { runtime, mut connection } = CommandConnection::open(url)?;
    runtime.block_on(schema::migrate(&mut connection.client, notice))
}

/// The statements that let this role serve the store. Nothing is changed.
pub fn print_grants(url: &PostgresUrl, role: &str) -> Result<String, StoreError> {
    let CommandConnection { runtime, connection } = CommandConnection::open(url)?;
    runtime.block_on(grants::grants(&connection.client, role))
}
