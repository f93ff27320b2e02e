//! A cache on a store that counts, fails and waits as a test says.

use super::*;
use crate::clock::{Clock, SystemClock};
use crate::keys::ApiKey;
use crate::limits::NewBan;
use crate::store::agreement::keys::KEYS_CURRENT_FOR;
use crate::store::sqlite::SqliteStore;
use crate::store::{
    AccountCommands, Cancellation, CancelledBatch, CancelledOrder, Freshness, GivesUp, KeyCommands,
    LastChanges, NewKey, OrderSender, OrdersRead, Structure,
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

/// Longer than any statement here takes.
const WAIT: Duration = Duration::from_secs(60);

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A store that counts the keys and accounts that were read, and can be made to fail.
struct Watched {
    store: Arc<SqliteStore>,
    /// How many keys each statement looked up.
    looked_up: Mutex<Vec<usize>>,
    /// Accounts and keys that were read because they changed.
    changed: AtomicUsize,
    fails: AtomicBool,
    /// Another process has locked the first key.
    is_locked: AtomicBool,
    /// When the last changes were read last, and how long that takes.
    asked: Mutex<Option<BootInstant>>,
    takes: Duration,
    /// Held by a test while the answer to a look-up is on its way.
    gate: tokio::sync::Mutex<()>,
    _directory: TempDir,
}

impl Watched {
    fn new(takes: Duration) -> Arc<Watched> {
        let directory = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(directory.path()).unwrap());
        store.create_account("acme", Plan::Free, None, DateTime::UNIX_EPOCH).unwrap();
        let (looked_up, changed, fails, is_locked, asked, gate) = Default::default();
        let _directory = directory;
        Arc::new(Watched {
            store,
            looked_up,
            changed,
            fails,
            is_locked,
            asked,
            takes,
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
        let id = self.store.key_record(&key.digest()).unwrap().unwrap().id;
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
impl Store for Watched {
    fn freshness(&self, _: Option<ChangeNumber>) -> Result<Freshness, StoreError> {
        unreachable!()
    }

    fn last_changes_at_once(&self) -> Option<LastChanges> {
        self.failure().ok()?;
        self.store.last_changes_at_once()
    }

    fn history(&self) -> Result<u64, StoreError> {
        unreachable!()
    }

    async fn poll_keys(&self, after: Option<ChangeNumber>) -> Result<PolledKeys, StoreError> {
        self.failure()?;
        let polled = self.store.poll_keys(after).await?;
        self.changed.fetch_add(polled.changes.as_ref().map_or(0, Vec::len), Ordering::Relaxed);
        *self.asked.lock() = Some(BootInstant::now());
        tokio::time::sleep(self.takes).await;
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

    async fn record_last_used(&self, uses: Vec<(i64, i64)>) -> Result<Vec<(i64, i64)>, StoreError> {
        self.failure()?;
        let is_locked = |&(row, _): &(i64, i64)| row == 1 && self.is_locked.load(Ordering::Relaxed);
        let (mut left, free): (Vec<_>, Vec<_>) = uses.into_iter().partition(is_locked);
        left.append(&mut self.store.record_last_used(free).await?);
        Ok(left)
    }

    async fn send_orders_since(
        &self,
        _: ChangeNumber,
        _: OrderSender,
    ) -> Result<OrdersRead, StoreError> {
        unreachable!()
    }

    async fn cancel(&self, _: Arc<[Cancellation]>) -> Result<CancelledBatch, StoreError> {
        unreachable!()
    }

    async fn cancelled_order(&self, _: i64) -> Result<Option<CancelledOrder>, StoreError> {
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

async fn open(store: &Arc<Watched>) -> KeyCache {
    KeyCache::open(Arc::clone(store) as Arc<dyn Store>).await.unwrap()
}

/// What becomes of each of these keys, presented at once; `None` if the cache cannot know.
async fn find<const N: usize>(
    cache: &Arc<KeyCache>,
    keys: [&ApiKey; N],
) -> [Option<Result<Arc<KnownKey>, KeyRefusal>>; N] {
    let (now, deadline) = (SystemClock::start().now(), Instant::now() + WAIT);
    let presented = keys.map(|key| async {
        let (key, environment) = (key.expose().as_bytes(), Environment::Production);
        let found = cache.find(key, environment, ADDRESS, now, deadline).await;
        found.map(|found| found.map(|valid| valid.key))
    });
    tokio::select! {
        found = join_all(presented) => found.try_into().unwrap(),
        () = Arc::clone(cache).keep_looking_up() => unreachable!(),
    }
}

/// Whether the cache accepts each of these keys, presented at once; `None` if it cannot know.
async fn accepts<const N: usize>(cache: &Arc<KeyCache>, keys: [&ApiKey; N]) -> [Option<bool>; N] {
    find(cache, keys).await.map(|found| found.map(|found| found.is_ok()))
}

/// Presents a key and, while the answer of the store is on its way, does this.
async fn accepts_if_meanwhile(
    (cache, store): (&Arc<KeyCache>, &Watched),
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
    let store = Watched::new(Duration::ZERO);
    let key = store.issue();
    let mut cache = open(&store).await;
    // Opened, and so refreshed, a little more than a second earlier.
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
async fn a_key_that_waits_until_keys_are_outdated_is_refused() {
    let store = Watched::new(Duration::ZERO);
    let mut cache = open(&store).await;
    cache.opened = cache.opened.earlier(2 * KEYS_CURRENT_FOR);
    let cache = Arc::new(cache);
    cache.refresh().await.unwrap();
    // The last refresh was long ago by then.
    let outdate = async || cache.refreshed_at_ms.store(0, Ordering::Relaxed);
    assert_eq!(accepts_if_meanwhile((&cache, &store), &store.issue(), outdate).await, None);
}

#[tokio::test]
async fn a_key_whose_answer_took_longer_than_keys_are_current_is_refused() {
    let store = Watched::new(Duration::ZERO);
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
async fn a_key_that_is_revoked_while_it_is_looked_up_does_not_stay_accepted() {
    let store = Watched::new(Duration::ZERO);
    let (key, cache) = (store.issue(), Arc::new(open(&store).await));
    let revoke = async || {
        store.revoke(&key);
        cache.refresh().await.unwrap();
    };
    accepts_if_meanwhile((&cache, &store), &key, revoke).await;
    assert_eq!(
        find(&cache, [&key]).await.map(|found| found.unwrap().err()),
        [Some(KeyRefusal::Revoked)]
    );
}

#[tokio::test]
async fn a_refresh_counts_from_when_it_began() {
    let store = Watched::new(Duration::from_millis(20));
    let cache = Arc::new(open(&store).await);
    cache.refresh().await.unwrap();
    let asked = store.asked.lock().unwrap().since(cache.opened).as_millis();
    assert!(u128::from(cache.refreshed_at_ms.load(Ordering::Relaxed)) <= asked);
}

#[tokio::test]
async fn keys_are_read_when_they_are_first_used_and_again_when_they_change() {
    let store = Watched::new(Duration::ZERO);
    let keys = [(); 20].map(|()| store.issue());
    let cache = Arc::new(open(&store).await);
    let changed = async || {
        cache.refresh().await.unwrap();
        store.changed.swap(0, Ordering::Relaxed)
    };
    assert_eq!((cache.cached.len(), changed().await), (0, 0), "a start reads none");
    assert_eq!(accepts(&cache, [&keys[3]]).await, [Some(true)]);
    assert_eq!(accepts(&cache, [&keys[3], &keys[7]]).await, [Some(true); 2]);
    assert_eq!(*store.looked_up.lock(), [1, 1]);
    for revoked in [&keys[7], &keys[8]] {
        store.revoke(revoked);
        assert_eq!(changed().await, 1);
    }
    assert_eq!(accepts(&cache, [&keys[3], &keys[7]]).await, [Some(true), Some(false)]);
    assert_eq!(cache.cached.len(), 2, "a key that is not in use does not enter");
    assert_eq!(*store.looked_up.lock(), [1, 1]);
    assert_eq!(cache.uses.lock().len(), 2, "what is known of uses stays");
}

#[tokio::test]
async fn after_many_changes_keys_are_looked_up_again() {
    let store = Watched::new(Duration::ZERO);
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

/// The limits of the account of this key, or none if the key is refused.
async fn limits(cache: &Arc<KeyCache>, key: &ApiKey) -> Option<PlanLimits> {
    let [found] = find(cache, [key]).await;
    found.unwrap().ok().map(|key| key.row.account.limits)
}

#[tokio::test]
async fn a_change_of_an_account_reads_its_row_alone() {
    let store = Watched::new(Duration::ZERO);
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
    assert_eq!(store.looked_up.lock().len(), lookups, "none was looked up again");
    assert_eq!(
        find(&cache, [&keys[3]]).await.map(|it| it.unwrap().err()),
        [Some(KeyRefusal::Revoked)]
    );
}

#[tokio::test]
async fn a_key_works_as_soon_as_it_was_issued() {
    let store = Watched::new(Duration::ZERO);
    let (known, cache) = (store.issue(), Arc::new(open(&store).await));
    assert_eq!(accepts(&cache, [&known]).await, [Some(true)]);
    let unknown = ApiKey::generate(Environment::Production);
    assert_eq!(accepts(&cache, [&unknown]).await, [Some(false)]);
    let fresh = store.issue();
    assert_eq!(accepts(&cache, [&unknown, &fresh]).await, [Some(false), Some(true)]);
    assert_eq!(accepts(&cache, [&ApiKey::generate(Environment::Staging)]).await, [Some(false)]);
    let fresh = store.issue();
    store.fails.store(true, Ordering::Relaxed);
    assert_eq!(accepts(&cache, [&known, &fresh]).await, [Some(true), None], "the store cannot say");
}

#[tokio::test]
async fn those_who_wait_share_the_next_statement() {
    let store = Watched::new(Duration::ZERO);
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
    cache.answer(cache.lookups.next().await).await.unwrap();
    for wait in waits {
        assert!(wait.await.unwrap().key.is_some());
    }
    assert_eq!(*store.looked_up.lock(), [3]);
}

#[tokio::test]
async fn uses_that_could_not_be_recorded_are_recorded_later() {
    let store = Watched::new(Duration::ZERO);
    let key = store.issue();
    let cache = Arc::new(open(&store).await);
    assert_eq!(accepts(&cache, [&key]).await, [Some(true)]);
    store.fails.store(true, Ordering::Relaxed);
    cache.uses.lock().push((1, 7));
    cache.record_uses().await.unwrap_err();
    assert_eq!(cache.left_uses.lock().await.len(), 1, "one for each key");
    store.fails.store(false, Ordering::Relaxed);
    cache.record_uses().await.unwrap();
    assert!(store.store.key_records().unwrap()[0].used_at > Some(7));
}

#[tokio::test]
async fn uses_of_locked_keys_are_recorded_later() {
    let store = Watched::new(Duration::ZERO);
    let keys = [store.issue(), store.issue()];
    let cache = Arc::new(open(&store).await);
    let used =
        || store.store.key_records().unwrap().iter().filter(|key| key.used_at.is_some()).count();
    store.is_locked.store(true, Ordering::Relaxed);
    assert_eq!(accepts(&cache, [&keys[0], &keys[1]]).await, [Some(true); 2]);
    cache.record_uses().await.unwrap();
    assert_eq!((used(), cache.left_uses.lock().await.len()), (1, 1));
    store.is_locked.store(false, Ordering::Relaxed);
    cache.record_uses().await.unwrap();
    assert_eq!((used(), cache.left_uses.lock().await.len()), (2, 0));
}

/// A client with a mistyped or foreign key may send it for long.
#[tokio::test]
async fn a_key_that_was_never_issued_is_looked_up_once_until_keys_change() {
    let store = Watched::new(Duration::ZERO);
    let cache = Arc::new(open(&store).await);
    let foreign = Watched::new(Duration::ZERO).issue();
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
