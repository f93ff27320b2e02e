//! The rules that changes must follow on every engine, and their error messages.

use super::account_rows::{Key, KeyRecord, Rotation};
use super::error::StoreError;
use super::order_rows::{CancelOutcome, ImportOutcome, NotExecuted, Records, Status};
use crate::api_key::{is_expired, without_keys};
use std::time::Duration;
use store_orders_api::plans::{Plan, PlanLimits};

/// The maximum time that a rotated key stays valid alongside its successor: 7 days.
pub const MAX_OVERLAP: Duration = Duration::from_secs(7 * 86_400);

/// The minimum time between two recorded uses of a key. So a busy key causes at most one write per
/// minute.
pub const MIN_USE_INTERVAL_MS: i64 = 60_000;

/// After a restore, the ids of new accounts and keys begin this far above the backup's highest id.
/// The old store may have issued the ids in between, so they must not be reused.
pub const ID_GAP: i64 = 1_000_000;

/// The tables whose ids the store assigns and never reuses, each with its column of ids.
pub const IDS: [(&str, &str); 2] = [("accounts", "id"), ("keys", "row")];

fn refused(why: impl Into<String>) -> StoreError {
    StoreError::Refused(why.into())
}

fn no_order(id: i64) -> StoreError {
    StoreError::NotFound(format!("there is no order {id}"))
}

/// Returns the outcome for an order that the batch did not cancel. `status` is `None` if the order
/// does not exist.
pub fn not_cancelled_outcome(status: Option<Status>) -> Result<CancelOutcome, NotExecuted> {
    match status {
        Some(Status::Shipped) => Ok(CancelOutcome::AlreadyShipped),
        Some(Status::Cancelled) | None => Ok(CancelOutcome::NotFound),
        Some(Status::Pending) => Err(NotExecuted::Changed),
    }
}

/// True if the order must be marked as shipped, and false if it has already shipped. Fails if the
/// order cannot ship.
pub fn can_ship(id: i64, status: Option<Status>) -> Result<bool, StoreError> {
    match status {
        Some(Status::Pending) => Ok(true),
        Some(Status::Shipped) => Ok(false),
        Some(Status::Cancelled) => {
            Err(refused(format!("order {id} is cancelled and cannot be shipped")))
        }
        None => Err(no_order(id)),
    }
}

pub fn can_cancel(id: i64, status: Option<Status>) -> Result<bool, StoreError> {
    match status {
        Some(Status::Pending) => Ok(true),
        Some(Status::Cancelled) => Ok(false),
        Some(Status::Shipped) => {
            Err(refused(format!("order {id} has shipped and cannot be cancelled")))
        }
        None => Err(no_order(id)),
    }
}

pub fn can_update(id: i64, status: Option<Status>) -> Result<(), StoreError> {
    match status {
        Some(Status::Pending | Status::Shipped) => Ok(()),
        Some(Status::Cancelled) => {
            Err(refused(format!("order {id} is cancelled and cannot be updated")))
        }
        None => Err(no_order(id)),
    }
}

/// Returns the outcome of an import that stored `stored` of the records. If some records were not
/// stored, fails unless `skip_existing` is true.
///
/// The error names `existing_id`, which the store had before the import. If `existing_id` is
/// `None`, the error says that two of the records have the same id.
pub fn import_outcome(
    records: Records<'_>,
    stored: usize,
    skip_existing: bool,
    existing_id: Option<i64>,
) -> Result<ImportOutcome, StoreError> {
    let skipped = records.count().saturating_sub(stored);
    if skipped == 0 || skip_existing {
        return Ok(ImportOutcome { imported: stored, skipped });
    }
    let noun = records.kind().noun();
    Err(refused(match existing_id {
        Some(id) => format!("{noun} {id} is already in the store"),
        None => format!("two {noun}s have the same id"),
    }))
}

/// The maximum length of an account's name or a key's label, in characters.
const MAX_NAME_CHARS: usize = 64;

pub fn account_name(name: &str) -> Result<&str, StoreError> {
    printable("the name of an account", name)
}

pub fn key_label(label: &str) -> Result<&str, StoreError> {
    printable("the label of a key", label)
}

/// Trims and validates a name or label. Fails if the text contains an API key, even a truncated
/// one, because lists, errors and backups show the text.
fn printable<'a>(what: &str, text: &'a str) -> Result<&'a str, StoreError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(refused(format!("{what} is empty")));
    }
    if without_keys(text) != text {
        return Err(refused(format!("{what} must not hold an API key")));
    }
    let length = text.chars().count();
    if length > MAX_NAME_CHARS {
        return Err(refused(format!(
            "{what} has at most {MAX_NAME_CHARS} characters; this one has {length}"
        )));
    }
    // `escape_debug` escapes unprintable characters. It also escapes quotes and backslashes, which
    // are allowed, so remove these first.
    let plain = text.replace(['\'', '"', '\\'], "");
    if plain.escape_debug().to_string() != plain {
        return Err(refused(format!(
            "{what} has printable characters only, and no space but the plain one; this one is {}",
            text.escape_debug()
        )));
    }
    Ok(text)
}

pub fn account_closed(name: &str) -> StoreError {
    refused(format!("the account {name:?} is closed, and gets no keys; create another account"))
}

/// Returns the limits of an account. `own` is required for Enterprise, which has no fixed limits.
/// For all other plans, `own` is refused.
pub fn limits_in_force(plan: Plan, own: Option<PlanLimits>) -> Result<PlanLimits, StoreError> {
    match (plan.limits(), own) {
        (Some(limits), None) | (None, Some(limits)) => Ok(limits),
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

pub fn account_exists(name: &str) -> StoreError {
    refused(format!("there is an account {name:?} already"))
}

pub fn no_account(name: &str) -> StoreError {
    StoreError::NotFound(format!(
        "there is no account {:?}; `store-orders accounts list` shows those there are",
        without_keys(name)
    ))
}

pub fn no_key(key_id: &str) -> StoreError {
    StoreError::NotFound(format!(
        "there is no key {}; `store-orders keys list` shows those there are",
        without_keys(key_id)
    ))
}

pub fn add_ms(now_ms: i64, by: Duration) -> i64 {
    now_ms.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX))
}

/// Returns the times at which the old key and its successor expire. The old key stays valid for the
/// overlap, but not beyond its own expiry. The successor's lifetime is as long as the old key's
/// whole lifetime. Fails if the overlap is too long, or if the old key is revoked, expired or
/// already rotated.
pub fn rotation_expiries(
    rotation: Rotation<'_>,
    old: &KeyRecord,
    now_ms: i64,
) -> Result<(i64, Option<i64>), StoreError> {
    let because = |why: String| Err(refused(format!("{} {why}", rotation.key_id)));
    if rotation.overlap > MAX_OVERLAP {
        return Err(refused("a rotated key can stay valid for at most 7 days"));
    }
    if let Some(successor) = &old.key.successor {
        return because(format!("was rotated already: its successor is {successor}"));
    }
    if old.revoked_at().is_some() {
        return because("is revoked; issue a new key instead".to_string());
    }
    let Key { issued_at, expires_at, .. } = old.key;
    if is_expired(expires_at, now_ms) {
        return because("has expired; issue a new key instead".to_string());
    }
    let end = add_ms(now_ms, rotation.overlap);
    let lifetime = expires_at.map(|end| end.saturating_sub(issued_at));
    Ok((
        expires_at.map_or(end, |own| own.min(end)),
        lifetime.map(|lifetime| now_ms.saturating_add(lifetime)),
    ))
}
