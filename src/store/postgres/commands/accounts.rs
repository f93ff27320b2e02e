//! Accounts for the operator's commands: created, renamed, closed, moved to another plan,
//! listed.

use super::PostgresCommands;
use crate::store::postgres::columns::{plan_and_limits, value};
use crate::store::postgres::error::{read, written};
use crate::store::postgres::journal::Half;
use crate::store::rules::{account_closed, account_exists, account_name, check_limits, no_account};
use crate::store::{Account, StoreError};
use chrono::{DateTime, Utc};
use store_orders_api::plans::{Plan, PlanLimits};
use store_orders_api::types::utc_text;
use tokio_postgres::{Row, Transaction};

impl PostgresCommands {
    /// Creates an account. `own` are the limits of an Enterprise account, and of
    /// no other.
    pub fn create_account(
        &self,
        name: &str,
        plan: Plan,
        own: Option<PlanLimits>,
        at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        check_limits(plan, own)?;
        let name = account_name(name)?;
        let (per_minute, per_day) = columns_of(own);
        self.change(Half::Keys, async |transaction, _| {
            // Not ON CONFLICT, which uses up an id also for an account that is refused.
            let insert = "INSERT INTO accounts (name, plan, per_minute, per_day, created_at)
                          SELECT $1, $2, $3, $4, $5
                          WHERE NOT EXISTS (SELECT FROM accounts WHERE name = $1)";
            let created = transaction
                .execute(insert, &[&name, &plan.as_str(), &per_minute, &per_day, &utc_text(&at)])
                .await
                .map_err(written)?;
            if created == 0 { Err(account_exists(name)) } else { Ok(()) }
        })
    }

    /// Gives an account another name, which no other account may have.
    pub fn rename_account(&self, name: &str, new_name: &str) -> Result<(), StoreError> {
        let new_name = account_name(new_name)?;
        self.change(Half::Keys, async |transaction, _| {
            let account = account_row(transaction, name).await?.id;
            let update = "UPDATE accounts SET name = $2
                          WHERE id = $1 AND NOT EXISTS (
                              SELECT FROM accounts AS other WHERE name = $2 AND other.id <> $1)";
            let changed =
                transaction.execute(update, &[&account, &new_name]).await.map_err(written)?;
            if changed == 0 { Err(account_exists(new_name)) } else { Ok(()) }
        })
    }

    /// Closes an account for good, and revokes those of its keys that are not revoked.
    pub fn close_account(&self, name: &str, at: DateTime<Utc>) -> Result<u64, StoreError> {
        self.change(Half::Keys, async |transaction, version| {
            let account = account_row(transaction, name).await?.id;
            let close = "UPDATE accounts SET closed_at = coalesce(closed_at, $2) WHERE id = $1";
            transaction.execute(close, &[&account, &utc_text(&at)]).await.map_err(written)?;
            let revoke = "UPDATE keys SET revoked_at = $2, changed_in = $3
                          WHERE account = $1 AND revoked_at IS NULL";
            let at_ms = at.timestamp_millis();
            transaction.execute(revoke, &[&account, &at_ms, &version]).await.map_err(written)
        })
    }

    /// Moves an account to another plan: its limits hold from the next request.
    pub fn set_plan(
        &self,
        name: &str,
        plan: Plan,
        own: Option<PlanLimits>,
    ) -> Result<(), StoreError> {
        check_limits(plan, own)?;
        let (per_minute, per_day) = columns_of(own);
        self.change(Half::Keys, async |transaction, version| {
            let account = account_row(transaction, name).await?.id;
            let update = "UPDATE accounts SET plan = $2, per_minute = $3, per_day = $4
                          WHERE id = $1";
            transaction
                .execute(update, &[&account, &plan.as_str(), &per_minute, &per_day])
                .await
                .map_err(written)?;
            let update = "UPDATE keys SET changed_in = $2 WHERE account = $1";
            transaction.execute(update, &[&account, &version]).await.map_err(written)?;
            Ok(())
        })
    }

    /// Every account, by name.
    pub fn accounts(&self, now_ms: i64) -> Result<Vec<Account>, StoreError> {
        let query = format!("{SELECT_ACCOUNTS} ORDER BY name");
        let rows = self.ask(async |client| client.query(&query, &[&now_ms]).await.map_err(read))?;
        rows.iter().map(account).collect()
    }

    /// The account of this name.
    pub fn account(&self, name: &str, now_ms: i64) -> Result<Account, StoreError> {
        let query = format!("{SELECT_ACCOUNTS} WHERE name = $2");
        let row = self
            .ask(async |client| client.query_opt(&query, &[&now_ms, &name]).await.map_err(read))?;
        row.as_ref().map_or_else(|| Err(no_account(name)), account)
    }
}

/// Selects the columns of [`account`]; `$1` is the time in Unix milliseconds.
const SELECT_ACCOUNTS: &str = "
    SELECT name, plan, per_minute, per_day, created_at,
           (SELECT count(*) FROM keys
            WHERE account = accounts.id AND revoked_at IS NULL
              AND (expires_at IS NULL OR expires_at > $1)),
           id, closed_at
    FROM accounts";

fn account(row: &Row) -> Result<Account, StoreError> {
    let (plan, limits) = plan_and_limits(row, 1)?;
    Ok(Account {
        name: value(row, 0)?,
        plan,
        limits,
        created_at: value(row, 4)?,
        keys: value(row, 5)?,
        id: value(row, 6)?,
        closed_at: value(row, 7)?,
    })
}

fn columns_of(own: Option<PlanLimits>) -> (Option<i64>, Option<i64>) {
    own.map(|own| (i64::from(own.per_minute), i64::from(own.per_day))).unzip()
}

/// The row of an account.
struct AccountRow {
    id: i64,
    is_closed: bool,
}

async fn account_row(transaction: &Transaction<'_>, name: &str) -> Result<AccountRow, StoreError> {
    let query = "SELECT id, closed_at IS NOT NULL FROM accounts WHERE name = $1";
    let row = transaction.query_opt(query, &[&name]).await.map_err(read)?;
    let row = &row.ok_or_else(|| no_account(name))?;
    Ok(AccountRow { id: value(row, 0)?, is_closed: value(row, 1)? })
}

/// The row of the account of this name, which must not be closed.
pub async fn open_account(transaction: &Transaction<'_>, name: &str) -> Result<i64, StoreError> {
    let account = account_row(transaction, name).await?;
    if account.is_closed { Err(account_closed(name)) } else { Ok(account.id) }
}
