//! Implements the operator store on SQLite.

use super::SqliteStore;
use super::check::examine;
use super::connection::{connect, in_transaction};
use super::directory::AUDIT_LOG_NAME;
use super::identity::store_id;
use super::last_changes::raise_change_number;
use super::server_lock::running_server;
use crate::private_file::{open_private_file, private_file};
use crate::store::operator_store::{Engine, Scope};
use crate::store::row::{StoredRow, join};
use crate::store::rules::import_outcome;
use crate::store::statements::Statements;
use crate::store::value::Value;
use crate::store::{
    ChangeScope, CheckReport, ImportOutcome, OperatorStore, Order, Records, StoreError,
};
use rusqlite::params_from_iter;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

impl Engine for SqliteStore {
    const ORDERS_CHANGE: &'static str = "(SELECT orders FROM last_changes)";
    const KEYS_CHANGE: &'static str = "(SELECT keys FROM last_changes)";
    const NUMBERS: &'static str = "SELECT value FROM json_each($1)";
    const OBJECTS: &'static str = "json_each($1)";

    fn read<T>(
        &self,
        work: impl FnOnce(&dyn Statements) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        work(&*self.reader.lock())
    }

    fn change<T>(
        &self,
        scope: Scope<'_>,
        work: impl Fn(&dyn Statements) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        in_transaction(&mut self.writer.lock(), |transaction| {
            raise_change_number(transaction, scope.scope())?;
            work(transaction)
        })
    }
}

impl OperatorStore for SqliteStore {
    fn id(&self) -> Result<String, StoreError> {
        Ok(store_id(&self.reader.lock())?)
    }

    fn import(
        &self,
        records: Records<'_>,
        skip_existing: bool,
    ) -> Result<ImportOutcome, StoreError> {
        in_transaction(&mut self.writer.lock(), |transaction| {
            let (mut stored, mut existing) = (0, None);
            let mut count = |id: i64, inserted: usize| {
                stored += inserted;
                if inserted == 0 {
                    existing.get_or_insert(id);
                }
            };
            match records {
                Records::Orders(orders) => {
                    let change_number = raise_change_number(transaction, ChangeScope::Orders)?;
                    let (names, places) =
                        (Order::names(), join(Order::COLUMNS, |_| "?".to_string()));
                    let mut insert = transaction.prepare_cached(&format!(
                        "INSERT INTO orders ({names}, change_number) VALUES ({places}, ?)
                         ON CONFLICT (id) DO NOTHING"
                    ))?;
                    for order in orders {
                        let mut values = order.values();
                        values.push(Value::Integer(change_number));
                        count(order.id, insert.execute(params_from_iter(values))?);
                    }
                }
                Records::Pets(pets) => {
                    let mut insert = transaction.prepare_cached(
                        "INSERT INTO pets (id, name) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING",
                    )?;
                    for pet in pets {
                        count(pet.id, insert.execute((pet.id, &pet.name))?);
                    }
                }
            }
            let is_duplicate =
                |id: &i64| records.ids().iter().filter(|other| *other == id).count() > 1;
            import_outcome(records, stored, skip_existing, existing.filter(|id| !is_duplicate(id)))
        })
    }

    fn is_served(&self) -> Result<bool, StoreError> {
        let directory = self.path().parent().unwrap_or(Path::new("."));
        Ok(running_server(directory)?.is_some())
    }

    fn check(&self) -> Result<CheckReport, StoreError> {
        Ok(examine(&connect(self.path())?))
    }

    fn append_to_audit_log(&self, line: &str) -> Result<(), StoreError> {
        let path = self.path().with_file_name(AUDIT_LOG_NAME);
        let append = || {
            // Create the file if it is missing. Then append, so that concurrent commands do not
            // overwrite each other's lines.
            private_file(&path, path.parent().unwrap_or(Path::new(".")))?;
            let mut file = open_private_file(&path, OpenOptions::new().append(true))?;
            file.write_all(format!("{line}\n").as_bytes())
        };
        append().map_err(|error| StoreError::unwritable(&path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::operator_store::{OrderCommands, PAGE_ORDERS};
    use rusqlite::Connection;
    use std::ops::ControlFlow;

    #[test]
    fn for_each_order_leaves_no_read_open() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        let orders: Vec<_> = (0..=PAGE_ORDERS as i64).map(Order::pending).collect();
        store.import(Records::Orders(&orders), false).unwrap();
        let other = Connection::open(store.path()).unwrap();
        store
            .for_each_order(None, &mut |order| {
                if order.id % 500 == 0 {
                    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
                    let busy: i64 = other.query_row(checkpoint, [], |row| row.get(0)).unwrap();
                    assert_eq!(busy, 0, "a read is open");
                }
                ControlFlow::Continue(())
            })
            .unwrap();
    }
}
