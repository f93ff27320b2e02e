//! Caches the API keys in use. The cache reads a key from the store at the key's first request, and
//! follows later changes. It accepts no key that was revoked more than a second ago. The last of
//! the failures below is the exception.
//!
//! The operator revokes a key with a command in another process. Asking the store for each request
//! would cost a round trip before the one that counts the request. So a revoked key may still work
//! for a moment. That moment must end within a second, even if the store is slow or cannot be
//! reached. Otherwise a stolen key would work for as long as the outage lasts.
//!
//! The obvious cache polls the store and replaces the rows that have changed. It breaks in two
//! ways:
//!
//! - The server polls a replaced primary, which still answers. No poll reports the revocation on
//!   the new primary, so the cached row stays valid.
//! - A lookup reads a key at change 5, and change 6 revokes the key. A poll reports change 6 before
//!   the cache contains the lookup's row, so the poll replaces nothing. Then the cache adds the
//!   row. Later polls ask only for changes after 6, so the key works forever.
//!
//! So each answer of the store comes with two facts. Its position says which changes the answer
//! includes. With the position, the cache can tell whether a row is newer than the cached row. The
//! answer's `as_of` is a time: the answer includes every change that was acknowledged before. The
//! cached keys are valid until a second after the `as_of` of the last poll. The server polls again
//! 200 ms after each answer (`REFRESH_INTERVAL`). On SQLite, for example:
//!
//! ```mermaid
//! sequenceDiagram
//!     participant C as Key cache
//!     participant S as Store
//!     participant O as Operator
//!     C->>S: poll, sent at 0 ms
//!     S-->>C: no change, as of 0 ms, so keys are valid until 1000 ms
//!     O->>S: revoke the key, acknowledged at 100 ms
//!     C->>S: poll, sent at 200 ms
//!     S-->>C: the key's new row, as of 200 ms, so the key is refused
//!     Note over C: without this answer, every key is refused after 1000 ms
//! ```
//!
//! What is always true:
//!
//! - If `keys revoke` succeeds at the time R, every server refuses the key from R + 1 s on. If the
//!   `as_of` of a server's last poll is later than R, the poll's answer includes the revocation.
//!   Otherwise the cached keys expire by R + 1 s, which [`KeyCache::is_current`] checks for each
//!   request. For a key that was just looked up, `look_up` refuses an `as_of` that is more than a
//!   second old.
//! - `as_of` is never too late. On SQLite, it is the time at which the query started. On
//!   PostgreSQL, it is the earlier of this time and the time at which the last confirmed heartbeat
//!   was sent (`Lease::as_of`). A heartbeat is a commit, which a replaced primary cannot confirm.
//!   So when the heartbeat was sent, the primary had not been replaced, and had every change
//!   acknowledged until then.
//! - A poll replaces rows before it extends their validity (`refresh`).
//! - A row that was looked up enters the cache only if its position is not before the cache's
//!   ([`CachedKeys`]). Otherwise, only the requests that waited for the lookup use it.
//! - A new key works as soon as `keys issue` has returned, because a request never shares a lookup
//!   that was sent before the request arrived (`Lookups::join`). On PostgreSQL the command also
//!   waits until no server can read from a replaced primary (`await_servers`).
//!
//! What happens when something fails:
//!
//! - The store does not answer for a second, or the machine was suspended for as long
//!   ([`BootInstant`] continues): requests with a key get 503 until a poll is answered. A 401 would
//!   tell the client that its key is invalid.
//! - No standby confirms the commit of `keys revoke`: the command fails, and a failover may undo
//!   the revocation. The operator must then run the command again.
//! - A failover lost changes: the server begins a new history, and the cache is emptied.
//! - A virtual machine is paused together with its clock, a replaced primary can still confirm
//!   commits, or a backup from before the revocation is restored: a revoked key can work for longer
//!   (see `store/agreement/lease.rs`).
//!
//! A request whose key was accepted runs to its end, even if the key is revoked before that.
//!
//! An earlier version kept all keys in memory. With a million keys it took 27 s to start and 415 MB
//! of memory, so this cache holds at most [`MAX_CACHED_KEYS`].

mod cached_keys;
mod lookups;
mod repeating;

pub use cached_keys::{CachedKeys, KeyRefusal, KnownKey, MAX_CACHED_KEYS};

use crate::api_key::{Digest, Environment, digest_of, environment_of};
use crate::clock::{BootInstant, Now};
use crate::store::agreement::key_cache::keys_valid_until;
use crate::store::{LookedUpKeys, PolledChanges, PolledKeys, Store, StoreError, UNREAD};
use futures::FutureExt;
use lookups::{LookedUp, Lookups, Waiter};
use parking_lot::Mutex;
use repeating::repeat;
use slog::Logger;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::timeout_at;

