//! The keys and their accounts as of one change of the store, and why a key is refused. A change
//! of a key or of an account changes one entry.

use super::shards::{SHARD_COUNT, Shards};
use crate::clock::Now;
use crate::keys::{Digest, Environment};
use crate::store::{
    AccountRow, ChangeNumber, KeyChange, KeyRow, MIN_USE_INTERVAL_MS, Store, StoreError, is_expired,
};
use std::num::NonZeroI64;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

/// Why a key was refused: for the log, never for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRefusal {
    /// No `Authorization` header, or none of the scheme `Bearer`.
    NoKey,
    /// More than one `Authorization` header.
    SeveralHeaders,
    /// Not the form of a key.
    Malformed,
    /// The form of a key of this other environment.
    OtherEnvironment(Environment),
    /// Never issued here, or ended more than 30 days ago.
    Unknown,
    /// Revoked by the operator, or ended with its account.
    Revoked,
    /// Past its end.
    Expired,
}

impl KeyRefusal {
    /// The reason as the log writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            KeyRefusal::NoKey => "no_key",
            KeyRefusal::SeveralHeaders => "several_authorization_headers",
            KeyRefusal::Malformed => "malformed_key",
            KeyRefusal::OtherEnvironment(_) => "key_of_other_environment",
            KeyRefusal::Unknown => "unknown_key",
            KeyRefusal::Revoked => "revoked_key",
            KeyRefusal::Expired => "expired_key",
        }
    }
}

/// How long after its end a key is remembered, so that the log says why it is refused: 30 days.
/// Later it is unknown.
const REMEMBERED_MS: i64 = 30 * 86_400_000;

/// The keys by their digests and the accounts by their ids, as of one change of the store.
///
/// Changes are applied while requests look keys up: entries change one by one, and the change
/// number afterwards.
#[derive(Debug)]
pub struct KnownKeys {
    change_number: ChangeNumber,
    /// In boxes, so that the room that the maps keep free stays small.
    keys: Shards<Digest, Box<KnownKey>>,
    accounts: Shards<i64, AccountRow>,
    /// The latest wall time in milliseconds at which keys that ended long ago were forgotten.
    tidied_at_ms: AtomicI64,
    /// The shard to be tidied next.
    next_shard: AtomicUsize,
}

/// A key that was issued.
#[derive(Debug)]
pub(super) struct KnownKey {
    pub(super) row: KeyRow,
    /// Wall time in milliseconds of the last use that was recorded, or is about to be.
    used_at_ms: AtomicI64,
}

impl KnownKeys {
    /// These accounts and keys, as of this change.
    pub fn new(
        change_number: ChangeNumber,
        rows: impl IntoIterator<Item = KeyChange>,
    ) -> KnownKeys {
        let (keys, accounts) = (Shards::new(), Shards::new());
        let (tidied_at_ms, next_shard) = (i64::MIN.into(), AtomicUsize::new(0));
        let known = KnownKeys { change_number, keys, accounts, tidied_at_ms, next_shard };
        known.apply(rows);
        known
    }

    /// Reads all accounts, and all keys but those that ended long ago.
    pub(super) fn read(
        store: &dyn Store,
        generation: u64,
        now_ms: i64,
    ) -> Result<KnownKeys, StoreError> {
        let none = ChangeNumber::beginning(generation);
        let mut known = KnownKeys::new(none, []);
        known.change_number = store.for_each_key_since(none, &mut |change| {
            // Not read and then forgotten: most keys of a store may have ended.
            let is_forgotten = matches!(&change, KeyChange::Key(_, key)
                if ended_long_ago(key.ends_at_ms, now_ms));
            if !is_forgotten {
                known.insert(change);
            }
        })?;
        for _ in 0..SHARD_COUNT {
            known.tidy_next(now_ms);
        }
        Ok(known)
    }

    /// Takes these rows in place of what was known of the same accounts and keys.
    pub(super) fn apply(&self, rows: impl IntoIterator<Item = KeyChange>) {
        rows.into_iter().for_each(|row| self.insert(row));
    }

    /// All changes up to this change were applied.
    pub(super) fn set_change_number(&mut self, change_number: ChangeNumber) {
        self.change_number = change_number;
    }

