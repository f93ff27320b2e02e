//! Defines accounts and keys as plain values. [`Store`](super::Store) and the operator's commands
//! take and return these values on every engine.

use super::error::StoreError;
use super::row::{Cells, Cursor, Field, StoredRow, join, row};
use super::statements::Row;
use super::value::{Parameter, Value};
use crate::api_key::{ApiKey, Digest, Environment};
use crate::rate_limiter::KeyBan;
use chrono::{DateTime, Utc};
use std::fmt::Display;
use std::time::Duration;
use store_orders_api::plans::{Plan, PlanLimits};

/// The maximum number of changed accounts and keys that one poll returns. If more have changed, a
/// poll returns none, and the server empties its key cache.
pub const MAX_CHANGED_KEYS: usize = 1_024;

row! {
    /// A customer's account, as both engines store it. Its row also has a change number.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Account {
        /// The account's id, which the store assigns and which also appears in logs.
        pub id: i64 = [id bigint],
        /// Unique, even among closed accounts.
        pub name: Box<str> = [name text],
        pub plan: AccountPlan = [plan text, per_minute bigint, per_day bigint],
        pub created_at: DateTime<Utc> = [created_at text],
        /// The time at which the account was closed. Servers refuse all keys of a closed account
        /// within a second.
        pub closed_at: Option<DateTime<Utc>> = [closed_at text],
    }
}

row! {
    /// A key, as both engines store it. Its row also has a change number. Times are Unix
    /// milliseconds.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Key {
        /// The id of the key's row, which the store assigns.
        pub row: i64 = [row bigint],
        /// The key's public name, `key_…`, which appears in lists and logs.
        pub id: Box<str> = [id text],
        pub account: i64 = [account bigint],
        pub environment: Environment = [environment text],
        pub digest: Digest = [digest bytea],
        /// The operator's name for the key.
        pub label: Option<Box<str>> = [label text],
        pub issued_at: i64 = [issued_at bigint],
        /// The time from which the key is refused.
        pub expires_at: Option<i64> = [expires_at bigint],
        /// The time at which the operator revoked this key. Closing its account does not set this
        /// field.
        pub revoked_at: Option<i64> = [revoked_at bigint],
        pub used_at: Option<i64> = [used_at bigint],
        /// The public name, `key_…`, of the key that replaces this one.
        pub successor: Option<Box<str>> = [successor text],
        /// The key's latest ban. The ban's length is 0 if the key was never banned or the operator
        /// lifted the ban.
        pub ban: KeyBan = [banned_until bigint, ban_seconds integer, ban_number integer],
    }
}

/// The plan of an account, with the limits in force. Only Enterprise accounts have limits of their
/// own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountPlan {
    pub name: Plan,
    pub limits: PlanLimits,
}

impl Field for AccountPlan {
    const COLUMNS: usize = 3;

    fn read<R: Cells>(cells: &mut Cursor<'_, R>) -> Result<AccountPlan, StoreError> {
        let name: Plan = cells.parse()?;
        let limits = match name.limits() {
            Some(limits) => {
                cells.skip(2);
                limits
            }
            None => PlanLimits {
                per_minute: unsigned(cells.cell::<i64>()?)?,
                per_day: unsigned(cells.cell::<i64>()?)?,
            },
        };
        Ok(AccountPlan { name, limits })
    }

    fn write(&self, values: &mut Vec<Value>) {
        let AccountPlan { name, limits: PlanLimits { per_minute, per_day } } = self;
        let own_limit = |limit| name.limits().is_none().then_some(limit).value();
        values.extend([name.as_str().value(), own_limit(*per_minute), own_limit(*per_day)]);
    }
}

impl Field for Environment {
    const COLUMNS: usize = 1;

    fn read<R: Cells>(cells: &mut Cursor<'_, R>) -> Result<Environment, StoreError> {
        cells.parse()
    }

    fn write(&self, values: &mut Vec<Value>) {
        values.push(self.as_str().value());
    }
}

