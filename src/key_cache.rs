//! The ring in force: it follows the store, and says so when it cannot.

use crate::clock::Now;
use crate::keys::{Environment, KeyRefusal, KeyRing, KnownKey};
use crate::store::{Store, StoreError};
use arc_swap::ArcSwap;
use slog::{Logger, info, warn};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the store is asked whether keys or accounts have changed. A
/// revocation in another process is to hold within one second.
const CHECKED_EVERY: Duration = Duration::from_millis(200);

/// How many uses of keys are noted in one transaction.
const NOTED_AT_ONCE: usize = 1_000;

/// When the store has not been heard for this long, no key counts as checked.
const STALE_AFTER: Duration = Duration::from_secs(5);

/// The ring that requests are checked against.
pub struct KeyCache {
    store: Arc<dyn Store>,
    ring: ArcSwap<KeyRing>,
    version: AtomicI64,
    started: Instant,
    /// Milliseconds after `started` at which the store last said that the ring
    /// is current; this is the machine's own time, whatever clock counts.
    checked_at: AtomicU64,
    /// Rows of keys and when they were used, not yet noted in the store.
    uses: Mutex<Vec<(i64, i64)>>,
}

impl KeyCache {
    /// Reads the ring from the store. Blocks.
    pub fn open(store: Arc<dyn Store>) -> Result<KeyCache, StoreError> {
        let live = KeyCache {
            store,
            ring: ArcSwap::default(),
            version: AtomicI64::new(-1),
            started: Instant::now(),
            checked_at: AtomicU64::new(0),
            uses: Mutex::default(),
        };
        live.follow()?;
        Ok(live)
    }

    /// The key that the caller presented, as `with` needs it, if it is known and
    /// valid; `None` if the store has not been heard and no key can be checked.
    pub fn find<T>(
        &self,
        presented: &[u8],
        environment: Environment,
        now: Now,
        with: impl FnOnce(&KnownKey) -> T,
    ) -> Option<Result<T, KeyRefusal>> {
        if !self.is_current() {
            return None;
        }
        let ring = self.ring.load();
        Some(ring.find(presented, environment, now).map(|key| {
            if key.is_to_be_noted(now) {
                self.uses().push((key.row, now.wall_ms()));
            }
            with(key)
        }))
    }

    /// Whether the store has been heard of late: if not, no key can be checked.
    pub fn is_current(&self) -> bool {
        let unheard = self.elapsed_ms().saturating_sub(self.checked_at.load(Ordering::Relaxed));
        unheard <= STALE_AFTER.as_millis() as u64
    }

    /// Follows the store, and notes uses of keys, until the task is dropped. A
    /// writer elsewhere may make the notes wait; a revocation does not.
    pub async fn keep_current(self: Arc<Self>, log: Logger) {
        futures::join!(
            self.repeat(KeyCache::follow, "checking keys against the store", &log),
            self.repeat(KeyCache::note_uses, "noting uses of keys in the store", &log),
        );
    }

    /// Does this again and again. The log says when it begins to fail, and when
    /// it works again.
    async fn repeat(
        self: &Arc<Self>,
        step: fn(&KeyCache) -> Result<(), StoreError>,
        doing: &'static str,
        log: &Logger,
    ) {
        let mut tick = tokio::time::interval(CHECKED_EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut fails = false;
        loop {
            tick.tick().await;
            let live = Arc::clone(self);
            let failure = match tokio::task::spawn_blocking(move || step(&live)).await {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(crate::log::chain(&error)),
                Err(_) => Some("the store panicked".to_string()),
            };
            match (&failure, fails) {
                (Some(error), false) => warn!(log, "{} fails", doing; "error" => error),
                (None, true) => info!(log, "{} works again", doing),
                _ => {}
            }
            fails = failure.is_some();
        }
    }

    /// Reads the ring anew if the store says that it has changed.
    fn follow(&self) -> Result<(), StoreError> {
        let asked_at = self.elapsed_ms();
        let version = self.store.versions()?.keys;
        if version != self.version.load(Ordering::Acquire) {
            self.ring.store(Arc::new(KeyRing::new(self.store.keys()?)));
            self.version.store(version, Ordering::Release);
        }
        self.checked_at.store(asked_at, Ordering::Relaxed);
        Ok(())
    }

    /// Notes the uses since the last call, in transactions too short to keep a
    /// cancellation waiting, and in the order of the rows, so that each writes few
    /// pages of the store.
    fn note_uses(&self) -> Result<(), StoreError> {
        let mut uses = std::mem::take(&mut *self.uses());
        uses.sort_unstable();
        uses.chunks(NOTED_AT_ONCE).try_for_each(|uses| self.store.record_last_used(uses))
    }

    fn uses(&self) -> std::sync::MutexGuard<'_, Vec<(i64, i64)>> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