    fn insert(&self, row: KeyChange) {
        match row {
            KeyChange::Account(id, account) => {
                self.accounts.shard(account_shard(id)).write().insert(id, account);
            }
            KeyChange::Key(digest, row) => {
                let used_at_ms = row.used_at_ms.into();
                let key = Box::new(KnownKey { row, used_at_ms });
                let mut shard = self.keys.shard(key_shard(&digest)).write();
                if let Some(known) = shard.get(&digest) {
                    // What this server knows of its uses may not be recorded yet.
                    let used_at_ms = known.used_at_ms.load(Ordering::Relaxed);
                    key.used_at_ms.store(used_at_ms, Ordering::Relaxed);
                }
                shard.insert(digest, key);
            }
        }
    }

    /// Forgets keys that ended long ago: those in the next shard.
    pub(super) fn tidy_next(&self, now_ms: i64) {
        self.tidied_at_ms.fetch_max(now_ms, Ordering::Relaxed);
        let next = self.next_shard.fetch_add(1, Ordering::Relaxed);
        let mut shard = self.keys.shard(next).write();
        shard.retain(|_, key| {
            let accounts = self.accounts.shard(account_shard(key.row.account)).read();
            let closed_at_ms = accounts.get(&key.row.account).and_then(|it| it.closed_at_ms);
            let closed_at_ms = closed_at_ms.map(NonZeroI64::get);
            ![key.row.ends_at_ms, closed_at_ms].iter().any(|end| ended_long_ago(*end, now_ms))
        });
        let most = 2 * shard.len();
        shard.shrink_to(most);
    }

    /// Whether some that were forgotten are valid again, because the wall clock was set back.
    pub(super) fn have_forgotten_too_much(&self, now_ms: i64) -> bool {
        let tidied_at_ms = self.tidied_at_ms.load(Ordering::Relaxed);
        now_ms.saturating_sub(tidied_at_ms) < -REMEMBERED_MS
    }

    /// The change that they are as of.
    pub(super) fn change_number(&self) -> ChangeNumber {
        self.change_number
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key of this digest and its account, as `map` returns them; none if they are not known.
    pub(super) fn find<T>(
        &self,
        digest: &Digest,
        now: Now,
        map: impl FnOnce(&KnownKey, &AccountRow) -> T,
    ) -> Option<Result<T, KeyRefusal>> {
        let shard = self.keys.shard(key_shard(digest)).read();
        let key = shard.get(digest)?;
        let accounts = self.accounts.shard(account_shard(key.row.account)).read();
        let account = accounts.get(&key.row.account)?;
        Some(if key.row.revoked || account.closed_at_ms.is_some() {
            Err(KeyRefusal::Revoked)
        } else if is_expired(key.row.ends_at_ms, now.wall_ms()) {
            Err(KeyRefusal::Expired)
        } else {
            Ok(map(key, account))
        })
    }
}

/// Digests are evenly distributed.
fn key_shard(digest: &Digest) -> usize {
    usize::from(u16::from_le_bytes([digest.0[0], digest.0[1]]))
}

/// Ids are consecutive.
fn account_shard(id: i64) -> usize {
    id.unsigned_abs() as usize
}

fn ended_long_ago(end_ms: Option<i64>, now_ms: i64) -> bool {
    is_expired(end_ms, now_ms.saturating_sub(REMEMBERED_MS))
}

impl KnownKey {
    /// Whether this use is to be recorded: true for one caller a minute.
    pub(super) fn takes_use(&self, now_ms: i64) -> bool {
        let last = self.used_at_ms.load(Ordering::Relaxed);
        // abs_diff: after a step back of the wall clock, uses must be recorded too.
        now_ms.abs_diff(last) >= MIN_USE_INTERVAL_MS.unsigned_abs()
            && self
                .used_at_ms
                .compare_exchange(last, now_ms, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_a_reason_of_its_own_in_the_log() {
        use KeyRefusal::{Expired, Malformed, NoKey, Revoked, SeveralHeaders, Unknown};
        let refusals = [NoKey, SeveralHeaders, Malformed, Unknown, Revoked, Expired];
        let reasons = [
            "no_key",
            "several_authorization_headers",
            "malformed_key",
            "unknown_key",
            "revoked_key",
            "expired_key",
        ];
        assert_eq!(refusals.map(KeyRefusal::as_str), reasons);
    }
}