impl Field for Digest {
    const COLUMNS: usize = 1;

    fn read<R: Cells>(cells: &mut Cursor<'_, R>) -> Result<Digest, StoreError> {
        let bytes: Vec<u8> = cells.cell()?;
        bytes.try_into().map(Digest).map_err(|_| damaged("the digest of a key has another length"))
    }

    fn write(&self, values: &mut Vec<Value>) {
        values.push(self.0.value());
    }
}

/// The columns of `ends_at_ms` and `seconds` are NULL if the key was never banned or the ban was
/// lifted.
impl Field for KeyBan {
    const COLUMNS: usize = 3;

    fn read<R: Cells>(cells: &mut Cursor<'_, R>) -> Result<KeyBan, StoreError> {
        let (ends_at_ms, seconds) = (cells.cell::<Option<_>>()?, cells.cell::<Option<i32>>()?);
        Ok(KeyBan {
            ends_at_ms: ends_at_ms.unwrap_or(0),
            seconds: unsigned(seconds.unwrap_or(0))?,
            number: unsigned(cells.cell::<i32>()?)?,
        })
    }

    fn write(&self, values: &mut Vec<Value>) {
        let KeyBan { ends_at_ms, seconds, number } = self;
        let unless_lifted = |value| if *seconds == 0 { Value::Null } else { value };
        values.extend([ends_at_ms.value(), seconds.value()].map(unless_lifted));
        values.push(number.value());
    }
}

/// Converts a stored number to `u32`. The stored number is signed, because PostgreSQL has no
/// unsigned types. Fails if the number is out of range.
fn unsigned(number: impl Into<i64>) -> Result<u32, StoreError> {
    let number = number.into();
    number.try_into().map_err(|_| damaged(format!("{number} is out of range")))
}

fn damaged(why: impl Display) -> StoreError {
    let source = format!("an account or key is damaged: {why}");
    StoreError::Engine { doing: "read", source: source.into() }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    pub key: Key,
    pub account: Account,
}

impl KeyRecord {
    /// Reads a row of [`select_keys`], whose columns begin at the index `first`.
    pub fn read(row: &impl Cells, first: usize) -> Result<KeyRecord, StoreError> {
        let account = Account::read(row, first)?;
        Ok(KeyRecord { key: Key::read(row, first + Account::COLUMNS.len())?, account })
    }

    pub fn revoked_at(&self) -> Option<i64> {
        let closed_at = self.account.closed_at.map(|at| at.timestamp_millis());
        self.key.revoked_at.into_iter().chain(closed_at).min()
    }
}

/// Returns a query for accounts, with the columns that [`read_counted_account`] reads. The query
/// counts the keys that are valid at the time `$1`, in Unix milliseconds.
pub fn select_accounts() -> String {
    format!(
        "SELECT {}, (SELECT count(*) FROM keys
                     WHERE account = accounts.id AND accounts.closed_at IS NULL
                       AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)) AS keys
         FROM accounts",
        Account::names()
    )
}

/// Reads an account and the number of its valid keys from a row of [`select_accounts`].
pub fn read_counted_account(row: &Row<'_>) -> Result<(Account, i64), StoreError> {
    Ok((Account::read(row, 0)?, row.get("keys")?))
}

/// Returns a query for the keys in `keys`, a table or subquery, with the columns of
/// [`KeyRecord::read`].
pub fn select_keys(keys: &str) -> String {
    format!(
        "SELECT {}, {} FROM {keys} AS keys JOIN accounts ON accounts.id = keys.account",
        Account::names_in("accounts"),
        Key::names_in("keys")
    )
}