/// The pause between two polls for changed keys and accounts.
///
/// A poll returns a time, `as_of`. Cached keys are valid until a second after this time. On
/// PostgreSQL, `as_of` can be 250 ms before the poll. With this pause, about half a second remains
/// for the next poll.
const REFRESH_INTERVAL: Duration = Duration::from_millis(200);

/// The maximum number of uses of keys that one transaction records. On SQLite, cancellations wait
/// for this transaction, so the number is small.
const USES_PER_TRANSACTION: usize = 1_000;

pub struct KeyCache {
    store: Arc<dyn Store>,
    cached: CachedKeys,
    lookups: Lookups,
    opened: BootInstant,
    /// The end of the cached keys' validity, in milliseconds after `opened`. Time during which the
    /// machine is suspended counts too.
    valid_until_ms: AtomicU64,
    /// The uses of keys that the store has not recorded yet. Maps a key's row number to the time of
    /// its last use, in Unix milliseconds. Sorting by row number lets each transaction change few
    /// pages of the database.
    uses: Mutex<BTreeMap<i64, i64>>,
}

pub struct ValidKey {
    pub key: Arc<KnownKey>,
    /// True if the key was not cached, so the request waited for the store.
    pub was_looked_up: bool,
}

impl KeyCache {
    /// Opens an empty cache. If the store fails but may recover, the cache is out of date until a
    /// refresh succeeds.
    pub async fn open(store: Arc<dyn Store>) -> Result<KeyCache, StoreError> {
        let opened = BootInstant::now();
        let polled = match store.poll_changes().await {
            Err(StoreError::Engine { .. }) if store.can_return() => None,
            polled => Some(polled?),
        };
        let reflected = polled.map_or(UNREAD, |polled| polled.last_changes.keys);
        let cache = KeyCache {
            store,
            cached: CachedKeys::new(reflected),
            lookups: Lookups::default(),
            opened,
            valid_until_ms: AtomicU64::default(),
            uses: Mutex::default(),
        };
        if let Some(polled) = polled {
            cache.record_refresh(polled);
        }
        Ok(cache)
    }

    /// Returns the presented key, or why it is refused. Records the use of a valid key. Returns
    /// `None` if the store does not answer by the deadline or the cache is out of date.
    ///
    /// A key works as soon as any process has issued it.
    pub async fn authenticate(
        &self,
        presented: &[u8],
        environment: Environment,
        address: IpAddr,
        now: Now,
        deadline: Instant,
    ) -> Option<Result<ValidKey, KeyRefusal>> {
        if !self.is_current() {
            return None;
        }
        let Some(digest) = digest_of(presented, environment) else {
            let other = environment_of(presented).map(KeyRefusal::OtherEnvironment);
            return Some(Err(other.unwrap_or(KeyRefusal::Malformed)));
        };
        let cached = self.cached.get(&digest);
        let was_looked_up = cached.is_none();
        let key = match cached {
            Some(key) => key,
            None if self.is_still_absent(&digest) => return Some(Err(KeyRefusal::Unknown)),
            // Box this future, so that the futures of requests with a cached key stay small.
            None => match Box::pin(self.look_up(digest, address, deadline)).await? {
                Some(key) => key,
                None => return Some(Err(KeyRefusal::Unknown)),
            },
        };
        if let Some(refusal) = key.refusal(now) {
            return Some(Err(refusal));
        }
        if key.claim_use(now.wall_ms()) {
            self.uses.lock().insert(key.row, now.wall_ms());
        }
        Some(Ok(ValidKey { key, was_looked_up }))
    }

    /// True if an earlier lookup found no key with this digest, and no key or account has changed
    /// since. Another lookup is then unnecessary, so a client that repeats an unknown key causes
    /// little work. Always false with PostgreSQL.
    fn is_still_absent(&self, digest: &Digest) -> bool {
        self.cached.absent_at(digest).is_some_and(|absent_at| {
            let last_changes = self.store.last_changes_at_once();
            last_changes.is_some_and(|last| last.keys == absent_at)
        })
    }

    /// Looks up the key with this digest in the store. The outer `None` means that the lookup
    /// failed or took too long, or that the cache is out of date. The inner `None` means that no
    /// key with this digest was issued.
    async fn look_up(
        &self,
        digest: Digest,
        address: IpAddr,
        deadline: Instant,
    ) -> Option<Option<Arc<KnownKey>>> {
        let answer = timeout_at(deadline.into(), self.lookups.join(digest, address));
        let LookedUp { key, as_of } = answer.await.ok()??;
        // The answer may have taken so long that it is out of date.
        (self.is_current() && BootInstant::now() <= keys_valid_until(as_of)).then_some(key)
    }

