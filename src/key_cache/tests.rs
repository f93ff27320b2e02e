//! A cache on a store that counts, fails and waits as a test says.

use super::shards::SHARD_COUNT;
use super::*;
use crate::clock::{ManualClock, SystemClock};
use crate::keys::ApiKey;
use crate::limits::NewBan;
use crate::store::agreement::keys::KEYS_CURRENT_FOR;
use crate::store::sqlite::SqliteStore;
use crate::store::{
    AccountCommands, Cancellation, CancelledBatch, CancelledOrder, ChangeNumber, Freshness,
    GivesUp, KeyChange, KeyCommands, NewKey, OrderChange, OrdersRead, PolledChanges, Rotation,
    Structure,
};
use chrono::DateTime;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use store_orders_api::plans::{Plan, PlanLimits};
use store_orders_api::types::Pet;
use tempfile::TempDir;

/// Longer than any question here takes.
const WAIT: Duration = Duration::from_secs(60);

/// A store that counts how often keys were read, how many, and requests that asked for the
/// last changes, and can be made to fail.
struct Watched {
    store: SqliteStore,
    reads: AtomicUsize,
    rows: AtomicUsize,
    questions: AtomicUsize,
    fails: AtomicBool,
    /// A key is issued once the keys were read.
    issues_while_read: AtomicBool,
    /// Another process has locked the first key.
    is_locked: AtomicBool,
    /// When the last changes were read last, and how long that takes.
    asked: Mutex<Option<BootInstant>>,
    takes: Duration,
    /// Held by a test while rows are not to be read.
    gate: Mutex<()>,
    _directory: TempDir,
}

impl Watched {
    fn new(takes: Duration) -> Watched {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        store.create_account("acme", Plan::Free, None, DateTime::UNIX_EPOCH).unwrap();
        let (reads, rows, questions, fails, issues_while_read, is_locked, asked, gate) =
            Default::default();
        let _directory = directory;
        Watched {
            store,
            reads,
            rows,
            questions,
            fails,
            issues_while_read,
            is_locked,
            asked,
            takes,
            gate,
            _directory,
        }
    }

    fn issue(&self) -> ApiKey {
        let environment = Environment::Production;
        let new = NewKey { account: "acme", environment, expires_after: None, label: None };
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
    fn freshness(&self, list: Option<ChangeNumber>) -> Result<Freshness, StoreError> {
        self.failure()?;
        self.questions.fetch_add(1, Ordering::Relaxed);
        self.store.freshness(list)
    }

    fn history(&self) -> Result<u64, StoreError> {
        unreachable!()
    }

    fn poll_changes(&self) -> Result<PolledChanges, StoreError> {
        self.failure()?;
        let polled = self.store.poll_changes();
        *self.asked.lock() = Some(BootInstant::now());
        std::thread::sleep(self.takes);
        polled
    }

    fn for_each_key_since(
        &self,
        after: ChangeNumber,
        visit: &mut dyn FnMut(KeyChange),
    ) -> Result<ChangeNumber, StoreError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let _gate = self.gate.lock();
        let read = self.store.for_each_key_since(after, &mut |change| {
            self.rows.fetch_add(1, Ordering::Relaxed);
            visit(change);
        });
        if self.issues_while_read.swap(false, Ordering::Relaxed) {
            self.issue();
        }
        read
    }

    fn record_bans(&self, bans: &[NewBan]) -> Result<(), StoreError> {
        self.store.record_bans(bans)
    }

    fn record_last_used(&self, uses: &[(i64, i64)]) -> Result<Vec<(i64, i64)>, StoreError> {
        self.failure()?;
        let is_locked = |&(row, _): &(i64, i64)| row == 1 && self.is_locked.load(Ordering::Relaxed);
        let (mut left, free): (Vec<_>, Vec<_>) = uses.iter().copied().partition(is_locked);
        left.append(&mut self.store.record_last_used(&free)?);
        Ok(left)
    }

