//! What the operator's commands ask of the embedded engine.

use super::SqliteStore;
use super::check::examine;
use super::connection::{connect, in_transaction};
use super::identity::store_id;
use super::last_changes::raise_change_number;
use super::server_lock::running_server;
use crate::store::commands::{Engine, Parameters, Row, Statements};
use crate::store::{
    CheckReport, Half, ImportOutcome, OperatorStore, RecordKind, Records, StoreError,
};
use rusqlite::{CachedStatement, Connection};
use std::path::Path;

impl Engine for SqliteStore {
    const CHANGE_NUMBER: &'static str = "version";
    const NUMBERS: &'static str = "SELECT value FROM json_each($1)";
    const UPDATES: &'static str = "
        SELECT value ->> 'id' AS id, value ->> 'shipDate' AS ship_date,
               value ->> 'complete' AS complete
        FROM json_each($1)";

    fn read<T>(
        &self,
        work: impl FnOnce(&dyn Statements) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        work(&*self.reader.lock())
    }

    fn change<T>(
        &self,
        half: Half,
        work: impl FnOnce(&dyn Statements, i64) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        in_transaction(&mut self.writer.lock(), |transaction| {
            let change_number = raise_change_number(transaction, half)?;
            work(&**transaction, change_number)
        })
    }
}

impl Statements for Connection {
    fn execute(&self, statement: &str, parameters: Parameters<'_>) -> Result<u64, StoreError> {
        Ok(prepared(self, statement, parameters)?.raw_execute()? as u64)
    }

    fn query(
        &self,
        query: &str,
        parameters: Parameters<'_>,
        visit: &mut dyn FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = prepared(self, query, parameters)?;
        let names: Vec<String> = statement.column_names().map(String::from).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            let values =
                (0..names.len()).map(|column| row.get(column)).collect::<Result<_, _>>()?;
            visit(&Row { names: &names, values })?;
        }
        Ok(())
    }
}

fn prepared<'a>(
    connection: &'a Connection,
    statement: &str,
    parameters: Parameters<'_>,
) -> rusqlite::Result<CachedStatement<'a>> {
    let mut statement = connection.prepare_cached(statement)?;
    for (number, parameter) in (1..).zip(parameters) {
        // To SQLite `$1` is a name.
        if let Some(index) = statement.parameter_index(&format!("${number}"))? {
            statement.raw_bind_parameter(index, parameter)?;
        }
    }
    Ok(statement)
}

impl OperatorStore for SqliteStore {
    fn id(&self) -> Result<String, StoreError> {
        Ok(store_id(&self.reader.lock())?)
    }

    fn existing(&self, kind: RecordKind, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
        let mut connection = self.scanner.lock();
        let transaction = connection.transaction()?;
        let query = format!("SELECT 1 FROM {} WHERE id = ?1", kind.table());
        let mut statement = transaction.prepare_cached(&query)?;
        let mut existing = Vec::new();
        for id in ids {
            if statement.exists([id])? {
                existing.push(*id);
            }
        }
        Ok(existing)
    }

    fn import(
        &self,
        records: Records<'_>,
        skip_existing: bool,
    ) -> Result<ImportOutcome, StoreError> {
        self.import_at_once(records, skip_existing)
    }

    fn is_served(&self) -> Result<bool, StoreError> {
        let directory = self.path().parent().unwrap_or(Path::new("."));
        Ok(running_server(directory)?.is_some())
    }

    fn check(&self) -> Result<CheckReport, StoreError> {
        Ok(examine(&connect(self.path())?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::commands::{OrderCommands, PAGE_ORDERS};
    use crate::store::{NewOrder, Status};
    use std::ops::ControlFlow;

    #[test]
    fn orders_are_visited_once_in_pages_and_no_read_stays_open() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        let order = |id| NewOrder { shipped: id % 2 == 0, ..NewOrder::pending(id) };
        let pages = 3 * PAGE_ORDERS as i64;
        let ids: Vec<i64> = [i64::MIN, i64::MIN + 1]
            .into_iter()
            .chain(1..=pages)
            .chain([i64::MAX - 1, i64::MAX])
            .collect();
        let orders: Vec<_> = ids.iter().copied().map(order).collect();
        store.import(Records::Orders(&orders), false).unwrap();
        let other = Connection::open(store.path()).unwrap();
        let visited = |status| {
            let mut visited = Vec::new();
            store
                .for_each_order(status, &mut |order| {
                    if visited.len() % 500 == 0 {
                        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
                        let busy: i64 = other.query_row(checkpoint, [], |row| row.get(0)).unwrap();
                        assert_eq!(busy, 0, "a read is open");
                    }
                    visited.push(order.id);
                    ControlFlow::Continue(())
                })
                .unwrap();
            visited
        };
        assert_eq!(visited(None), ids);
        let shipped: Vec<i64> = ids.iter().copied().filter(|id| id % 2 == 0).collect();
        assert_eq!(visited(Some(Status::Shipped)), shipped);
        assert!(visited(Some(Status::Cancelled)).is_empty());
    }
}
