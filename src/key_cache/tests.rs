//! Tests the cache on a store that can fail, delay answers and count reads.

use super::*;
use crate::api_key::ApiKey;
use crate::clock::{Clock, SystemClock};
use crate::rate_limiter::NewBan;
use crate::store::agreement::key_cache::KEYS_CURRENT_FOR;
use crate::store::sqlite::SqliteStore;
use crate::store::{
    AccountCommands, Cancellation, CancelledBatch, Freshness, GivesUp, KeyCommands, LastChanges,
    NewKey, Order, OrderSender, OrdersRead, Position, Structure,
};
use async_trait::async_trait;
use chrono::DateTime;
use futures::FutureExt;
use futures::future::join_all;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use store_orders_api::plans::{Plan, PlanLimits};
use store_orders_api::types::Pet;
use tempfile::TempDir;

/// The time that each request may take. It is so long that no request in these tests times out.
const WAIT: Duration = Duration::from_secs(60);

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A store that counts the keys and accounts that the cache reads. A test can make the store fail
/// or answer late.
struct TestStore {
    store: SqliteStore,
    /// The number of keys in each lookup.
    looked_up: Mutex<Vec<usize>>,
    /// The number of changed accounts and keys that were read.
    changed: AtomicUsize,
    fails: AtomicBool,
    polled_at: Mutex<Option<BootInstant>>,
    poll_delay: Duration,
    /// A lock that a test holds to delay the results of lookups.
    gate: tokio::sync::Mutex<()>,
    _directory: TempDir,
}

impl TestStore {
    fn new(poll_delay: Duration) -> Arc<TestStore> {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        store.create_account("acme", Plan::Free, None, DateTime::UNIX_EPOCH).unwrap();
        let (looked_up, changed, fails, polled_at, gate) = Default::default();
        let _directory = directory;
        Arc::new(TestStore {
            store,
            looked_up,
            changed,
            fails,
            polled_at,
            poll_delay,
            gate,
            _directory,
        })
    }

    fn issue(&self) -> ApiKey {
        self.issue_for("acme")
    }

    fn issue_for(&self, account: &str) -> ApiKey {
        let environment = Environment::Production;
        let new = NewKey { account, environment, expires_after: None, label: None };
        self.store.issue_key(&new, 0).unwrap().key
    }

    fn revoke(&self, key: &ApiKey) {
        let id = self.store.key_record(&key.digest()).unwrap().unwrap().key.id;
        self.store.revoke_key(&id, 0).unwrap();
    }

