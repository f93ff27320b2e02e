//! The known keys, kept current from the store. A key that cannot be checked is never
//! accepted: once the store has been silent for too long, the cache refuses all.

use crate::clock::Now;
use crate::keys::{Digest, Environment, digest_of};
use crate::store::{KeyRow, MIN_USE_INTERVAL_MS, Store, StoreError, is_expired};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use slog::{Logger, info, warn};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often the store is asked whether keys or accounts have changed: a revocation by
/// another process must hold within one second.
const REFRESH_INTERVAL: Duration = Duration::from_millis(200);

/// Uses of keys recorded in one transaction: few, so that a cancellation does not wait.
const USES_PER_TRANSACTION: usize = 1_000;

/// How long after the last successful refresh keys can still be checked.
const STALE_AFTER: Duration = Duration::from_secs(5);

/// Why a key was refused: for the log, never for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRefusal {
    /// No `Authorization` header, or none of the scheme `Bearer`.
    NoKey,
    /// More than one `Authorization` header.
    SeveralHeaders,
    /// Not the form of a key of this environment.
    Malformed,
    /// Never issued here.
    Unknown,
    /// Revoked by the operator.
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
            KeyRefusal::Unknown => "unknown_key",
            KeyRefusal::Revoked => "revoked_key",
            KeyRefusal::Expired => "expired_key",
        }
    }
}

/// Every key that was ever issued, by its digest, as of one version of the store.
#[derive(Debug)]
pub struct KnownKeys {
    version: i64,
    keys: HashMap<Digest, KnownKey>,
}

#[derive(Debug)]
struct KnownKey {
    row: KeyRow,
    /// Wall time in milliseconds of the last use that was recorded, or is about to be.
    used_at_ms: AtomicI64,
}

impl KnownKeys {
    /// The keys of this version.
    pub fn new(version: i64, rows: impl IntoIterator<Item = (Digest, KeyRow)>) -> KnownKeys {
        let known = |row: KeyRow| KnownKey { used_at_ms: row.used_at_ms.into(), row };
        let keys = rows.into_iter().map(|(digest, row)| (digest, known(row))).collect();
        KnownKeys { version, keys }
    }

    /// Reads the version before the keys, so that a change in between is read again.
    fn read(store: &dyn Store) -> Result<KnownKeys, StoreError> {
        let version = store.versions()?.keys;
        Ok(KnownKeys::new(version, store.keys()?))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether no key was ever issued.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    fn find(
        &self,
        presented: &[u8],
        environment: Environment,
        now: Now,
    ) -> Result<&KnownKey, KeyRefusal> {
        let digest = digest_of(presented, environment).ok_or(KeyRefusal::Malformed)?;
        let key = self.keys.get(&digest).ok_or(KeyRefusal::Unknown)?;
        if key.row.revoked {
            return Err(KeyRefusal::Revoked);
        }
        if is_expired(key.row.expires_at_ms, now.wall_ms()) {
            return Err(KeyRefusal::Expired);
        }
        Ok(key)
    }
}

impl KnownKey {
    /// Whether this use is to be recorded: true for one caller a minute.
    fn takes_use(&self, now_ms: i64) -> bool {
        let last = self.used_at_ms.load(Ordering::Relaxed);
        // abs_diff: after a step back of the wall clock, uses must be recorded too.
        now_ms.abs_diff(last) >= MIN_USE_INTERVAL_MS.unsigned_abs()
            && self
                .used_at_ms
                .compare_exchange(last, now_ms, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}

/// The keys that requests are checked against.
pub struct KeyCache {
    store: Arc<dyn Store>,
    keys: ArcSwap<KnownKeys>,
    opened: Instant,
    /// When the last successful refresh began, in milliseconds after `opened`: the
    /// machine's own time, whatever clock a test sets.
    refreshed_at_ms: AtomicU64,
    /// Rows of keys and when they were used, to be recorded in the store.
    uses: Mutex<Vec<(i64, i64)>>,
}

impl KeyCache {
    /// Reads the keys from the store. Blocks.
    pub fn open(store: Arc<dyn Store>) -> Result<KeyCache, StoreError> {
        let opened = Instant::now();
        let keys = ArcSwap::from_pointee(KnownKeys::read(&*store)?);
        let (refreshed_at_ms, uses) = (AtomicU64::new(0), Mutex::default());
        Ok(KeyCache { store, keys, opened, refreshed_at_ms, uses })
    }

    /// The key that the caller presented, as `map` returns it, if it is valid; `None` if
    /// the cache is stale and no key can be checked.
    pub fn find<T>(
        &self,
        presented: &[u8],
        environment: Environment,
        now: Now,
        map: impl FnOnce(&KeyRow) -> T,
    ) -> Option<Result<T, KeyRefusal>> {
        if !self.is_current() {
            return None;
        }
        let keys = self.keys.load();
        Some(keys.find(presented, environment, now).map(|key| {
            if key.takes_use(now.wall_ms()) {
                self.uses.lock().push((key.row.row, now.wall_ms()));
            }
            map(&key.row)
        }))
    }

    /// Whether the last successful refresh is recent enough to check keys.
    pub fn is_current(&self) -> bool {
        let age = self.elapsed_ms().saturating_sub(self.refreshed_at_ms.load(Ordering::Relaxed));
        age <= STALE_AFTER.as_millis() as u64
    }

    /// Refreshes the keys and records their uses until the task is dropped. Two loops,
    /// so that a revocation never waits for a write.
    pub async fn keep_current(self: Arc<Self>, log: Logger) {
        futures::join!(
            self.repeat(KeyCache::refresh, "checking keys against the store", &log),
            self.repeat(KeyCache::record_uses, "recording uses of keys in the store", &log),
        );
    }

    /// Repeats a step, and logs when it begins to fail and when it works again.
    async fn repeat(
        self: &Arc<Self>,
        step: fn(&KeyCache) -> Result<(), StoreError>,
        doing: &'static str,
        log: &Logger,
    ) {
        let mut tick = tokio::time::interval(REFRESH_INTERVAL);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut fails = false;
        loop {
            tick.tick().await;
            let cache = Arc::clone(self);
            let failure = match tokio::task::spawn_blocking(move || step(&cache)).await {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(crate::log::ErrorChain(&error).to_string()),
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

    /// Reads the keys again if the store's version of them has changed.
    fn refresh(&self) -> Result<(), StoreError> {
        let began_at_ms = self.elapsed_ms();
        if self.store.versions()?.keys != self.keys.load().version {
            self.keys.store(Arc::new(KnownKeys::read(&*self.store)?));
        }
        self.refreshed_at_ms.store(began_at_ms, Ordering::Relaxed);
        Ok(())
    }

    /// Records the uses since the last call, in the order of the rows, so that each
    /// transaction writes few pages.
    fn record_uses(&self) -> Result<(), StoreError> {
        let mut uses = std::mem::take(&mut *self.uses.lock());
        uses.sort_unstable();
        uses.chunks(USES_PER_TRANSACTION).try_for_each(|uses| self.store.record_last_used(uses))
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
