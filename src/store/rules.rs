//! The rules that hold on every engine: what a change may do, and what it answers.
//! An engine adds the SQL.

use super::account_rows::{KeyRecord, Rotation};
use super::error::StoreError;
use super::order_rows::{CancelOutcome, ImportOutcome, Records, Status};
use crate::keys::without_keys;
use std::time::Duration;
use store_orders_api::plans::{Plan, PlanLimits};

/// How long a rotated key may stay valid alongside its successor: 7 days.
pub const MAX_OVERLAP: Duration = Duration::from_secs(7 * 86_400);

/// The shortest time between two recorded uses of a key, so that a busy key costs one
/// write a minute.
pub const MIN_USE_INTERVAL_MS: i64 = 60_000;

/// How far ids of accounts and keys jump over a restore. Those that the old store issued
/// after the backup may stand in logs and counts, and are not used again.
pub const ID_GAP: i64 = 1_000_000;

/// Tables and their columns that hold ids which are never used again.
pub const IDS: [(&str, &str); 2] = [("accounts", "id"), ("keys", "row")];

fn refused(why: impl Into<String>) -> StoreError {
    StoreError::Refused(why.into())
}

/// No order has this id.
fn not_there(id: i64) -> StoreError {
    StoreError::NotFound(format!("there is no order {id}"))
}

/// The outcome for an order that the transaction did not cancel, by its status.
pub fn not_cancelled(status: Option<Status>) -> CancelOutcome {
    match status {
        Some(Status::Shipped) => CancelOutcome::AlreadyShipped,
        Some(Status::Pending | Status::Cancelled) | None => CancelOutcome::NotFound,
    }
}

/// Whether an order of this status is still to be marked as shipped.
pub fn can_ship(id: i64, status: Option<Status>) -> Result<bool, StoreError> {
    match status {
        Some(Status::Pending) => Ok(true),
        Some(Status::Shipped) => Ok(false),
        Some(Status::Cancelled) => {
            Err(refused(format!("order {id} is cancelled and cannot be shipped")))
        }
        None => Err(not_there(id)),
    }
}

/// Whether an order of this status can be updated.
pub fn can_update(id: i64, status: Option<Status>) -> Result<(), StoreError> {
    match status {
        Some(Status::Pending | Status::Shipped) => Ok(()),
        Some(Status::Cancelled) => {
            Err(refused(format!("order {id} is cancelled and cannot be updated")))
        }
        None => Err(not_there(id)),
    }
}

/// The outcome of an import of these records, of which the engine stored `stored`. `taken` is the
/// first id that was in the store already; none if two of the records have one id.
pub fn imported(
    records: Records<'_>,
    stored: usize,
    skip_existing: bool,
    taken: Option<i64>,
) -> Result<ImportOutcome, StoreError> {
    let skipped = records.count().saturating_sub(stored);
    if skipped == 0 || skip_existing {
        return Ok(ImportOutcome { imported: stored, skipped });
    }
    let noun = records.kind().noun();
    Err(refused(match taken {
        Some(id) => format!("{noun} {id} is already in the store"),
        None => format!("two {noun}s have the same id"),
    }))
}

/// The longest name of an account and the longest label of a key, in characters.
const LONGEST_NAME: usize = 64;

/// The name of an account as it is stored.
pub fn account_name(name: &str) -> Result<&str, StoreError> {
    printable("the name of an account", name)
}

/// The label of a key as it is stored.
pub fn key_label(label: &str) -> Result<&str, StoreError> {
    printable("the label of a key", label)
}

/// The text, trimmed. Lists, errors and backups show it: no key, and no part of one.
fn printable<'a>(what: &str, text: &'a str) -> Result<&'a str, StoreError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(refused(format!("{what} is empty")));
    }
    if without_keys(text) != text {
        return Err(refused(format!("{what} must not hold an API key")));
    }
    let length = text.chars().count();
    if length > LONGEST_NAME {
        return Err(refused(format!(
            "{what} has at most {LONGEST_NAME} characters; this one has {length}"
        )));
    }
    // `escape_debug` marks exactly the characters that terminals cannot display, and quotes.
    let plain = text.replace(['\'', '"', '\\'], "");
    if plain.escape_debug().to_string() != plain {
        return Err(refused(format!(
            "{what} has printable characters only, and no space but the plain one; this one is {}",
            text.escape_debug()
        )));
    }
    Ok(text)
}

/// No key is issued for a closed account.
pub fn account_closed(name: &str) -> StoreError {
    refused(format!("the account {name:?} is closed, and gets no keys; create another account"))
}

/// Enterprise's limits are agreed for each account; every other plan has its own.
pub fn require_limits(plan: Plan, own: Option<PlanLimits>) -> Result<(), StoreError> {
    match (plan.limits(), own) {
        (Some(_), None) | (None, Some(_)) => Ok(()),
        (None, None) => Err(refused(
            "an enterprise account needs limits of its own: --per-minute N --per-day N",
        )),
        (Some(limits), Some(_)) => Err(refused(format!(
            "the plan {} has fixed limits ({} a minute, {} a day); only enterprise takes \
             --per-minute and --per-day",
            plan.as_str(),
            limits.per_minute,
            limits.per_day
        ))),
    }
}

/// The name is taken.
pub fn account_exists(name: &str) -> StoreError {
    refused(format!("there is an account {name:?} already"))
}

/// No account has this name.
pub fn no_account(name: &str) -> StoreError {
    StoreError::NotFound(format!(
        "there is no account {:?}; `store-orders accounts list` shows those there are",
        without_keys(name)
    ))
}

/// No key has this id.
pub fn no_key(key_id: &str) -> StoreError {
    StoreError::NotFound(format!(
        "there is no key {}; `store-orders keys list` shows those there are",
        without_keys(key_id)
    ))
}

/// Whether a key that expires then has expired. Unix milliseconds.
pub fn is_expired(expires_at_ms: Option<i64>, now_ms: i64) -> bool {
    expires_at_ms.is_some_and(|end| end <= now_ms)
}

/// This much later, in Unix milliseconds.
pub fn later(now_ms: i64, by: Duration) -> i64 {
    now_ms.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX))
}

/// The old key, which must be valid and have no successor, stays valid for the overlap,
/// or until its own end if that comes first. The successor lives as long as the old key
/// was meant to. Returns the end of both.
pub fn rotated(
    rotation: Rotation<'_>,
    old: &KeyRecord,
    now_ms: i64,
) -> Result<(i64, Option<i64>), StoreError> {
    let because = |why: String| Err(refused(format!("{} {why}", rotation.key_id)));
    if rotation.overlap > MAX_OVERLAP {
        return Err(refused("a rotated key can stay valid for at most 7 days"));
    }
    if let Some(successor) = &old.successor {
        return because(format!("was rotated already: its successor is {successor}"));
    }
    if old.revoked_at.is_some() {
        return because("is revoked; issue a new key instead".to_string());
    }
    if is_expired(old.expires_at, now_ms) {
        return because("has expired; issue a new key instead".to_string());
    }
    let end = later(now_ms, rotation.overlap);
    let lifetime = old.expires_at.map(|end| end.saturating_sub(old.issued_at));
    Ok((
        old.expires_at.map_or(end, |own| own.min(end)),
        lifetime.map(|lifetime| now_ms.saturating_add(lifetime)),
    ))
}
