//! The known keys, kept current from the store. A key that may be out of date is never
//! accepted: once the store has been silent for too long, the cache refuses all.

mod known_keys;
mod repeating;
mod shards;

pub use known_keys::{KeyRefusal, KnownKeys};

use crate::blocking::run_with;
use crate::clock::{BootInstant, Clock, Now};
use crate::keys::{Digest, Environment, digest_of, environment_of};
use crate::store::agreement::keys::{keys_are_current, keys_lack};
use crate::store::agreement::list::CatchUp;
use crate::store::{AccountRow, KeyRow, LastChanges, Store, StoreError};
use parking_lot::{Mutex, RwLock};
use repeating::repeat_until;
use slog::Logger;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use tokio::time::timeout_at;

/// How often the store is asked whether keys or accounts have changed: a revocation by
/// another process must hold within one second.
const REFRESH_INTERVAL: Duration = Duration::from_millis(200);

/// Uses of keys recorded in one transaction: few, so that a cancellation does not wait.
const USES_PER_TRANSACTION: usize = 1_000;

/// The keys that requests are authenticated by.
pub struct KeyCache {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// Written to for no longer than a moment, whatever changed: requests wait for it.
    keys: RwLock<KnownKeys>,
    /// Held while rows are read, so that older ones never replace newer ones.
    reading: Arc<tokio::sync::Mutex<()>>,
    opened: BootInstant,
    /// When the last successful refresh began, in milliseconds after `opened`: the
    /// machine's own time, whatever clock a test sets, also while it is suspended.
    refreshed_at_ms: AtomicU64,
    /// Rows of keys and when they were used, to be recorded in the store.
    uses: Mutex<Vec<(i64, i64)>>,
    /// Those that could not be recorded, in the order of their rows. Requests do not wait for it.
    left_uses: Mutex<Vec<(i64, i64)>>,
}