    fn failure(&self) -> Result<(), StoreError> {
        match self.fails.load(Ordering::Relaxed) {
            true => Err(StoreError::Refused("a test says so".to_string())),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl Store for TestStore {
    fn query_freshness(&self, _: Option<Position>) -> Result<Freshness, StoreError> {
        unreachable!()
    }

    fn last_changes_at_once(&self) -> Option<LastChanges> {
        self.failure().ok()?;
        self.store.last_changes_at_once()
    }

    async fn poll_keys(&self, after: Option<Position>) -> Result<PolledKeys, StoreError> {
        self.failure()?;
        let polled = self.store.poll_keys(after).await?;
        self.changed.fetch_add(polled.changes.as_ref().map_or(0, Vec::len), Ordering::Relaxed);
        *self.polled_at.lock() = Some(BootInstant::now());
        tokio::time::sleep(self.poll_delay).await;
        Ok(polled)
    }

    async fn look_up_keys(&self, digests: Vec<Digest>) -> Result<LookedUpKeys, StoreError> {
        self.failure()?;
        let keys = digests.len();
        let looked_up = self.store.look_up_keys(digests).await;
        self.looked_up.lock().push(keys);
        let _gate = self.gate.lock().await;
        looked_up
    }

    async fn record_bans(&self, bans: Vec<NewBan>) -> Result<(), StoreError> {
        self.store.record_bans(bans).await
    }

    async fn record_last_used(&self, uses: Vec<(i64, i64)>) -> Result<(), StoreError> {
        self.failure()?;
        self.store.record_last_used(uses).await
    }

    async fn send_orders_since(
        &self,
        _: Position,
        _: OrderSender,
    ) -> Result<OrdersRead, StoreError> {
        unreachable!()
    }

    async fn cancel(&self, _: Arc<[Cancellation]>) -> Result<CancelledBatch, StoreError> {
        unreachable!()
    }

    async fn cancelled_order(&self, _: i64, _: u64) -> Result<Option<Order>, StoreError> {
        unreachable!()
    }

    async fn pet(&self, _: i64) -> Result<Option<Pet>, StoreError> {
        unreachable!()
    }

    async fn quick_check(&self, _: GivesUp) -> Result<Structure, StoreError> {
        unreachable!()
    }

    async fn try_write(&self) -> Result<(), StoreError> {
        unreachable!()
    }
}

async fn open(store: &Arc<TestStore>) -> KeyCache {
    KeyCache::open(Arc::clone(store) as Arc<dyn Store>).await.unwrap()
}

async fn find<const N: usize>(
    cache: &Arc<KeyCache>,
    keys: [&ApiKey; N],
) -> [Option<Result<Arc<KnownKey>, KeyRefusal>>; N] {
    let (now, deadline) = (SystemClock::start().now(), Instant::now() + WAIT);
    let presented = keys.map(|key| async {
        let (key, environment) = (key.expose().as_bytes(), Environment::Production);
        let result = cache.authenticate(key, environment, ADDRESS, now, deadline).await;
        result.map(|result| result.map(|valid| valid.key))
    });
    tokio::select! {
        results = join_all(presented) => results.try_into().unwrap(),
        () = Arc::clone(cache).keep_looking_up() => unreachable!(),
    }
}

/// Presents these keys concurrently. Each result is true if the cache accepts the key, and `None`
/// if the cache cannot decide.
async fn accepts<const N: usize>(cache: &Arc<KeyCache>, keys: [&ApiKey; N]) -> [Option<bool>; N] {
    find(cache, keys).await.map(|result| result.map(|result| result.is_ok()))
}

/// Presents a key and runs `meanwhile` before the store's answer arrives. Returns what [`accepts`]
/// returns for this key.
async fn accepts_if_meanwhile(
    (cache, store): (&Arc<KeyCache>, &TestStore),
    key: &ApiKey,
    meanwhile: impl AsyncFnOnce(),
) -> Option<bool> {
    let gate = store.gate.lock().await;
    let before = store.looked_up.lock().len();
    let mut accepted = Box::pin(accepts(cache, [key]));
    while store.looked_up.lock().len() == before {
        if let Some([accepted]) = (&mut accepted).now_or_never() {
            return accepted;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    meanwhile().await;
    drop(gate);
    let [accepted] = accepted.await;
    accepted
}

#[tokio::test]
async fn a_key_is_refused_once_the_store_was_silent_for_a_second() {
    let store = TestStore::new(Duration::ZERO);
    let key = store.issue();
    let mut cache = open(&store).await;
    // Pretend that the last refresh, at opening, was a little more than a second ago.
    cache.opened = cache.opened.earlier(Duration::from_millis(1_001));
    let cache = Arc::new(cache);
    assert_eq!(accepts(&cache, [&key]).await, [None]);
    store.fails.store(true, Ordering::Relaxed);
    cache.refresh().await.unwrap_err();
    assert_eq!(accepts(&cache, [&key]).await, [None]);
    store.fails.store(false, Ordering::Relaxed);
    cache.refresh().await.unwrap();
    assert!(cache.is_current());
}

#[tokio::test]
async fn a_key_is_refused_if_the_cache_is_out_of_date_after_its_lookup() {
    let store = TestStore::new(Duration::ZERO);
    let mut cache = open(&store).await;
    cache.opened = cache.opened.earlier(2 * KEYS_CURRENT_FOR);
    let cache = Arc::new(cache);
    cache.refresh().await.unwrap();
    // Pretend that the last refresh was long ago.
    let outdate = async || cache.valid_until_ms.store(0, Ordering::Relaxed);
    assert_eq!(accepts_if_meanwhile((&cache, &store), &store.issue(), outdate).await, None);
}

#[tokio::test]
async fn a_key_is_refused_if_its_lookup_took_too_long() {
    let store = TestStore::new(Duration::ZERO);
    let cache = Arc::new(open(&store).await);
    let late = async || {
        tokio::time::sleep(KEYS_CURRENT_FOR).await;
        cache.refresh().await.unwrap();
    };
    let key = store.issue();
    assert_eq!(accepts_if_meanwhile((&cache, &store), &key, late).await, None);
    assert_eq!(accepts(&cache, [&key]).await, [Some(true)]);
}

#[tokio::test]
async fn a_key_that_is_revoked_during_its_lookup_is_refused_afterwards() {
    let store = TestStore::new(Duration::ZERO);
    let (key, cache) = (store.issue(), Arc::new(open(&store).await));
    let revoke = async || {
        store.revoke(&key);
        cache.refresh().await.unwrap();
    };
    accepts_if_meanwhile((&cache, &store), &key, revoke).await;
    assert_eq!(
        find(&cache, [&key]).await.map(|result| result.unwrap().err()),
        [Some(KeyRefusal::Revoked)]
    );
}

#[tokio::test]
async fn a_refresh_is_as_of_its_beginning() {
    let store = TestStore::new(Duration::from_millis(20));
    let cache = Arc::new(open(&store).await);
    cache.refresh().await.unwrap();
    let polled_at = store.polled_at.lock().unwrap().since(cache.opened).as_millis();
    let valid_until = Duration::from_millis(cache.valid_until_ms.load(Ordering::Relaxed));
    assert!((valid_until - KEYS_CURRENT_FOR).as_millis() <= polled_at);
}

#[tokio::test]
async fn keys_are_read_at_their_first_use_and_after_each_change() {
    let store = TestStore::new(Duration::ZERO);
    let keys = [(); 20].map(|()| store.issue());
    let cache = Arc::new(open(&store).await);
    let changed = async || {
        cache.refresh().await.unwrap();
        store.changed.swap(0, Ordering::Relaxed)
    };
    assert_eq!((cache.cached.len(), changed().await), (0, 0), "opening the cache reads no keys");
    assert_eq!(accepts(&cache, [&keys[3]]).await, [Some(true)]);
    assert_eq!(accepts(&cache, [&keys[3], &keys[7]]).await, [Some(true); 2]);
    assert_eq!(*store.looked_up.lock(), [1, 1]);
    for revoked in [&keys[7], &keys[8]] {
        store.revoke(revoked);
        assert_eq!(changed().await, 1);
    }
    assert_eq!(accepts(&cache, [&keys[3], &keys[7]]).await, [Some(true), Some(false)]);
    assert_eq!(cache.cached.len(), 2, "a changed key that is not in use is not cached");
    assert_eq!(*store.looked_up.lock(), [1, 1]);
    assert_eq!(cache.uses.lock().len(), 2, "the uses of replaced keys are kept");
}

#[tokio::test]
async fn after_many_changes_keys_are_looked_up_again() {
    let store = TestStore::new(Duration::ZERO);
    let (key, revoked, cache) = (store.issue(), store.issue(), Arc::new(open(&store).await));
    assert_eq!(accepts(&cache, [&key, &revoked]).await, [Some(true); 2]);
    store.revoke(&revoked);
    for _ in 0..crate::store::MAX_CHANGED_KEYS {
        store.issue();
    }
    cache.refresh().await.unwrap();
    assert_eq!(store.changed.load(Ordering::Relaxed), 0);
    assert_eq!(accepts(&cache, [&key, &revoked]).await, [Some(true), Some(false)]);
}

async fn limits(cache: &Arc<KeyCache>, key: &ApiKey) -> Option<PlanLimits> {
    let [result] = find(cache, [key]).await;
    result.unwrap().ok().map(|key| key.account.plan.limits)
}

#[tokio::test]
async fn a_change_of_an_account_reads_only_its_row() {
    let store = TestStore::new(Duration::ZERO);
    store.store.create_account("globex", Plan::Business, None, DateTime::UNIX_EPOCH).unwrap();
    let (keys, other) = ([(); 20].map(|()| store.issue()), store.issue_for("globex"));
    let cache = Arc::new(open(&store).await);
    assert_eq!(accepts(&cache, [&keys[0], &keys[1], &other]).await, [Some(true); 3]);
    let lookups = store.looked_up.lock().len();
    let changed = async || {
        cache.refresh().await.unwrap();
        store.changed.swap(0, Ordering::Relaxed)
    };
    store.store.set_plan("acme", Plan::Pro, None).unwrap();
    assert_eq!(limits(&cache, &keys[0]).await, Plan::Free.limits());
    assert_eq!(changed().await, 1);
    for key in &keys[..2] {
        assert_eq!(limits(&cache, key).await, Plan::Pro.limits());
    }
    assert_eq!(store.store.close_account("acme", DateTime::UNIX_EPOCH).unwrap(), 20);
    assert_eq!(changed().await, 1);
    for key in &keys[..2] {
        assert_eq!(limits(&cache, key).await, None);
    }
    assert_eq!(limits(&cache, &other).await, Plan::Business.limits());
    assert_eq!(store.looked_up.lock().len(), lookups, "no key was looked up again");
    assert_eq!(
        find(&cache, [&keys[3]]).await.map(|result| result.unwrap().err()),
        [Some(KeyRefusal::Revoked)]
    );
}

#[tokio::test]
async fn a_key_works_as_soon_as_it_was_issued() {
    let store = TestStore::new(Duration::ZERO);
    let (cached, cache) = (store.issue(), Arc::new(open(&store).await));
    assert_eq!(accepts(&cache, [&cached]).await, [Some(true)]);
    let unknown = ApiKey::generate(Environment::Production);
    assert_eq!(accepts(&cache, [&unknown]).await, [Some(false)]);
    let fresh = store.issue();
    assert_eq!(accepts(&cache, [&unknown, &fresh]).await, [Some(false), Some(true)]);
    assert_eq!(accepts(&cache, [&ApiKey::generate(Environment::Staging)]).await, [Some(false)]);
    let fresh = store.issue();
    store.fails.store(true, Ordering::Relaxed);
    assert_eq!(accepts(&cache, [&cached, &fresh]).await, [Some(true), None], "the store fails");
}

#[tokio::test]
async fn waiting_requests_share_the_next_statement() {
    let store = TestStore::new(Duration::ZERO);
    let cache = open(&store).await;
    let keys = [(); 3].map(|()| store.issue());
    let mut waits: Vec<_> = keys
        .iter()
        .chain(&keys)
        .map(|key| Box::pin(cache.lookups.join(key.digest(), ADDRESS)))
        .collect();
    for wait in &mut waits {
        assert!(wait.now_or_never().is_none());
    }
    cache.answer(cache.lookups.take_batch().await).await.unwrap();
    for wait in waits {
        assert!(wait.await.unwrap().key.is_some());
    }
    assert_eq!(*store.looked_up.lock(), [3]);
}

#[tokio::test]
async fn uses_that_could_not_be_recorded_are_recorded_later() {
    let store = TestStore::new(Duration::ZERO);
    let key = store.issue();
    let cache = Arc::new(open(&store).await);
    assert_eq!(accepts(&cache, [&key]).await, [Some(true)]);
    store.fails.store(true, Ordering::Relaxed);
    cache.record_uses().await.unwrap_err();
    assert_eq!(cache.uses.lock().len(), 1);
    cache.uses.lock().insert(1, 7);
    cache.record_uses().await.unwrap_err();
    store.fails.store(false, Ordering::Relaxed);
    cache.record_uses().await.unwrap();
    assert_eq!(store.store.key_records().unwrap()[0].key.used_at, Some(7), "the newer use");
    assert!(cache.uses.lock().is_empty());
}

/// A client may send an unknown key many times. Only the first request may cost a lookup, until
/// keys change.
#[tokio::test]
async fn a_key_that_was_never_issued_is_looked_up_once_until_keys_change() {
    let store = TestStore::new(Duration::ZERO);
    let cache = Arc::new(open(&store).await);
    let foreign = TestStore::new(Duration::ZERO).issue();
    let look_ups = || store.looked_up.lock().len();
    for _ in 0..3 {
        assert_eq!(accepts(&cache, [&foreign]).await, [Some(false)]);
        assert_eq!(look_ups(), 1);
    }
    store.issue();
    assert_eq!(accepts(&cache, [&foreign]).await, [Some(false)]);
    assert_eq!(look_ups(), 2);
    store.fails.store(true, Ordering::Relaxed);
    assert_eq!(accepts(&cache, [&foreign]).await, [None]);
}
