//! The known keys, kept current from the store. A key that cannot be checked is never
//! accepted: once the store has been silent for too long, the cache refuses all.

use crate::clock::Now;
use crate::keys::{Digest, Environment, digest_of};
use crate::store::{KeyRow, MIN_USE_INTERVAL_MS, Store, StoreError, Versions, is_expired};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use slog::{Logger, info, warn};
use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How often the store is asked whether keys or accounts have changed: a revocation by
/// another process must hold within one second.
const REFRESH_INTERVAL: Duration = Duration::from_millis(200);

/// Uses of keys recorded in one transaction: few, so that a cancellation does not wait.
const USES_PER_TRANSACTION: usize = 1_000;

/// How long after the beginning of the last successful refresh keys can still be checked:
/// within this time a revocation holds, or no key is accepted.
const STALE_AFTER: Duration = Duration::from_secs(1);

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
    versions: Versions,
    keys: HashMap<Digest, KnownKey>,
}

#[derive(Debug)]
struct KnownKey {
    row: KeyRow,
    /// Wall time in milliseconds of the last use that was recorded, or is about to be.
    used_at_ms: AtomicI64,
}

impl KnownKeys {
    /// The keys as of these versions.
    pub fn new(versions: Versions, rows: impl IntoIterator<Item = (Digest, KeyRow)>) -> KnownKeys {
        let known = |row: KeyRow| KnownKey { used_at_ms: row.used_at_ms.into(), row };
        let keys = rows.into_iter().map(|(digest, row)| (digest, known(row))).collect();
        KnownKeys { versions, keys }
    }

    /// Reads the versions before the keys, so that a change in between is read again.
    fn read(store: &dyn Store) -> Result<KnownKeys, StoreError> {
        let versions = store.poll_versions()?.versions;
        Ok(KnownKeys::new(versions, store.keys()?))
    }

    /// Whether the keys are those of these versions.
    fn are_of(&self, versions: Versions) -> bool {
        let of_keys = |versions: Versions| (versions.history, versions.keys);
        of_keys(self.versions) == of_keys(versions)
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
        let run = move || repeat_until(&stopped, || step(&cache), doing, &log);
        std::thread::Builder::new().name(thread.to_string()).spawn(run)?;
        Ok(stop)
    }

    /// Reads the keys again if the store's version of them has changed.
    fn refresh(&self) -> Result<(), StoreError> {
        let polled = self.store.poll_versions()?;
        if !self.keys.load().are_of(polled.versions) {
            self.keys.store(Arc::new(KnownKeys::read(&*self.store)?));
        }
        let as_of = polled.as_of.saturating_duration_since(self.opened);
        self.refreshed_at_ms.store(milliseconds(as_of), Ordering::Relaxed);
        Ok(())
    }

