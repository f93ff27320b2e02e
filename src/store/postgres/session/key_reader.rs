//! Reads accounts and keys. A statement that reads accounts or keys also reads the store's last
//! change, in the same database snapshot.

use super::state::SessionState;
use crate::api_key::Digest;
use crate::clock::BootInstant;
use crate::store::account_rows::{select_changed_keys, select_keys};
use crate::store::postgres::connecting::Connection;
use crate::store::postgres::error::read_error;
use crate::store::postgres::journal::{ANSWER_COLUMNS, parse_answer, select_last_and_known};
use crate::store::postgres::rows::value;
use crate::store::postgres::timeouts::READ_LIMIT;
use crate::store::{
    KeyChange, KeyRecord, LookedUpKeys, MAX_CHANGED_KEYS, PolledChanges, PolledKeys, Position,
    StoreError,
};
use std::sync::Arc;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, Statement};

/// Polls for changes of keys, and looks up keys. In the statements, `$1` and `$2` are the number
/// and id of the last change that this server has seen.
pub struct KeyReader {
    /// The freshness connection, which [`ListReader`](super::list_reader::ListReader) uses too.
    connection: Arc<Connection>,
    /// Selects the last changes, but no rows of accounts and keys.
    last_change: Statement,
    /// Selects accounts and keys that changed after the change number `$3`.
    changed: Statement,
    /// Selects the keys with the digests `$3`.
    look_up: Statement,
    state: Arc<SessionState>,
}

impl KeyReader {
    pub async fn prepare(
        connection: Arc<Connection>,
        state: Arc<SessionState>,
    ) -> Result<KeyReader, Error> {
        let client = &connection.client;
        let changed = select_changed_keys("CAST($3 AS bigint)");
        let look_up = select_keys("(SELECT * FROM keys WHERE digest = ANY (CAST($3 AS bytea[])))");
        Ok(KeyReader {
            last_change: client.prepare(&select_last_and_known()).await?,
            changed: client.prepare(&with_last_change(&changed)).await?,
            look_up: client.prepare(&with_last_change(&look_up)).await?,
            connection,
            state,
        })
    }

    /// Reads the positions of the last changes, and the accounts and keys that changed after
    /// `after`. For the cases in which the answer has no accounts and keys, see
    /// [`PolledKeys::changes`].
    pub async fn poll(&self, after: Option<Position>) -> Result<PolledKeys, StoreError> {
        let polling = async {
            let (polled, _) = self.query(&self.last_change, &[], KeyChange::read).await?;
            let is_older = |after: &Position| {
                polled.last_changes.keys.has_more_than(*after)
                    && after.history == self.state.history
            };
            // Read keys only if they have changed. If every poll read keys, a lock on their table
            // would make every poll fail. The server would then refuse valid cached keys.
            let Some(after) = after.filter(is_older) else {
                return Ok(PolledKeys { polled, changes: None });
            };
            let number: [&(dyn ToSql + Sync); 1] = [&after.number];
            let (polled, changes) = self.query(&self.changed, &number, KeyChange::read).await?;
            let changes = (changes.len() <= MAX_CHANGED_KEYS).then_some(changes);
            Ok(PolledKeys { polled, changes })
        };
        self.state.answer(READ_LIMIT, polling).await
    }

    pub async fn look_up(&self, digests: &[Digest]) -> Result<LookedUpKeys, StoreError> {
        let digests: Vec<&[u8]> = digests.iter().map(|digest| &digest.0[..]).collect();
        let parameters: [&(dyn ToSql + Sync); 1] = [&digests];
        let query = self.query(&self.look_up, &parameters, KeyRecord::read);
        let (polled, keys) = self.state.answer(READ_LIMIT, query).await?;
        Ok(LookedUpKeys { polled, keys })
    }

    /// Runs a statement. Returns the rows, converted by `read`, and the last changes that the rows
    /// reflect.
    async fn query<T>(
        &self,
        statement: &Statement,
        parameters: &[&(dyn ToSql + Sync)],
        read: impl Fn(&Row, usize) -> Result<T, StoreError>,
    ) -> Result<(PolledChanges, Vec<T>), StoreError> {
        let (asked_at, last_seen) = (BootInstant::now(), self.state.replica.last_seen());
        let (number, id) = last_seen.last().map(|change| (change.number, &*change.id)).unzip();
        let change: [&(dyn ToSql + Sync); 2] = [&number, &id];
        let parameters = [&change, parameters].concat();
        let rows = self.connection.client.query(statement, &parameters).await;
        let rows = rows.map_err(read_error)?;
        let answer = parse_answer(&rows)?;
        let polled = self
            .state
            .accept(|history, lease, seen| answer.with_as_of(history, lease, asked_at, seen))?;
        let mut keys = Vec::new();
        if statement.columns().len() > ANSWER_COLUMNS {
            for row in &rows {
                // If no account or key is found, the LEFT JOIN returns one row in which the account
                // and key columns are NULL.
                if value::<Option<i64>>(row, ANSWER_COLUMNS)?.is_some() {
                    keys.push(read(row, ANSWER_COLUMNS)?);
                }
            }
        }
        Ok((polled, keys))
    }
}

fn with_last_change(rows: &str) -> String {
    format!(
        "SELECT last.*, rows.* FROM ({}) AS last LEFT JOIN ({rows}) AS rows ON true",
        select_last_and_known()
    )
}
