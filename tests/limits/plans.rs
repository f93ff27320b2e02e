//! Limits as they are agreed: Enterprise's own, none at all, and changed ones.

use super::windows::admitted;
use crate::harness::{Answer, Key, TestServer, World};
use std::time::{Duration, Instant};
use store_orders::store::sqlite::SqliteStore;
use store_orders_api::plans::{Plan, PlanLimits};

/// Sends requests until the headers speak of this limit, which must be within a
/// second; the answer that did, and how many requests were sent.
pub async fn until_limit(server: &TestServer, key: &Key, limit: u64) -> (Answer, u64) {
    let started = Instant::now();
    for sent in 1.. {
        let answer = server.list_with(key).await;
        if answer.number("x-ratelimit-limit") == limit {
            return (answer, sent);
        }
        assert!(started.elapsed() < Duration::from_secs(1), "the new plan does not hold yet");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    unreachable!()
}

#[tokio::test]
async fn every_plan_has_its_own_limits() {
    let world = World::new();
    for plan in [Plan::Free, Plan::Pro, Plan::Business] {
        world.account(plan.as_str(), plan, None);
    }
    let keys = [Plan::Free, Plan::Pro, Plan::Business].map(|plan| world.another_key(plan.as_str()));
    let enterprise = world.enterprise_key(4_000_000_000, 4_294_967_295);
    let server = world.serve().await;
    for (key, per_minute) in keys.iter().chain([&enterprise]).zip([60, 300, 1_000, 4_000_000_000]) {
        assert_eq!(server.list_with(key).await.figures(), (per_minute, per_minute - 1, 60));
    }
}

#[tokio::test]
async fn a_limit_of_0_lets_nothing_in_and_bans_nobody() {
    for (per_minute, per_day, figures) in
        [(0, 1_000, (0, 0, 60)), (60, 0, (0, 0, 86_400)), (0, 0, (0, 0, 86_400))]
    {
        let world = World::new();
        let key = world.enterprise_key(per_minute, per_day);
        let server = world.serve().await;
        for _ in 0..70 {
            let refused = server.list_with(&key).await;
            assert_eq!(refused.assert_refused("rate_limit_exceeded"), figures.2);
            assert_eq!(refused.figures(), figures);
        }
        server.world.clock.advance(Duration::from_millis(figures.2 * 1_000 - 1));
        let refused = server.list_with(&key).await;
        assert_eq!(refused.assert_refused("rate_limit_exceeded"), figures.2, "one full window");
        server.world.store.set_plan("enterprise-0", Plan::Free, None).unwrap();
        let (answer, _) = until_limit(&server, &key, 60).await;
        assert_eq!((answer.status.as_u16(), answer.number("x-ratelimit-remaining")), (200, 59));
    }
}

#[tokio::test]
async fn another_process_changes_the_plan_and_what_was_counted_stays() {
    let world = World::new();
    let key = world.enterprise_key(100_000, 200_000);
    let server = world.serve().await;
    admitted(&server, &key, 70).await;
    let other = SqliteStore::open(server.world.directory.path()).unwrap();
    other.set_plan("enterprise-0", Plan::Business, None).unwrap();
    let (answer, sent) = until_limit(&server, &key, 1_000).await;
    assert_eq!(answer.figures(), (1_000, 1_000 - 70 - sent, 60));
    other.set_plan("enterprise-0", Plan::Free, None).unwrap();
    let (answer, _) = until_limit(&server, &key, 60).await;
    assert_eq!(answer.assert_refused("rate_limit_exceeded"), 60);
    let own = PlanLimits { per_minute: 5_000, per_day: 6_000 };
    other.set_plan("enterprise-0", Plan::Enterprise, Some(own)).unwrap();
    let (answer, _) = until_limit(&server, &key, 5_000).await;
    assert_eq!(answer.status, 200);
}
