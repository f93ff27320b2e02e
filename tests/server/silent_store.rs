//! A store that gives no answer: requests that need it are answered all the same.

use std::time::{Duration, Instant};
use store_orders_api::plans::Plan;
use test_server::{Fault, TestSetup, unknown_key};

/// How long a request waits for the store.
const PATIENCE: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_silent_store_is_answered_503_after_five_seconds() {
    let mut setup = TestSetup::new();
    let key = setup.key(Plan::Pro);
    setup.pending([1]).pet(7, "Rex");
    let store = setup.add_faulty_store();
    let server = setup.serve().await;
    let unknown = unknown_key();
    let asked = async |key, path| {
        let sent = Instant::now();
        (server.send_with(key, "GET", path).await, sent.elapsed())
    };
    let (list, pet) = ("/v1/store/orders", "/v1/pets/7");
    assert_eq!(asked(&key, list).await.0.status, 200);
    store.set(Fault::Silent);
    let answers = async { tokio::join!(asked(&key, list), asked(&key, pet), asked(&unknown, pet)) };
    // Twice as long again, for a busy machine.
    let answers = tokio::time::timeout(3 * PATIENCE, answers).await.unwrap();
    store.set(Fault::None);
    for (answer, took) in [answers.0, answers.1, answers.2] {
        answer.assert_error(503, "service_unavailable");
        answer.assert_common_headers();
        assert!(took >= PATIENCE, "{took:?}");
    }
    for path in [list, pet] {
        assert_eq!(asked(&key, path).await.0.status, 200, "{path} afterwards");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_whose_key_was_waited_for_is_answered_five_seconds_after_its_arrival() {
    let mut setup = TestSetup::new();
    setup.pending([1]);
    let store = setup.add_faulty_store();
    let server = setup.serve().await;
    store.set(Fault::Silent);
    let key = server.setup.key(Plan::Pro);
    let sent = Instant::now();
    let asked = server.send_with(&key, "DELETE", "/v1/store/orders/1");
    let key_is_found = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        store.answer_questions().await.unwrap();
    };
    let (answer, ()) = tokio::join!(asked, key_is_found);
    let took = sent.elapsed();
    store.set(Fault::None);
    answer.assert_error(503, "service_unavailable");
    assert!(took < Duration::from_millis(7_000), "{took:?}");
}
