//! Plans: fixed limits, custom limits of Enterprise accounts, a limit of 0, and a change of plan.

use super::windows::assert_admitted;
use std::sync::Mutex;
use std::time::Duration;
use store_orders::store::AccountCommands;
use store_orders::store::sqlite::SqliteStore;
use store_orders_api::plans::{Plan, PlanLimits};
use test_server::{Answer, Fault, TestServer, TestSetup};
use testbed::{Key, wait_a_second_until};

/// Sends requests until the headers show `limit`, but fails after about a second. Returns the last
/// response and the number of requests.
pub async fn until_limit(server: &TestServer, key: &Key, limit: u64) -> (Answer, u64) {
    let answers = Mutex::new(Vec::new());
    wait_a_second_until("the new plan applies", || async {
        let answer = server.list_with(key).await;
        let applies = answer.number("x-ratelimit-limit") == limit;
        answers.lock().unwrap().push(answer);
        applies
    })
    .await;
    let mut answers = answers.into_inner().unwrap();
    let sent = answers.len() as u64;
    (answers.pop().unwrap(), sent)
}

#[tokio::test]
async fn every_plan_has_its_own_limits() {
    let setup = TestSetup::new();
    for plan in [Plan::Free, Plan::Pro, Plan::Business] {
        setup.account(plan.as_str(), plan, None);
    }
    let keys = [Plan::Free, Plan::Pro, Plan::Business].map(|plan| setup.another_key(plan.as_str()));
    let enterprise = setup.enterprise_key(4_000_000_000, 4_294_967_295);
    let server = setup.serve().await;
    for (key, per_minute) in keys.iter().chain([&enterprise]).zip([60, 300, 1_000, 4_000_000_000]) {
        assert_eq!(server.list_with(key).await.rate_limit(), (per_minute, per_minute - 1, 60));
    }
}

#[tokio::test]
async fn a_limit_of_0_admits_nothing_and_bans_no_key() {
    for (per_minute, per_day, figures) in
        [(0, 1_000, (0, 0, 60)), (60, 0, (0, 0, 86_400)), (0, 0, (0, 0, 86_400))]
    {
        let setup = TestSetup::new();
        let key = setup.enterprise_key(per_minute, per_day);
        let server = setup.serve().await;
        for _ in 0..70 {
            let refused = server.list_with(&key).await;
            assert_eq!(refused.assert_limited("rate_limit_exceeded"), figures.2);
            assert_eq!(refused.rate_limit(), figures);
        }
        server.setup.clock.advance(Duration::from_millis(figures.2 * 1_000 - 1));
        let refused = server.list_with(&key).await;
        assert_eq!(refused.assert_limited("rate_limit_exceeded"), figures.2, "one full window");
        server.setup.store.set_plan("enterprise-0", Plan::Free, None).unwrap();
        let (answer, _) = until_limit(&server, &key, 60).await;
        assert_eq!((answer.status.as_u16(), answer.number("x-ratelimit-remaining")), (200, 59));
    }
}

#[tokio::test]
async fn an_account_with_a_limit_of_0_causes_no_query_of_the_list() {
    let mut setup = TestSetup::new();
    let (zero_limit, pro) = (setup.enterprise_key(0, 0), setup.key(Plan::Pro));
    let store = setup.add_faulty_store();
    let server = setup.serve().await;
    // Fill the key cache, so that the server queries the store only for lists.
    server.list_with(&zero_limit).await.assert_limited("rate_limit_exceeded");
    assert_eq!(server.list_with(&pro).await.status, 200);
    store.set(Fault::Panics);
    server.list_with(&zero_limit).await.assert_limited("rate_limit_exceeded");
    server.list_with(&pro).await.assert_error(500, "internal_error");
}

#[tokio::test]
async fn a_plan_that_another_process_changes_keeps_the_counts() {
    let setup = TestSetup::new();
    let key = setup.enterprise_key(100_000, 200_000);
    let server = setup.serve().await;
    assert_admitted(&server, &key, 70).await;
    let other = SqliteStore::open(server.setup.directory.path()).unwrap();
    other.set_plan("enterprise-0", Plan::Business, None).unwrap();
    let (answer, sent) = until_limit(&server, &key, 1_000).await;
    assert_eq!(answer.rate_limit(), (1_000, 1_000 - 70 - sent, 60));
    other.set_plan("enterprise-0", Plan::Free, None).unwrap();
    let (answer, _) = until_limit(&server, &key, 60).await;
    assert_eq!(answer.assert_limited("rate_limit_exceeded"), 60);
    let custom = PlanLimits { per_minute: 5_000, per_day: 6_000 };
    other.set_plan("enterprise-0", Plan::Enterprise, Some(custom)).unwrap();
    let (answer, _) = until_limit(&server, &key, 5_000).await;
    assert_eq!(answer.status, 200);
}
