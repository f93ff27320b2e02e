//! Checks the contents of the store in one snapshot. Does not check references, because PostgreSQL
//! itself enforces them. Does not check pages and indexes, because PostgreSQL has its own tools for
//! such checks.

use super::PostgresOperatorStore;
use super::blocking::Blocking;
use crate::store::operator_store::check_rows;
use crate::store::postgres::error::read_error;
use crate::store::postgres::journal::{SELECT_LAST, parse_last_changes};
use crate::store::postgres::rows::value;
use crate::store::{CheckReport, StoreError};
use tokio_postgres::{IsolationLevel, Transaction};

impl PostgresOperatorStore {
    pub fn run_checks(&self) -> Result<CheckReport, StoreError> {
        let mut connection = self.connection.lock();
        let mut report = CheckReport::default();
        let snapshot = self.runtime.block_on(async {
            let snapshot = connection.client.build_transaction();
            let snapshot = snapshot.isolation_level(IsolationLevel::RepeatableRead).read_only(true);
            let snapshot = snapshot.start().await.map_err(read_error)?;
            read_last_changes(&mut report, &snapshot).await?;
            for table in ["identity", "change_lock"] {
                let query = format!("SELECT count(*) FROM {table}");
                let rows = snapshot.query_one(&query, &[]).await.map_err(read_error)?;
                report.require_one_row(table, value(&rows, 0)?);
            }
            Ok::<_, StoreError>(snapshot)
        })?;
        check_rows(&mut report, &Blocking::new(&self.runtime, &snapshot));
        Ok(report)
    }
}

async fn read_last_changes(
    report: &mut CheckReport,
    snapshot: &Transaction<'_>,
) -> Result<(), StoreError> {
    let rows = snapshot.query(SELECT_LAST, &[]).await.map_err(read_error)?;
    if rows.is_empty() {
        report.problems.push("changes: the journal has no row".to_string());
        return Ok(());
    }
    let highest = "SELECT (SELECT coalesce(max(change_number), 0) FROM orders),
                          (SELECT coalesce(max(change_number), 0) FROM keys),
                          (SELECT coalesce(max(change_number), 0) FROM accounts)";
    let highest = snapshot.query_one(highest, &[]).await.map_err(read_error)?;
    let last_changes = parse_last_changes(&rows)?;
    let [in_orders, in_keys, in_accounts] = [0, 1, 2].map(|column| value(&highest, column));
    report.check_change_numbers("changes", &[last_changes], in_orders?, in_keys?, in_accounts?);
    Ok(())
}