    /// Lowers the priority of this address's lookups for the time `lasts`. Call this for an address
    /// that has sent too many requests without a valid key.
    pub fn shed(&self, address: IpAddr, lasts: Duration) {
        self.lookups.shed(address, lasts);
    }

    /// Until the future is dropped, looks up the keys that requests wait for.
    pub async fn keep_looking_up(self: Arc<Self>) {
        loop {
            let waiting = self.lookups.take_batch().await;
            // Ignore the result. If `answer` fails or panics, it drops `waiting`, so the requests
            // of the batch stop waiting.
            let _ = AssertUnwindSafe(self.answer(waiting)).catch_unwind().await;
        }
    }

    async fn answer(&self, waiting: Vec<Waiter>) -> Result<(), StoreError> {
        let mut digests: Vec<Digest> = waiting.iter().map(|waiter| waiter.digest).collect();
        digests.sort_unstable_by_key(|digest| digest.0);
        digests.dedup();
        let LookedUpKeys { polled, keys } = self.store.look_up_keys(digests).await?;
        let read = polled.last_changes.keys;
        let digests = waiting.iter().map(|waiter| waiter.digest);
        let keys = self.cached.insert_looked_up(digests, keys, read);
        for Waiter { digest, answer, .. } in waiting {
            let looked_up = LookedUp { key: keys.get(&digest).cloned(), as_of: polled.as_of };
            // Ignore the error, which means that the request no longer waits.
            let _ = answer.send(looked_up);
        }
        Ok(())
    }

    /// True if the last successful refresh is recent enough to accept keys.
    pub fn is_current(&self) -> bool {
        // Both times are rounded down to whole milliseconds, so `<=` would accept keys for up to a
        // millisecond too long.
        self.elapsed_ms() < self.valid_until_ms.load(Ordering::Relaxed)
    }

    /// Refreshes the keys until the returned [`KeyRefresh`] is dropped. The refreshes have their
    /// own thread, because lists may keep the other threads busy. After a second without a refresh,
    /// the cache refuses all keys.
    pub fn keep_current(self: Arc<Self>, log: Logger) -> io::Result<KeyRefresh> {
        let (stop, stopped) = oneshot::channel();
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let run = move || {
            let doing = "checking keys against the store";
            let refreshing = repeat(REFRESH_INTERVAL, || self.refresh(), doing, &log);
            runtime.block_on(async {
                tokio::select! {
                    () = refreshing => {}
                    _ = stopped => {}
                }
            });
        };
        std::thread::Builder::new().name("keys".to_string()).spawn(run)?;
        Ok(KeyRefresh { _stop: stop })
    }

    /// Records uses of keys in the store until the future is dropped. `refresh` does not record
    /// uses, because a slow write would delay the next check for revoked keys.
    pub async fn keep_recording_uses(self: Arc<Self>, log: Logger) {
        let doing = "recording uses of keys in the store";
        repeat(REFRESH_INTERVAL, || self.record_uses(), doing, &log).await;
    }

    async fn refresh(&self) -> Result<(), StoreError> {
        let after = self.cached.reflected();
        let PolledKeys { polled, changes } = self.store.poll_keys(Some(after)).await?;
        self.cached.catch_up(polled.last_changes.keys, after, changes);
        self.record_refresh(polled);
        Ok(())
    }

    fn record_refresh(&self, polled: PolledChanges) {
        let as_of = Duration::from_millis(milliseconds(polled.as_of.since(self.opened)));
        self.valid_until_ms.store(milliseconds(keys_valid_until(as_of)), Ordering::Relaxed);
    }

    /// Writes the uses of keys to the store. After an error, keeps all uses for the next call, even
    /// those already written. The store skips uses that it already has.
    async fn record_uses(&self) -> Result<(), StoreError> {
        let uses: Vec<_> = std::mem::take(&mut *self.uses.lock()).into_iter().collect();
        for chunk in uses.chunks(USES_PER_TRANSACTION) {
            if let Err(error) = self.store.record_last_used(chunk.to_vec()).await {
                let mut pending = self.uses.lock();
                let newer = std::mem::take(&mut *pending);
                *pending = uses.into_iter().chain(newer).collect();
                return Err(error);
            }
        }
        Ok(())
    }

    fn elapsed_ms(&self) -> u64 {
        milliseconds(self.opened.elapsed())
    }
}

/// The thread that keeps a [`KeyCache`] current. The thread stops soon after this value is dropped.
pub struct KeyRefresh {
    _stop: oneshot::Sender<()>,
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