impl KeyCache {
    /// Reads the keys from the store. Blocks.
    pub fn open(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Result<KeyCache, StoreError> {
        let opened = BootInstant::now();
        let generation = store.poll_changes()?.last_changes.generation;
        let keys = RwLock::new(KnownKeys::read(&*store, generation, clock.now().wall_ms())?);
        let (refreshed_at_ms, uses, left_uses, reading) = Default::default();
        let cache =
            KeyCache { store, clock, keys, reading, opened, refreshed_at_ms, uses, left_uses };
        // To read many keys takes longer than they are current. Nobody else reads them yet, and a
        // runtime's thread, such as that of a start, must not wait for a lock.
        cache.refresh_holding(|_| None)?;
        Ok(cache)
    }

    /// The key that the caller presented, and its account, as `map` returns them, if the key is
    /// valid; `None` if that cannot be known. A key of the right form that is not known waits until
    /// the store has said, after this was called, whether there is a newer one, but not past the
    /// deadline: a key works as soon as it was issued, by whichever process.
    pub async fn find<T>(
        self: &Arc<Self>,
        presented: &[u8],
        environment: Environment,
        now: Now,
        deadline: Instant,
        map: impl Fn(&KeyRow, &AccountRow) -> T,
    ) -> Option<Result<T, KeyRefusal>> {
        if !self.is_current() {
            return None;
        }
        let Some(digest) = digest_of(presented, environment) else {
            let other = environment_of(presented).map(KeyRefusal::OtherEnvironment);
            return Some(Err(other.unwrap_or(KeyRefusal::Malformed)));
        };
        let mut found = self.find_known(&digest, now, &map);
        if found.is_none() {
            timeout_at(deadline.into(), self.catch_up()).await.ok()?.ok()?;
            // The store answers a question for longer than keys are known to be current.
            if !self.is_current() {
                return None;
            }
            found = self.find_known(&digest, now, &map);
        }
        Some(found.unwrap_or(Err(KeyRefusal::Unknown)))
    }

    /// The key of this digest, if it is known; the use of a valid one is noted.
    fn find_known<T>(
        &self,
        digest: &Digest,
        now: Now,
        map: impl Fn(&KeyRow, &AccountRow) -> T,
    ) -> Option<Result<T, KeyRefusal>> {
        self.keys.read().find(digest, now, |key, account| {
            if key.takes_use(now.wall_ms()) {
                self.uses.lock().push((key.row.row, now.wall_ms()));
            }
            map(&key.row, account)
        })
    }

    /// Has the cache hold every change that was committed before this was called. Those who
    /// wait share the question and the reading.
    async fn catch_up(self: &Arc<Self>) -> Result<(), Arc<StoreError>> {
        let stored = self.store.freshness(None)?.wait().await?.last_changes;
        if !self.lacks(stored) {
            return Ok(());
        }
        let reading = Arc::clone(&self.reading).lock_owned().await;
        if !self.lacks(stored) {
            return Ok(());
        }
        let cache = Arc::clone(self);
        let failed = |source| StoreError::Engine { doing: "read", source };
        let read = run_with(reading, move || cache.read(stored)).await;
        Ok(read.map_err(|panicked| failed(panicked.into()))??)
    }

    /// Whether the store, at these last changes, has keys that are not known here.
    fn lacks(&self, stored: LastChanges) -> bool {
        keys_lack(self.keys.read().change_number(), stored.of_keys()) != CatchUp::Nothing
    }

    /// Reads the accounts and keys that changed, or all at another generation. The caller holds
    /// `reading`.
    fn read(&self, stored: LastChanges) -> Result<(), StoreError> {
        let known = self.keys.read().change_number();
        if let CatchUp::ReadingAll(_) = keys_lack(known, stored.of_keys()) {
            return self.read_all(stored);
        }
        // Applied only once all is read: what an ended session told does not count.
        let mut changes = Vec::new();
        let reached = self.store.for_each_key_since(known, &mut |change| changes.push(change))?;
        self.keys.read().apply(changes);
        self.keys.write().set_change_number(reached);
        Ok(())
    }

    fn read_all(&self, stored: LastChanges) -> Result<(), StoreError> {
        let now_ms = self.clock.now().wall_ms();
        let all = KnownKeys::read(&*self.store, stored.generation, now_ms)?;
        let replaced = std::mem::replace(&mut *self.keys.write(), all);
        // To free a million keys takes long; no lock is held.
        drop(replaced);
        Ok(())
    }

    /// Whether the last successful refresh is recent enough to accept keys.
    pub fn is_current(&self) -> bool {
        let as_of = Duration::from_millis(self.refreshed_at_ms.load(Ordering::Relaxed));
        keys_are_current(as_of, Duration::from_millis(self.elapsed_ms()))
    }

    /// Refreshes the keys and records their uses until the result is dropped. Two threads,
    /// so that a revocation never waits for a write, and none of the runtime's, all of
    /// which may be compressing lists.
    pub fn keep_current(self: &Arc<Self>, log: &Logger) -> io::Result<KeyRefresh> {
        Ok(KeyRefresh {
            _stop: [
                self.repeat("keys", KeyCache::refresh, "checking keys against the store", log)?,
                self.repeat(
                    "key-uses",
                    KeyCache::record_uses,
                    "recording uses of keys in the store",
                    log,
                )?,
            ],
        })
    }

    /// Repeats a step on a thread of this name until the result is dropped.
    fn repeat(
        self: &Arc<Self>,
        thread: &str,
        step: fn(&KeyCache) -> Result<(), StoreError>,
        doing: &'static str,
        log: &Logger,
    ) -> io::Result<Sender<()>> {
        let (stop, stopped) = channel();
        let (cache, log) = (Arc::clone(self), log.clone());
        let run = move || repeat_until(&stopped, REFRESH_INTERVAL, || step(&cache), doing, &log);
        std::thread::Builder::new().name(thread.to_string()).spawn(run)?;
        Ok(stop)
    }

    /// Reads what has changed, and forgets some of the keys that ended long ago.
    fn refresh(&self) -> Result<(), StoreError> {
        self.refresh_holding(|reading| Some(reading.blocking_lock()))
    }

    /// [`KeyCache::refresh`], holding this while keys are read.
    fn refresh_holding(
        &self,
        lock: impl FnOnce(&tokio::sync::Mutex<()>) -> Option<tokio::sync::MutexGuard<'_, ()>>,
    ) -> Result<(), StoreError> {
        let polled = self.store.poll_changes()?;
        let now_ms = self.clock.now().wall_ms();
        let starts_over = self.keys.read().have_forgotten_too_much(now_ms);
        if starts_over || self.lacks(polled.last_changes) {
            let _reading = lock(&self.reading);
            let read = if starts_over { KeyCache::read_all } else { KeyCache::read };
            read(self, polled.last_changes)?;
        }
        if let Some(as_of) = polled.known_as_of(self.keys.read().change_number()) {
            self.refreshed_at_ms.store(milliseconds(as_of.since(self.opened)), Ordering::Relaxed);
        }
        self.keys.read().tidy_next(now_ms);
        Ok(())
    }

    /// Records the uses since the last call, in the order of the rows, so that each
    /// transaction writes few pages. Those that are not recorded, all of them after an error,
    /// wait for the next call.
    fn record_uses(&self) -> Result<(), StoreError> {
        let mut left = self.left_uses.lock();
        let mut uses = std::mem::take(&mut *self.uses.lock());
        uses.append(&mut left);
        uses.sort_unstable();
        let recorded = uses.chunks(USES_PER_TRANSACTION).try_for_each(|uses| {
            left.append(&mut self.store.record_last_used(uses)?);
            Ok(())
        });
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

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The threads that keep a [`KeyCache`] current. They end soon after this is dropped.
pub struct KeyRefresh {
    _stop: [Sender<()>; 2],
}

#[cfg(test)]
mod tests;
