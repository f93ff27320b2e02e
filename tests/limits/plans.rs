//! Plans: fixed limits, Enterprise's own, a limit of 0, and a change of plan.

use super::windows::admitted;
use std::sync::Mutex;
use std::time::Duration;
use store_orders::store::AccountCommands;
use store_orders::store::sqlite::SqliteStore;
use store_orders_api::plans::{Plan, PlanLimits};
use test_server::{Answer, Fault, TestServer, TestSetup};
use testbed::{Key, wait_a_second_until};

/// Sends requests until the headers show this limit, which must be within a
/// second; the answer that did, and how many requests were sent.
pub async fn until_limit(server: &TestServer, key: &Key, limit: u64) -> (Answer, u64) {
    let answers = Mutex::new(Vec::new());
    wait_a_second_until("the new plan holds", || async {
        let answer = server.list_with(key).await;
        let holds = answer.number("x-ratelimit-limit") == limit;
        answers.lock().unwrap().push(answer);
        holds
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
async fn the_store_is_not_asked_for_the_list_of_an_account_that_may_send_nothing() {
    let mut setup = TestSetup::new();
    let (shut, open) = (setup.enterprise_key(0, 0), setup.key(Plan::Pro));
    let store = setup.add_faulty_store();
    let server = setup.serve().await;
    // With a key that it has used, the server asks for the list alone.
    server.list_with(&shut).await.assert_limited("rate_limit_exceeded");
    assert_eq!(server.list_with(&open).await.status, 200);
    // Whoever asks it learns of it.
    store.set(Fault::Panics);
    server.list_with(&shut).await.assert_limited("rate_limit_exceeded");
    server.list_with(&open).await.assert_error(500, "internal_error");
}

#[tokio::test]
async fn another_process_changes_the_plan_and_what_was_counted_stays() {
    let setup = TestSetup::new();
    let key = setup.enterprise_key(100_000, 200_000);
    let server = setup.serve().await;
    admitted(&server, &key, 70).await;
    let other = SqliteStore::open(server.setup.directory.path()).unwrap();
    other.set_plan("enterprise-0", Plan::Business, None).unwrap();
    let (answer, sent) = until_limit(&server, &key, 1_000).await;
    assert_eq!(answer.rate_limit(), (1_000, 1_000 - 70 - sent, 60));
    other.set_plan("enterprise-0", Plan::Free, None).unwrap();
    let (answer, _) = until_limit(&server, &key, 60).await;
    assert_eq!(answer.assert_limited("rate_limit_exceeded"), 60);
    let own = PlanLimits { per_minute: 5_000, per_day: 6_000 };
    other.set_plan("enterprise-0", Plan::Enterprise, Some(own)).unwrap();
    let (answer, _) = until_limit(&server, &key, 5_000).await;
    assert_eq!(answer.status, 200);
}