/// Returns a query for the accounts and keys whose change number is above `after`, with the columns
/// of [`KeyChange::read`]. The query returns at most [`MAX_CHANGED_KEYS`] + 1 rows. The extra row
/// shows that too many have changed.
///
/// Sorting makes engines use the index on the change number, even if they misjudge the number of
/// rows.
pub fn select_changed_keys(after: &str) -> String {
    let most = MAX_CHANGED_KEYS + 1;
    let changed = |table: &str| {
        format!(
            "(SELECT * FROM {table} WHERE change_number > {after}
              ORDER BY change_number LIMIT {most})"
        )
    };
    let (accounts, keys) = (changed("accounts"), select_keys(&changed("keys")));
    let (account, no_key) =
        (Account::names(), join(Key::COLUMNS, |key| format!("CAST(NULL AS {})", key.sql_type)));
    format!("SELECT {account}, {no_key} FROM {accounts} AS accounts UNION ALL {keys} LIMIT {most}")
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyChange {
    /// An account that has changed. Its keys are not included.
    Account(Account),
    /// A key that has changed. Its account is included.
    Key(KeyRecord),
}

impl KeyChange {
    /// Reads a changed account or key from a row of [`select_changed_keys`]. The query's columns
    /// begin at the index `first`.
    pub fn read(row: &impl Cells, first: usize) -> Result<KeyChange, StoreError> {
        // The columns of the key are NULL in the row of an account.
        match row.cell::<Option<i64>>(first + Account::COLUMNS.len())? {
            None => Account::read(row, first).map(KeyChange::Account),
            Some(_) => KeyRecord::read(row, first).map(KeyChange::Key),
        }
    }
}

#[derive(Clone, Debug)]
pub struct NewKey<'a> {
    pub account: &'a str,
    pub environment: Environment,
    /// `None` if the key never expires.
    pub expires_after: Option<Duration>,
    /// The operator's name for the key. Logs show only the key's id.
    pub label: Option<&'a str>,
}

/// A key that was just issued. The key's text can be shown only now, because the store keeps only
/// the digest.
#[derive(Debug)]
pub struct IssuedKey {
    /// The key's public name, `key_…`, which appears in lists and logs.
    pub id: String,
    pub key: ApiKey,
}

#[derive(Clone, Copy, Debug)]
pub struct Rotation<'a> {
    /// The id, `key_…`, of the key to replace.
    pub key_id: &'a str,
    /// The time for which the old key stays valid, at most 7 days. An earlier expiry of the old key
    /// still applies.
    pub overlap: Duration,
    /// The label of the new key. `None` copies the old key's label.
    pub label: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_reads_what_it_wrote<T: StoredRow + PartialEq + std::fmt::Debug>(stored: T) {
        let row = Row { name: &|_| None, values: stored.values() };
        assert_eq!(row.values.len(), T::COLUMNS.len());
        assert_eq!(T::read(&row, 0).unwrap(), stored);
    }

    #[test]
    fn accounts_and_keys_are_read_as_they_were_written() {
        let fixed = Plan::Pro.limits().unwrap();
        for (name, limits, closed_at) in [
            (Plan::Pro, fixed, None),
            (
                Plan::Enterprise,
                PlanLimits { per_minute: u32::MAX, per_day: 0 },
                Some(DateTime::UNIX_EPOCH),
            ),
        ] {
            let (plan, created_at) = (AccountPlan { name, limits }, DateTime::UNIX_EPOCH);
            let name = "acme".into();
            assert_reads_what_it_wrote(Account { id: 1, name, plan, created_at, closed_at });
        }
        let banned = KeyBan { ends_at_ms: 10, seconds: 300, number: 11 };
        let lifted = KeyBan { number: 12, ..KeyBan::default() };
        for (ban, text, time) in
            [(banned, Some("text"), Some(3)), (lifted, None, None), (KeyBan::default(), None, None)]
        {
            assert_reads_what_it_wrote(Key {
                row: 1,
                id: "key_1".into(),
                account: 2,
                environment: Environment::Staging,
                digest: Digest([7; 32]),
                label: text.map(Box::from),
                issued_at: 4,
                expires_at: time,
                revoked_at: time.map(|time| time + 1),
                used_at: time.map(|time| time + 2),
                successor: text.map(Box::from),
                ban,
            });
        }
    }
}
