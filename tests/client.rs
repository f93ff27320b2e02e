//! Tests the generated client against the real server.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store_orders::clock::ManualClock;
use store_orders::store::{OperatorStore, Order, OrderStatus, Records};
use store_orders_api::plans::Plan;
use store_orders_client::{CancelOrderOutcome, Client, ErrorCode, RetryPolicy, v2};
use test_server::{TestSetup, pending_order};
use testbed::Key;
use testbed::relay::{ReadAlong, Relay};

/// Replaces the first response with this string. So the client does not learn that the server has
/// executed the request.
struct ReplaceFirstAnswer(Arc<Mutex<Option<&'static str>>>);

impl ReadAlong for ReplaceFirstAnswer {
    fn answer(&mut self, bytes: &mut Vec<u8>) {
        if let Some(instead) = self.0.lock().unwrap().take() {
            *bytes = instead.into();
        }
    }
}

fn retrying(address: SocketAddr, key: &Key) -> Client {
    let policy = RetryPolicy::default().first_wait(Duration::from_millis(2));
    Client::builder(format!("http://{address}/v1"), &key.text).retry(policy).build().unwrap()
}

#[tokio::test]
async fn a_cancel_whose_answer_is_lost_is_retried_and_a_404_is_then_a_success() {
    for instead in [
        "",
        "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 504 Gateway Timeout\r\nContent-Length: 7\r\nConnection: close\r\n\r\n<html/>",
    ] {
        let setup = TestSetup::new();
        let key = setup.key(Plan::Pro);
        setup.pending([1, 2]);
        let server = setup.serve().await;
        let instead = Arc::new(Mutex::new(Some(instead)));
        let proxy = Relay::read_along(server.proxy_address().port(), move || {
            ReplaceFirstAnswer(Arc::clone(&instead))
        })
        .unwrap();
        let client = retrying(proxy.address(), &key);

        let outcome = client.cancel_order(1).await.unwrap();
        assert_eq!(*outcome, CancelOrderOutcome::AlreadyGone);
        assert_eq!((outcome.attempts(), outcome.status().as_u16()), (2, 404));
        let orders = client.list_orders().await.unwrap();
        assert_eq!(orders.iter().map(|order| *order.id).collect::<Vec<_>>(), [2]);
        assert_eq!(orders.attempts(), 1);

        // A 404 is a success only if an earlier attempt may have cancelled the order. This call
        // makes only one attempt, so its 404 is an error.
        let error = client.cancel_order(1).await.unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::OrderNotFound));
        assert!(error.to_string().starts_with("404 order_not_found: There is no order 1"));
    }
}

#[tokio::test]
async fn all_pending_orders_of_a_pet_are_cancelled_from_a_stream_of_pages() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Business);
    // Pet 7 has 40 shipped orders and 120 pending orders. The pending orders fill three pages of at
    // most 50.
    let order = |id: i64| Order {
        pet_id: 7 + id % 2,
        status: if id % 8 == 0 { OrderStatus::Shipped } else { OrderStatus::Pending },
        ..pending_order(id)
    };
    let orders: Vec<_> = (1..=320).map(order).collect();
    setup.store.import(Records::Orders(&orders), false).unwrap();
    let server = setup.serve().await;
    let client = server.client(&key).v2();

    let pending = client.list_orders().pet_id(7).status(v2::OrderStatus::Pending).limit(50);
    let first = pending.clone().send().await.unwrap();
    assert_eq!((first.orders.len(), first.next_cursor.is_some()), (50, true));
    let mut cancelled = 0;
    let mut orders = pending.clone().stream();
    while let Some(order) = orders.next().await {
        let order = order.unwrap();
        assert_eq!((*order.pet_id, &order.status), (7, &v2::OrderStatus::Pending));
        client.cancel_order(order.id).await.unwrap();
        cancelled += 1;
    }
    assert_eq!(cancelled, 120);
    let none = pending.send().await.unwrap();
    assert_eq!((none.orders.len(), none.next_cursor.as_deref()), (0, None));
    // The subtracted numbers count the requests: the first page, the three pages of the stream, the
    // cancellations, and the empty page.
    assert_eq!(none.rate_limit().unwrap().remaining, 1_000 - 1 - 3 - 120 - 1);
    let rest = client.list_orders().limit(1_000).send().await.unwrap();
    assert_eq!(rest.orders.len(), 200);

    let error = client.list_orders().limit(1_001).send().await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::InvalidParameter));
    assert!(error.body().unwrap().message.contains("limit"), "{error}");
    let other_filters = client.list_orders().cursor(first.next_cursor.as_deref().unwrap());
    let error = other_filters.stream().next().await.unwrap().unwrap_err();
    assert_eq!(
        (error.status().unwrap().as_u16(), error.cursor()),
        (400, first.next_cursor.as_deref())
    );
}

