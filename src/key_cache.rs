//! The keys in use: read through from the store when a request first presents one, bounded in
//! number, and kept current. A key that may be out of date is never accepted: once the store has been
//! silent for too long, all are refused.

mod cached_keys;
mod known_key;
mod lookups;
mod repeating;

pub use cached_keys::{CachedKeys, MAX_CACHED_KEYS};
pub use known_key::{KeyRefusal, KnownKey};

use crate::clock::{BootInstant, Now};
use crate::keys::{Digest, Environment, digest_of, environment_of};
use crate::store::agreement::keys::{
    KeysCatchUp, keys_are_current, keys_catch_up, may_enter_cache,
};
use crate::store::{ChangeNumber, LookedUpKeys, PolledChanges, PolledKeys, Store, StoreError};
use futures::FutureExt;
use lookups::{LookedUp, Lookups, Waiter};
use parking_lot::Mutex;
use repeating::repeat;
use slog::Logger;
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::timeout_at;

/// How often the store is asked whether keys or accounts have changed. On PostgreSQL an answer is as
/// of the last confirmed heartbeat, up to 250 ms before: so one late answer refuses no key.
const REFRESH_INTERVAL: Duration = Duration::from_millis(200);

/// Uses of keys recorded in one transaction: few, so that a cancellation does not wait.
const USES_PER_TRANSACTION: usize = 1_000;

/// The keys that requests are authenticated by.
pub struct KeyCache {
    store: Arc<dyn Store>,
    cached: CachedKeys,
    /// The change that the cached keys reflect. Locked while they are replaced, so that older rows
    /// never replace newer ones; a request with a cached key does not wait for it.
    reflected: Mutex<ChangeNumber>,
    lookups: Lookups,
    opened: BootInstant,
    /// When the last successful refresh began, in milliseconds after `opened`: the
    /// machine's own time, whatever clock a test sets, also while it is suspended.
    refreshed_at_ms: AtomicU64,
    /// Rows of keys and when they were used, to be recorded in the store.
    uses: Mutex<Vec<(i64, i64)>>,
    /// Those that could not be recorded, in the order of their rows. Requests do not wait for it.
    left_uses: tokio::sync::Mutex<Vec<(i64, i64)>>,
}

/// A valid key.
pub struct ValidKey {
    /// The key.
    pub key: Arc<KnownKey>,
    /// Whether the request waited for the store.
    pub was_looked_up: bool,
}

impl KeyCache {
    /// A cache without keys.
    pub async fn open(store: Arc<dyn Store>) -> Result<KeyCache, StoreError> {
        let opened = BootInstant::now();
        let polled = store.poll_changes().await?;
        let reflected = polled.last_changes.of_keys().into();
        let cache = KeyCache {
            store,
            cached: CachedKeys::default(),
            reflected,
            lookups: Lookups::default(),
            opened,
            refreshed_at_ms: AtomicU64::default(),
            uses: Mutex::default(),
            left_uses: tokio::sync::Mutex::default(),
        };
        cache.note_refresh(polled);
        Ok(cache)
    }