    /// Records the uses since the last call, in the order of the rows, so that each
    /// transaction writes few pages. After an error they wait for the next call.
    fn record_uses(&self) -> Result<(), StoreError> {
        let mut uses = std::mem::take(&mut *self.uses.lock());
        uses.sort_unstable();
        let mut batches = uses.chunks(USES_PER_TRANSACTION);
        let recorded = batches.try_for_each(|uses| self.store.record_last_used(uses));
        if recorded.is_err() {
            // Only the last use of each key, so that they do not grow without bound.
            uses.dedup_by(|later, kept| {
                let is_same = later.0 == kept.0;
                if is_same {
                    *kept = *later;
                }
                is_same
            });
            self.uses.lock().append(&mut uses);
        }
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

/// Repeats a step until the sender is dropped, and logs when it begins to fail and when
/// it works again.
fn repeat_until(
    stopped: &Receiver<()>,
    step: impl Fn() -> Result<(), StoreError>,
    doing: &'static str,
    log: &Logger,
) {
    let mut fails = false;
    loop {
        let failure = match catch_unwind(AssertUnwindSafe(&step)) {
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
        if stopped.recv_timeout(REFRESH_INTERVAL) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, SystemClock};
    use crate::keys::ApiKey;
    use crate::store::sqlite::SqliteStore;
    use crate::store::{
        Cancellation, CancelledBatch, NewKey, OrderChange, OrderCounts, OrdersVersion,
        PolledVersions, Rotation, Structure, VersionCheck,
    };
    use chrono::DateTime;
    use std::sync::atomic::{AtomicBool, AtomicUsize};
    use store_orders_api::plans::Plan;
    use store_orders_api::types::Pet;
    use tempfile::TempDir;

    /// A store that counts how often the keys were read, and can be made to fail.
    struct Watched {
        store: SqliteStore,
        reads: AtomicUsize,
        fails: AtomicBool,
        /// When the versions were read last, and how long that takes.
        asked: Mutex<Option<Instant>>,
        takes: Duration,
        _directory: TempDir,
    }

    impl Watched {
        fn new(takes: Duration) -> Watched {
            let directory = tempfile::tempdir().unwrap();
            let store = SqliteStore::open(directory.path()).unwrap();
            store.create_account("acme", Plan::Free, None, DateTime::UNIX_EPOCH).unwrap();
            let (reads, fails, asked) = Default::default();
            Watched { store, reads, fails, asked, takes, _directory: directory }
        }

        fn issue(&self) -> ApiKey {
            let environment = Environment::Production;
            let new = NewKey { account: "acme", environment, expires_after: None };
            self.store.issue_key(&new, 0).unwrap().key
        }

        fn failure(&self) -> Result<(), StoreError> {
            match self.fails.load(Ordering::Relaxed) {
                true => Err(StoreError::Refused("a test says so".to_string())),
                false => Ok(()),
            }
        }
    }

    impl Store for Watched {
        fn check_versions(&self) -> Result<VersionCheck, StoreError> {
            unreachable!()
        }

        fn poll_versions(&self) -> Result<PolledVersions, StoreError> {
            self.failure()?;
            let polled = self.store.poll_versions();
            *self.asked.lock() = Some(Instant::now());
            std::thread::sleep(self.takes);
            polled
        }

        fn keys(&self) -> Result<Vec<(Digest, KeyRow)>, StoreError> {
            self.reads.fetch_add(1, Ordering::Relaxed);
            self.store.keys()
        }

        fn record_last_used(&self, uses: &[(i64, i64)]) -> Result<(), StoreError> {
            self.failure()?;
            self.store.record_last_used(uses)
        }

        fn for_each_order_since(
            &self,
            _: OrdersVersion,
            _: &mut dyn FnMut(OrderChange<'_>),
        ) -> Result<OrdersVersion, StoreError> {
            unreachable!()
        }

        fn cancel(&self, _: &[Cancellation]) -> Result<CancelledBatch, StoreError> {
            unreachable!()
        }

        fn pet(&self, _: i64) -> Result<Option<Pet>, StoreError> {
            unreachable!()
        }

        fn count_orders(&self) -> Result<OrderCounts, StoreError> {
            unreachable!()
        }

        fn quick_check(&self, _: &(dyn Fn() -> bool + Sync)) -> Result<Structure, StoreError> {
            unreachable!()
        }

        fn try_write(&self) -> Result<(), StoreError> {
            unreachable!()
        }
    }

    /// Whether the cache accepts the key; `None` if it cannot check it.
    fn accepts(cache: &KeyCache, key: &ApiKey) -> Option<bool> {
        let now = SystemClock::start().now();
        let found = cache.find(key.expose().as_bytes(), Environment::Production, now, |_| ());
        found.map(|found| found.is_ok())
    }

    #[test]
    fn a_key_that_was_not_checked_for_a_second_is_refused() {
        let store = Arc::new(Watched::new(Duration::ZERO));
        let key = store.issue();
        let mut cache = KeyCache::open(store.clone()).unwrap();
        // Opened, and so refreshed, this much earlier.
        let opened = cache.opened;
        cache.opened = opened.checked_sub(STALE_AFTER + Duration::from_millis(1)).unwrap();
        assert_eq!(accepts(&cache, &key), None);
        store.fails.store(true, Ordering::Relaxed);
        cache.refresh().unwrap_err();
        assert_eq!(accepts(&cache, &key), None);
        store.fails.store(false, Ordering::Relaxed);
        cache.refresh().unwrap();
        assert!(cache.is_current());
        assert_eq!(STALE_AFTER, Duration::from_secs(1));
    }

    #[test]
    fn a_refresh_counts_from_when_it_began() {
        let store = Arc::new(Watched::new(Duration::from_millis(20)));
        let cache = KeyCache::open(store.clone()).unwrap();
        cache.refresh().unwrap();
        let asked = store.asked.lock().unwrap().duration_since(cache.opened).as_millis();
        assert!(u128::from(cache.refreshed_at_ms.load(Ordering::Relaxed)) <= asked);
    }

    #[test]
    fn the_keys_are_read_again_only_after_a_change() {
        let store = Arc::new(Watched::new(Duration::ZERO));
        let first = store.issue();
        let cache = KeyCache::open(store.clone()).unwrap();
        let refreshed = || {
            cache.refresh().unwrap();
            store.reads.load(Ordering::Relaxed)
        };
        assert_eq!([refreshed(), refreshed()], [1, 1], "the version is the one that was read");
        let second = store.issue();
        assert_eq!([refreshed(), refreshed()], [2, 2]);
        assert_eq!([&first, &second].map(|key| accepts(&cache, key)), [Some(true); 2]);
        let key_id = &store.store.key_records().unwrap()[0].id;
        let rotation = Rotation { key_id, overlap: Duration::ZERO };
        store.store.rotate_key(rotation, 0).unwrap();
        assert_eq!(refreshed(), 3);
        assert_eq!([&first, &second].map(|key| accepts(&cache, key)), [Some(false), Some(true)]);
    }

    #[test]
    fn uses_that_could_not_be_recorded_are_recorded_later() {
        let store = Arc::new(Watched::new(Duration::ZERO));
        let key = store.issue();
        let cache = KeyCache::open(store.clone()).unwrap();
        store.fails.store(true, Ordering::Relaxed);
        assert_eq!(accepts(&cache, &key), Some(true));
        cache.uses.lock().push((1, 7));
        cache.record_uses().unwrap_err();
        assert_eq!(cache.uses.lock().len(), 1, "one for each key");
        store.fails.store(false, Ordering::Relaxed);
        cache.record_uses().unwrap();
        assert!(store.store.key_records().unwrap()[0].used_at > Some(7));
    }

    /// A drain that keeps the messages.
    struct Messages(Arc<std::sync::Mutex<Vec<String>>>);

    impl slog::Drain for Messages {
        type Ok = ();
        type Err = slog::Never;

        fn log(&self, record: &slog::Record<'_>, _: &slog::OwnedKVList) -> Result<(), slog::Never> {
            let message = format!("{} {}", record.level().as_short_str(), record.msg());
            self.0.lock().unwrap().push(message);
            Ok(())
        }
    }

    #[test]
    fn a_step_that_begins_to_fail_and_works_again_is_logged_once_each() {
        let messages = Arc::default();
        let log = Logger::root(Messages(Arc::clone(&messages)), slog::o!());
        let (stop, stopped) = channel();
        let stop = Mutex::new(Some(stop));
        let attempts = AtomicUsize::new(0);
        let step = || match attempts.fetch_add(1, Ordering::Relaxed) {
            0 => Ok(()),
            1 => Err(StoreError::Refused("a test says so".to_string())),
            2 => panic!("a store that panics fails too"),
            _ => {
                stop.lock().take();
                Ok(())
            }
        };
        repeat_until(&stopped, step, "a step", &log);
        assert_eq!(attempts.into_inner(), 4, "it goes on until it is stopped");
        assert_eq!(*messages.lock().unwrap(), ["WARN a step fails", "INFO a step works again"]);
    }

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