type PendingRequests = Arc<AtomicUsize>;

/// Counts a connection's request as pending until the response arrives.
struct CountPending {
    pending: PendingRequests,
    is_pending: bool,
}

impl ReadAlong for CountPending {
    fn request(&mut self, bytes: &mut Vec<u8>) {
        if !bytes.is_empty() && !std::mem::replace(&mut self.is_pending, true) {
            self.pending.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn answer(&mut self, _: &mut Vec<u8>) {
        if std::mem::take(&mut self.is_pending) {
            self.pending.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Advances the server's clock and the paused clock of this runtime together, in steps of 0.1 s.
///
/// Tokio advances a paused clock as soon as all tasks are idle, even if a task waits for the
/// server. So while a request is pending, this function yields in a loop and is never idle.
async fn advance_clocks(clock: Arc<ManualClock>, pending: PendingRequests) {
    const TICK: Duration = Duration::from_millis(100);
    loop {
        while pending.load(Ordering::Relaxed) > 0 {
            tokio::task::yield_now().await;
        }
        clock.advance(TICK);
        tokio::time::sleep(TICK).await;
    }
}

/// Cancels 200 orders concurrently on the Free plan, with `clients` independent clients that share
/// one key. Returns the failed attempts, and the elapsed time on the simulated clock.
fn cancel_two_hundred(clients: usize) -> (Vec<String>, Duration) {
    let server_runtime = tokio::runtime::Runtime::new().unwrap();
    let setup = TestSetup::new();
    let key = setup.key(Plan::Free);
    setup.pending(1..=200);
    let server = server_runtime.block_on(setup.serve());
    let failed = Arc::new(Mutex::new(Vec::new()));
    let client = |address| {
        let failed = failed.clone();
        Client::builder(format!("http://{address}/v1"), &key.text)
            .retry(RetryPolicy::default().total(Duration::from_secs(300)))
            .on_attempt(move |attempt| match attempt.outcome {
                Ok(status) if status.is_success() => {}
                _ => failed.lock().unwrap().push(attempt.to_string()),
            })
            .build()
            .unwrap()
    };
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build().unwrap();
    let passed = runtime.block_on(async {
        let pending = PendingRequests::default();
        let relay_pending = pending.clone();
        let relay = Relay::read_along(server.proxy_address().port(), move || CountPending {
            pending: relay_pending.clone(),
            is_pending: false,
        })
        .unwrap();
        tokio::spawn(advance_clocks(server.setup.clock.clone(), pending));
        let clients: Vec<_> = (0..clients).map(|_| client(relay.address())).collect();
        let began = tokio::time::Instant::now();
        let cancel = |(id, client): (i64, &Client)| {
            let client = client.clone();
            tokio::spawn(async move { client.cancel_order(id).await })
        };
        for call in (1..=200).zip(clients.iter().cycle()).map(cancel).collect::<Vec<_>>() {
            call.await.unwrap().unwrap();
        }
        began.elapsed()
    });
    let failed = std::mem::take(&mut *failed.lock().unwrap());
    assert!(failed.iter().all(|line| line.contains("429 Too Many Requests")), "{failed:#?}");
    (failed, passed)
}

#[test]
fn two_hundred_cancels_at_once_on_the_free_plan_all_succeed_without_a_ban() {
    let (refused, passed) = cancel_two_hundred(1);
    // At 60 requests a minute, the last of the 200 requests are sent after 180 s. Jitter adds at
    // most a second per window. A ban would add five minutes.
    assert!((180..190).contains(&passed.as_secs()), "{passed:?}");
    // The client sends one request too early in each of the three exhausted windows. The client
    // cannot compute when a window resets, because in this test the reset time and `Date` come from
    // different clocks.
    assert_eq!(refused.len(), 3, "{refused:#?}");
}

#[test]
fn independent_clients_of_one_key_are_not_banned() {
    let (_, passed) = cancel_two_hundred(3);
    assert!((180..200).contains(&passed.as_secs()), "{passed:?}");
}
