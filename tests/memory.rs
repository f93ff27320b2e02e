//! Measures, with a counting allocator, the memory of rate limits, cached keys and the order list.
//! `cargo test --test memory -- --nocapture` prints the numbers.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use allocation_counter::measure;
use chrono::DateTime;
use slog::{Discard, Logger, o};
use std::iter;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use store_orders::api_key::{Digest, Environment};
use store_orders::clock::Now;
use store_orders::key_cache::{CachedKeys, MAX_CACHED_KEYS};
use store_orders::metrics::batch_sizes;
use store_orders::orders::{OrderFilter, OrderList, find_orders};
use store_orders::rate_limiter::{
    Decision, InMemoryRateLimiter, KeyBan, KeyedRequest, MAX_ADDRESSES, RateLimiter,
};
use store_orders::store::sqlite::SqliteStore;
use store_orders::store::{
    Account, AccountPlan, Key, KeyRecord, OperatorStore, Order, Position, Records,
};
use store_orders_api::plans::{Plan, PlanLimits};

const ACCOUNTS: i64 = 100_000;

static KEY_ID: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from("key_1"));

fn now(seconds: u64) -> Now {
    let monotonic = Duration::from_secs(seconds);
    Now { monotonic, wall: Duration::from_secs(1_781_524_800) + monotonic }
}

fn admit(limits: &InMemoryRateLimiter, row: i64, plan: PlanLimits) -> Decision {
    let request = KeyedRequest { account: row, key: row, limits: plan, ban: KeyBan::default() };
    futures::executor::block_on(limits.admit(request, &KEY_ID, now(0), Instant::now()))
}

/// Returns the bytes per account that are still allocated after `make`, and the result of `make`.
fn bytes_each<T>(make: impl FnOnce() -> T) -> (i64, T) {
    let mut made = None;
    let allocations = measure(|| made = Some(make()));
    (allocations.bytes_current / ACCOUNTS, made.unwrap())
}

#[test]
fn an_active_account_costs_less_than_100_bytes() {
    let plan = Plan::Free.limits().unwrap();
    let (windows, limits) = bytes_each(|| {
        let limits = InMemoryRateLimiter::new(1_000, Logger::root(Discard, o!()));
        for row in 1..=ACCOUNTS {
            assert!(matches!(admit(&limits, row, plan), Decision::Admitted(_)));
        }
        limits
    });
    let none_left = PlanLimits { per_minute: 1, per_day: 1 };
    let (strikes, ()) = bytes_each(|| {
        for row in 1..=ACCOUNTS {
            assert!(matches!(admit(&limits, row, none_left), Decision::Limited(..)));
        }
    });
    println!("bytes each: windows {windows}, strikes {strikes}");
    assert!((1..100).contains(&windows), "{windows}");
    // `strikes` is the additional memory that a key takes after its first 429.
    assert!((1..100).contains(&strikes), "{strikes}");
}

/// The cache keeps at most `MAX_CACHED_KEYS` keys, so its memory is bounded however many keys are
/// used.
#[test]
fn cached_keys_take_less_than_40_megabytes() {
    let plan = Plan::Free;
    let plan = AccountPlan { name: plan, limits: plan.limits().unwrap() };
    let row = |row: i64, digest| KeyRecord {
        key: Key {
            row,
            id: format!("key_{row:012}").into(),
            account: row,
            environment: Environment::Production,
            digest,
            label: Some("web shop".into()),
            issued_at: 0,
            expires_at: None,
            revoked_at: None,
            used_at: None,
            successor: None,
            ban: KeyBan::default(),
        },
        account: Account {
            id: row,
            name: format!("acme-{row}").into(),
            plan,
            created_at: DateTime::UNIX_EPOCH,
            closed_at: None,
        },
    };
    let mut cached = None;
    let allocations = measure(|| {
        let (keys, change) = (CachedKeys::new(Position::default()), Position::default());
        for number in 0..3 * MAX_CACHED_KEYS as i64 {
            let mut digest = [0; 32];
            fastrand::fill(&mut digest);
            let rows = vec![row(number, Digest(digest))];
            keys.insert_looked_up(iter::empty(), rows, change);
        }
        cached = Some(keys);
    });
    let (cached_keys, bytes) = (cached.unwrap().len(), allocations.bytes_current);
    println!("{cached_keys} keys in {:.1} MB", bytes as f64 / 1e6);
    assert!((MAX_CACHED_KEYS * 9 / 10..=MAX_CACHED_KEYS).contains(&cached_keys), "{cached_keys}");
    assert!(bytes < 40_000_000, "{bytes}");
}

/// The allowed memory includes 1/8 more than the JSON's size, because the ends of the pages'
/// buffers may be unused.
///
/// Also checks that a search leaves no memory allocated.
#[test]
fn an_order_of_the_list_costs_little_more_than_its_text() {
    const ORDERS: i64 = 50_000;
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    let order = |id: i64| Order::new(id, id * 7_919 % 900_000, 1);
    let orders: Vec<_> = (1..=ORDERS).map(order).collect();
    store.import(Records::Orders(&orders), false).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (log, batches) = (Logger::root(Discard, o!()), batch_sizes().unwrap());
    let opening = OrderList::open(Arc::new(store), batches, usize::MAX, &log);
    let list = runtime.block_on(opening).unwrap();
    let snapshot = runtime.block_on(list.list()).unwrap();
    let searched = measure(|| {
        let filter = OrderFilter { pet_id: Some(-1), ..OrderFilter::default() };
        let mut json = Vec::new();
        let search = find_orders(&snapshot, &filter, i64::MIN, 10, &mut json);
        assert_eq!(runtime.block_on(search), None);
    });
    let text = snapshot.length();
    // Measure how much memory the drop frees. `measure` cannot see how much memory the list
    // allocated, because other threads allocated it.
    let freed = measure(|| drop((snapshot, list, runtime)));
    let each = |bytes: i64| bytes as f64 / ORDERS as f64;
    let (text, list) = (each(text as i64), each(-freed.bytes_current));
    let searched = each(searched.bytes_current);
    println!("bytes of an order: text {text:.1}, list {list:.1}, searched by pet {searched:.1}");
    assert!((text + 60.0..text * 9.0 / 8.0 + 62.0).contains(&list), "{list} for {text}");
    assert!(searched < 0.1, "{searched}");
}

#[test]
fn a_million_addresses_cost_no_more_than_the_bound() {
    let limits = InMemoryRateLimiter::new(5, Logger::root(Discard, o!()));
    let mut refused = 0;
    let allocations = measure(|| {
        for number in 0..1_000_000_u64 {
            let address = if number % 2 == 0 {
                IpAddr::V4(Ipv4Addr::from_bits(fastrand::u32(..)))
            } else {
                IpAddr::V6(Ipv6Addr::from_bits(fastrand::u128(..)))
            };
            // The requests are spread over three minutes, so that windows close and new ones
            // replace them.
            let decision = limits.admit_unauthenticated(address, now(number * 180 / 1_000_000));
            if matches!(futures::executor::block_on(decision), Decision::Limited(..)) {
                refused += 1;
            }
        }
    });
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "a million addresses: {:.1} MiB, {:.1} MiB at most, {refused} refused together",
        mebibytes(allocations.bytes_current as u64),
        mebibytes(allocations.bytes_max),
    );
    assert!(refused > 0, "the table of {MAX_ADDRESSES} was never full");
    assert!(allocations.bytes_current < 6 << 20, "{allocations:?}");
    assert!(allocations.bytes_max < 8 << 20, "{allocations:?}");
}
