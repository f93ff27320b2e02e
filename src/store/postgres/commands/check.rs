//! Whether the store is sound: our checks, as of one moment. Pages, indexes and references
//! are the engine's own to check.

use super::PostgresCommands;
use crate::store::order_rows::COUNT_ORDERS;
use crate::store::postgres::columns::{order_counts, value};
use crate::store::postgres::error::read;
use crate::store::postgres::importing::Importing;
use crate::store::postgres::journal::{Last, SELECT_LAST};
use crate::store::report::{DATES, MAX_PROBLEMS, is_date_in_utc};
use crate::store::{CheckReport, OrderCounts, StoreError};
use futures::TryStreamExt;
use std::pin::pin;
use tokio_postgres::types::FromSql;
use tokio_postgres::{IsolationLevel, Row, Transaction};

impl PostgresCommands {
    /// Examines the store as of one moment.
    pub fn examine(&self) -> Result<CheckReport, StoreError> {
        let mut connection = self.connection.lock();
        self.runtime.block_on(async {
            let snapshot = connection
                .client
                .build_transaction()
                .isolation_level(IsolationLevel::RepeatableRead)
                .read_only(true)
                .start()
                .await
                .map_err(read)?;
            let mut report = CheckReport::default();
            read_versions(&mut report, &snapshot).await?;
            for table in ["identity", "versions"] {
                check_one_row(&mut report, &snapshot, table).await?;
            }
            for (table, column) in DATES {
                check_dates(&mut report, &snapshot, table, column).await?;
            }
            report.orders = Some(count_orders(&snapshot).await?);
            report.pets = Some(count(&snapshot, "pets").await?);
            report.accounts = Some(count(&snapshot, "accounts").await?);
            report.keys = Some(count(&snapshot, "keys").await?);
            Ok(report)
        })
    }
}

async fn read_versions(
    report: &mut CheckReport,
    snapshot: &Transaction<'_>,
) -> Result<(), StoreError> {
    let rows = snapshot.query(SELECT_LAST, &[]).await.map_err(read)?;
    if rows.is_empty() {
        report.problems.push("changes: the journal has no row".to_string());
        return Ok(());
    }
    let highest = "SELECT (SELECT coalesce(max(changed_in), 0) FROM orders WHERE NOT $1),
                          (SELECT coalesce(max(changed_in), 0) FROM keys)";
    // An import that servers read ahead is beyond the last change.
    let waits = Importing::ask(snapshot).await?.waits;
    let highest = snapshot.query_one(highest, &[&waits]).await.map_err(read)?;
    let versions = Last::of(&rows)?.versions(0);
    report.check_versions(&[versions], value(&highest, 0)?, value(&highest, 1)?);
    Ok(())
}

/// Without its row, the table would make no writer wait, or name no store.
async fn check_one_row(
    report: &mut CheckReport,
    snapshot: &Transaction<'_>,
    table: &str,
) -> Result<(), StoreError> {
    let rows = count(snapshot, table).await?;
    if rows != 1 {
        report.problems.push(format!("{table}: {rows} rows instead of one"));
    }
    Ok(())
}

async fn check_dates(
    report: &mut CheckReport,
    snapshot: &Transaction<'_>,
    table: &str,
    column: &str,
) -> Result<(), StoreError> {
    let query = format!("SELECT id, {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY id");
    let no_parameters: [&str; 0] = [];
    let mut rows = pin!(snapshot.query_raw(&query, no_parameters).await.map_err(read)?);
    let mut bad = Vec::new();
    while let Some(row) = rows.try_next().await.map_err(read)? {
        let text: &str = value(&row, 1)?;
        if !is_date_in_utc(text) && bad.len() < MAX_PROBLEMS {
            let id: i64 = value(&row, 0)?;
            bad.push(format!("{table}: {column} of {id} is not a date in UTC: {text:?}"));
        }
    }
    report.problems.append(&mut bad);
    Ok(())
}

async fn count_orders(snapshot: &Transaction<'_>) -> Result<OrderCounts, StoreError> {
    order_counts(&snapshot.query_one(COUNT_ORDERS, &[]).await.map_err(read)?)
}

async fn count(snapshot: &Transaction<'_>, table: &str) -> Result<i64, StoreError> {
    single(snapshot, &format!("SELECT count(*) FROM {table}")).await
}

async fn single<T>(snapshot: &Transaction<'_>, query: &str) -> Result<T, StoreError>
where
    T: for<'a> FromSql<'a>,
{
    let row: Row = snapshot.query_one(query, &[]).await.map_err(read)?;
    value(&row, 0)
}