    fn for_each_order_since(
        &self,
        _: ChangeNumber,
        _: &mut dyn FnMut(OrderChange<'_>),
    ) -> Result<OrdersRead, StoreError> {
        unreachable!()
    }

    fn cancel(&self, _: &[Cancellation]) -> Result<CancelledBatch, StoreError> {
        unreachable!()
    }

    fn cancelled_order(&self, _: i64) -> Result<Option<CancelledOrder>, StoreError> {
        unreachable!()
    }

    fn pet(&self, _: i64) -> Result<Option<Pet>, StoreError> {
        unreachable!()
    }

    fn quick_check(&self, _: GivesUp) -> Result<Structure, StoreError> {
        unreachable!()
    }

    fn try_write(&self) -> Result<(), StoreError> {
        unreachable!()
    }
}

/// A cache on this store, by the machine's clock.
fn open(store: &Arc<Watched>) -> KeyCache {
    KeyCache::open(Arc::clone(store) as Arc<dyn Store>, Arc::new(SystemClock::start())).unwrap()
}

/// Whether the cache accepts each of these keys, presented at once; `None` if it cannot know.
fn accepts<const N: usize>(cache: &Arc<KeyCache>, keys: [&ApiKey; N]) -> [Option<bool>; N] {
    let (now, deadline) = (cache.clock.now(), Instant::now() + WAIT);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_time().build().unwrap();
    let presented = keys.map(|key| {
        let (cache, key) = (Arc::clone(cache), key.expose().to_string());
        runtime.spawn(async move {
            cache.find(key.as_bytes(), Environment::Production, now, deadline, |_, _| ()).await
        })
    });
    presented.map(|found| runtime.block_on(found).unwrap().map(|found| found.is_ok()))
}

#[test]
fn a_key_is_refused_once_the_store_was_silent_for_a_second() {
    let store = Arc::new(Watched::new(Duration::ZERO));
    let key = store.issue();
    let mut cache = open(&store);
    // Opened, and so refreshed, a little more than a second earlier.
    cache.opened = cache.opened.earlier(Duration::from_millis(1_001));
    let cache = Arc::new(cache);
    assert_eq!(accepts(&cache, [&key]), [None]);
    store.fails.store(true, Ordering::Relaxed);
    cache.refresh().unwrap_err();
    assert_eq!(accepts(&cache, [&key]), [None]);
    store.fails.store(false, Ordering::Relaxed);
    cache.refresh().unwrap();
    assert!(cache.is_current());
}

#[test]
fn a_key_that_waits_until_keys_are_outdated_is_refused() {
    let store = Arc::new(Watched::new(Duration::ZERO));
    let mut cache = open(&store);
    cache.opened = cache.opened.earlier(2 * KEYS_CURRENT_FOR);
    let cache = Arc::new(cache);
    cache.refresh().unwrap();
    let (key, reads) = (store.issue(), store.reads.load(Ordering::Relaxed));
    let gate = store.gate.lock();
    let accepted = std::thread::scope(|scope| {
        let accepted = scope.spawn(|| accepts(&cache, [&key]));
        while store.reads.load(Ordering::Relaxed) == reads && !accepted.is_finished() {
            std::thread::yield_now();
        }
        // The last refresh was long ago by now.
        cache.refreshed_at_ms.store(0, Ordering::Relaxed);
        drop(gate);
        accepted.join().unwrap()
    });
    assert_eq!(accepted, [None]);
    assert!(store.reads.load(Ordering::Relaxed) > reads, "the key was waited for");
}

#[test]
fn a_refresh_counts_from_when_it_began() {
    let store = Arc::new(Watched::new(Duration::from_millis(20)));
    let cache = Arc::new(open(&store));
    cache.refresh().unwrap();
    let asked = store.asked.lock().unwrap().since(cache.opened).as_millis();
    assert!(u128::from(cache.refreshed_at_ms.load(Ordering::Relaxed)) <= asked);
}

#[test]
fn keys_are_current_when_they_were_read_however_long_that_took() {
    let takes = Duration::from_millis(20);
    let cache = open(&Arc::new(Watched::new(takes)));
    let refreshed_at_ms = cache.refreshed_at_ms.load(Ordering::Relaxed);
    assert!(u128::from(refreshed_at_ms) >= takes.as_millis(), "{refreshed_at_ms}");
}

/// A server starts in its runtime.
#[tokio::test]
async fn a_key_that_is_issued_while_keys_are_first_read_is_read_too() {
    let store = Arc::new(Watched::new(Duration::ZERO));
    store.issues_while_read.store(true, Ordering::Relaxed);
    let cache = open(&store);
    assert_eq!(cache.keys.read().len(), 1);
}

#[test]
fn keys_are_read_only_after_a_change() {
    let store = Arc::new(Watched::new(Duration::ZERO));
    let first = store.issue();
    let cache = Arc::new(open(&store));
    let refreshed = || {
        cache.refresh().unwrap();
        store.reads.load(Ordering::Relaxed)
    };
    assert_eq!([refreshed(), refreshed()], [1, 1], "the change number is the one that was read");
    let second = store.issue();
    assert_eq!([refreshed(), refreshed()], [2, 2]);
    assert_eq!(accepts(&cache, [&first, &second]), [Some(true); 2]);
    let key_id = &store.store.key_records().unwrap()[0].id;
    let rotation = Rotation { key_id, overlap: Duration::ZERO, label: None };
    store.store.rotate_key(rotation, 0).unwrap();
    assert_eq!(refreshed(), 3);
    assert_eq!(accepts(&cache, [&first, &second]), [Some(false), Some(true)]);
}

#[test]
fn a_change_of_a_key_reads_its_row_alone() {
    let store = Arc::new(Watched::new(Duration::ZERO));
    let keys = [(); 20].map(|()| store.issue());
    let cache = Arc::new(open(&store));
    let rows = || store.rows.swap(0, Ordering::Relaxed);
    assert_eq!(rows(), 1 + keys.len(), "the account and its keys");
    assert_eq!(accepts(&cache, [&keys[3]]), [Some(true)]);
    store.store.revoke_key(&store.store.key_records().unwrap()[7].id, 0).unwrap();
    cache.refresh().unwrap();
    assert_eq!(rows(), 1);
    assert_eq!(accepts(&cache, [&keys[3], &keys[7]]), [Some(true), Some(false)]);
    assert_eq!(cache.uses.lock().len(), 1, "what is known of uses stays");
}

/// The limits of the account of this key, or none if the key is refused.
fn limits(cache: &KeyCache, key: &ApiKey) -> Option<PlanLimits> {
    let known = cache.find_known(&key.digest(), cache.clock.now(), |_, account| account.limits);
    known.unwrap().ok()
}

#[test]
fn a_change_of_an_account_reads_its_row_alone() {
    let store = Arc::new(Watched::new(Duration::ZERO));
    store.store.create_account("globex", Plan::Business, None, DateTime::UNIX_EPOCH).unwrap();
    let new = NewKey {
        account: "globex",
        environment: Environment::Production,
        expires_after: None,
        label: None,
    };
    let other = store.store.issue_key(&new, 0).unwrap().key;
    let keys = [(); 20].map(|()| store.issue());
    let cache = Arc::new(open(&store));
    let refreshed = || {
        store.rows.store(0, Ordering::Relaxed);
        cache.refresh().unwrap();
        store.rows.load(Ordering::Relaxed)
    };
    store.store.set_plan("acme", Plan::Pro, None).unwrap();
    assert_eq!(limits(&cache, &keys[0]), Plan::Free.limits());
    assert_eq!(refreshed(), 1);
    for key in &keys {
        assert_eq!(limits(&cache, key), Plan::Pro.limits());
    }
    // Keys that ended long ago may be forgotten.
    let now = DateTime::from_timestamp_millis(cache.clock.now().wall_ms()).unwrap();
    assert_eq!(store.store.close_account("acme", now).unwrap(), 20);
    assert_eq!(refreshed(), 1);
    for key in &keys {
        let found = cache.find_known(&key.digest(), cache.clock.now(), |_, _| ());
        assert_eq!(found, Some(Err(KeyRefusal::Revoked)));
    }
    assert_eq!(limits(&cache, &other), Plan::Business.limits());
    assert_eq!(accepts(&cache, [&keys[3], &other]), [Some(false), Some(true)]);
}

#[test]
fn the_keys_of_an_account_that_was_closed_long_ago_are_forgotten() {
    let store = Arc::new(Watched::new(Duration::ZERO));
    let key = store.issue();
    store.store.close_account("acme", DateTime::UNIX_EPOCH).unwrap();
    let clock = Arc::new(ManualClock::at(Duration::ZERO));
    let cache = Arc::new(KeyCache::open(store.clone(), clock.clone()).unwrap());
    for (days, expected) in [(29, 1), (1, 0)] {
        clock.advance(days * DAY);
        assert_eq!(known_after_a_round(&cache), expected);
    }
    assert_eq!(accepts(&cache, [&key]), [Some(false)]);
    let reopened = KeyCache::open(store, clock).unwrap();
    assert!(reopened.keys.read().is_empty());
}

const DAY: Duration = Duration::from_secs(86_400);

/// How many keys are known after each shard was tidied.
fn known_after_a_round(cache: &KeyCache) -> usize {
    for _ in 0..SHARD_COUNT {
        cache.refresh().unwrap();
    }
    cache.keys.read().len()
}

#[test]
fn a_key_that_ended_long_ago_is_forgotten_and_refused_without_being_read() {
    let store = Arc::new(Watched::new(Duration::ZERO));
    let keys = [store.issue(), store.issue(), store.issue()];
    let ids = store.store.key_records().unwrap();
    let rotation = Rotation { key_id: &ids[0].id, overlap: DAY, label: None };
    store.store.rotate_key(rotation, 0).unwrap();
    store.store.revoke_key(&ids[1].id, 0).unwrap();
    let clock = Arc::new(ManualClock::at(Duration::ZERO));
    let cache = Arc::new(KeyCache::open(store.clone(), clock.clone()).unwrap());
    let known = || known_after_a_round(&cache);
    let accepted = || accepts(&cache, [&keys[0], &keys[1], &keys[2]]);
    assert_eq!(accepted(), [Some(true), Some(false), Some(true)]);
    for (days, expected) in [(29, 4), (1, 3), (1, 2)] {
        clock.advance(days * DAY);
        assert_eq!(known(), expected);
    }
    let reads = store.reads.load(Ordering::Relaxed);
    assert_eq!(accepted(), [Some(false), Some(false), Some(true)]);
    assert_eq!(store.reads.load(Ordering::Relaxed), reads);
    let reopened = KeyCache::open(store.clone(), clock.clone()).unwrap();
    assert_eq!(reopened.keys.read().len(), 2);
    // The clock was a month ahead, and the key has not ended yet.
    clock.set_wall(Duration::ZERO);
    assert_eq!(known(), 4);
    assert_eq!(accepted(), [Some(true), Some(false), Some(true)]);
}

#[test]
fn a_key_works_as_soon_as_it_was_issued() {
    let store = Arc::new(Watched::new(Duration::ZERO));
    let known = store.issue();
    let cache = Arc::new(open(&store));
    let counted = || [&store.reads, &store.questions].map(|count| count.load(Ordering::Relaxed));
    assert_eq!(accepts(&cache, [&known]), [Some(true)]);
    assert_eq!(counted(), [1, 0], "no one asks for a known key");
    let unknown = ApiKey::generate(Environment::Production);
    assert_eq!(accepts(&cache, [&unknown; 3]), [Some(false); 3]);
    assert_eq!(counted(), [1, 3], "rows are read only after a change");
    let fresh = store.issue();
    assert_eq!(accepts(&cache, [&unknown, &fresh, &fresh, &unknown]), {
        [Some(false), Some(true), Some(true), Some(false)]
    });
    assert_eq!(store.reads.load(Ordering::Relaxed), 2, "all that wait share one reading");
    assert_eq!(accepts(&cache, [&ApiKey::generate(Environment::Staging)]), [Some(false)]);
    let fresh = store.issue();
    store.fails.store(true, Ordering::Relaxed);
    assert_eq!(accepts(&cache, [&known, &fresh]), [Some(true), None], "the store cannot say");
}

#[test]
fn uses_that_could_not_be_recorded_are_recorded_later() {
    let store = Arc::new(Watched::new(Duration::ZERO));
    let key = store.issue();
    let cache = Arc::new(open(&store));
    store.fails.store(true, Ordering::Relaxed);
    assert_eq!(accepts(&cache, [&key]), [Some(true)]);
    cache.uses.lock().push((1, 7));
    cache.record_uses().unwrap_err();
    assert_eq!(cache.left_uses.lock().len(), 1, "one for each key");
    store.fails.store(false, Ordering::Relaxed);
    cache.record_uses().unwrap();
    assert!(store.store.key_records().unwrap()[0].used_at > Some(7));
}

#[test]
fn uses_of_locked_keys_are_recorded_later() {
    let store = Arc::new(Watched::new(Duration::ZERO));
    let keys = [store.issue(), store.issue()];
    let cache = Arc::new(open(&store));
    let used =
        || store.store.key_records().unwrap().iter().filter(|key| key.used_at.is_some()).count();
    store.is_locked.store(true, Ordering::Relaxed);
    assert_eq!(accepts(&cache, [&keys[0], &keys[1]]), [Some(true); 2]);
    cache.record_uses().unwrap();
    assert_eq!((used(), cache.left_uses.lock().len()), (1, 1));
    store.is_locked.store(false, Ordering::Relaxed);
    cache.record_uses().unwrap();
    assert_eq!((used(), cache.left_uses.lock().len()), (2, 0));
}