    /// The key that the caller presented, if it is valid; `None` if that cannot be known. A key of the
    /// right form that is not cached is looked up by a statement that begins after this was called,
    /// but the caller does not wait past the deadline: a key works as soon as it was issued, by
    /// whichever process.
    pub async fn find(
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
            // In a box, so that requests with a cached key do not carry it.
            None => match Box::pin(self.look_up(digest, address, deadline)).await? {
                Some(key) => key,
                None => return Some(Err(KeyRefusal::Unknown)),
            },
        };
        if let Some(refusal) = key.refusal(now) {
            return Some(Err(refusal));
        }
        if key.takes_use(now.wall_ms()) {
            self.uses.lock().push((key.row.row, now.wall_ms()));
        }
        Some(Ok(ValidKey { key, was_looked_up }))
    }

    /// True if no key had this digest and no key has changed since, which an embedded engine tells at
    /// once: a client that keeps sending such a key costs no statement.
    fn is_still_absent(&self, digest: &Digest) -> bool {
        self.cached.absent_at(digest).is_some_and(|absent_at| {
            let last_changes = self.store.last_changes_at_once();
            last_changes.is_some_and(|last| last.of_keys() == absent_at)
        })
    }

    /// The key of this digest, if one was issued; `None` if that cannot be known.
    async fn look_up(
        &self,
        digest: Digest,
        address: IpAddr,
        deadline: Instant,
    ) -> Option<Option<Arc<KnownKey>>> {
        let answered = timeout_at(deadline.into(), self.lookups.join(digest, address));
        let LookedUp { key, as_of } = answered.await.ok()??;
        // The store may take longer to answer than keys are current.
        (self.is_current() && keys_are_current(as_of, BootInstant::now())).then_some(key)
    }

    /// Notes that requests without a valid key from this address are refused for so long: keys that
    /// it presents are looked up after all others.
    pub fn shed(&self, address: IpAddr, lasts: Duration) {
        self.lookups.shed(address, lasts);
    }

    /// Looks up the keys that requests wait for, until it is dropped.
    pub async fn keep_looking_up(self: Arc<Self>) {
        loop {
            let waiting = self.lookups.next().await;
            // Those who wait learn of an error, and of a panic, because their senders are dropped.
            let _ = AssertUnwindSafe(self.answer(waiting)).catch_unwind().await;
        }
    }

    /// Asks the store for the keys of these requests.
    async fn answer(&self, waiting: Vec<Waiter>) -> Result<(), StoreError> {
        let mut digests: Vec<Digest> = waiting.iter().map(|waiter| waiter.digest).collect();
        digests.sort_unstable_by_key(|digest| digest.0);
        digests.dedup();
        let LookedUpKeys { polled, keys } = self.store.look_up_keys(digests).await?;
        let reflected = self.reflected.lock();
        let enters = may_enter_cache(polled.last_changes.of_keys(), *reflected);
        let known = |(digest, row)| (digest, self.cached.known(digest, row, enters));
        let known: HashMap<Digest, Arc<KnownKey>> = keys.into_iter().map(known).collect();
        drop(reflected);
        for Waiter { digest, answer } in waiting {
            let looked_up = LookedUp { key: known.get(&digest).cloned(), as_of: polled.as_of };
            if looked_up.key.is_none() {
                self.cached.note_absent(digest, polled.last_changes.of_keys());
            }
            // The client may have gone away.
            let _ = answer.send(looked_up);
        }
        Ok(())
    }

    /// Whether the last successful refresh is recent enough to accept keys.
    pub fn is_current(&self) -> bool {
        let as_of = Duration::from_millis(self.refreshed_at_ms.load(Ordering::Relaxed));
        keys_are_current(as_of, Duration::from_millis(self.elapsed_ms()))
    }

    /// Refreshes the keys until the result is dropped. On a thread with a runtime of its own: the
    /// others may all be sending lists, and keys that are not refreshed in time are all refused.
    pub fn keep_current(self: Arc<Self>, log: Logger) -> io::Result<KeyRefresh> {
        let (stop, stopped) = oneshot::channel();
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let keep = move || {
            let doing = "checking keys against the store";
            let refreshing = repeat(REFRESH_INTERVAL, || self.refresh(), doing, &log);
            runtime.block_on(async {
                tokio::select! {
                    () = refreshing => {}
                    _ = stopped => {}
                }
            });
        };
        std::thread::Builder::new().name("keys".to_string()).spawn(keep)?;
        Ok(KeyRefresh { _stop: stop })
    }

    /// Records uses of keys until it is dropped. No revocation waits for these writes.
    pub async fn keep_recording_uses(self: Arc<Self>, log: Logger) {
        let doing = "recording uses of keys in the store";
        repeat(REFRESH_INTERVAL, || self.record_uses(), doing, &log).await;
    }

    /// Brings the cached keys to what the store holds.
    async fn refresh(&self) -> Result<(), StoreError> {
        let after = *self.reflected.lock();
        let PolledKeys { polled, changes } = self.store.poll_keys(Some(after)).await?;
        let mut reflected = self.reflected.lock();
        let rows_after = changes.as_ref().map(|_| after);
        match keys_catch_up(*reflected, polled.last_changes.of_keys(), rows_after) {
            KeysCatchUp::Current => {}
            KeysCatchUp::Rows(reached) => {
                self.cached.replace(changes.unwrap_or_default());
                *reflected = reached;
            }
            KeysCatchUp::Empty(reached) => {
                self.cached.clear();
                *reflected = reached;
            }
        }
        drop(reflected);
        self.note_refresh(polled);
        Ok(())
    }

    fn note_refresh(&self, polled: PolledChanges) {
        let as_of_ms = milliseconds(polled.as_of.since(self.opened));
        self.refreshed_at_ms.store(as_of_ms, Ordering::Relaxed);
    }

    /// Records the uses since the last call, in the order of the rows, so that each
    /// transaction writes few pages. Those that are not recorded, all of them after an error,
    /// wait for the next call.
    async fn record_uses(&self) -> Result<(), StoreError> {
        let mut left = self.left_uses.lock().await;
        let mut uses = std::mem::take(&mut *self.uses.lock());
        uses.append(&mut left);
        uses.sort_unstable();
        let mut recorded = Ok(());
        for some in uses.chunks(USES_PER_TRANSACTION) {
            match self.store.record_last_used(some.to_vec()).await {
                Ok(mut locked) => left.append(&mut locked),
                Err(error) => {
                    recorded = Err(error);
                    break;
                }
            }
        }
        if recorded.is_err() {
            *left = uses;
        }
        left.sort_unstable();
        // Only the last use of each key, so that they do not grow without bound.
        left.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                *kept = *later;
            }
            is_same
        });
        recorded
    }

    fn elapsed_ms(&self) -> u64 {
        milliseconds(self.opened.elapsed())
    }
}

/// The thread that keeps a [`KeyCache`] current. It ends soon after this is dropped.
pub struct KeyRefresh {
    _stop: oneshot::Sender<()>,
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
