//! Tests the span of each call and the events of its retries.

use crate::scripted::{Reply, ScriptedServer};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;
use store_orders_client::{CancelOrderOutcome, Client, RetryPolicy};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Metadata, Subscriber};

const KEY: &str = "sto_test_0123456789abcdefghijklmnopqrstuvwxyz";

/// The fields of a span or an event. The recorder adds the field `target`, and for an event also
/// `level`.
#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

/// A subscriber that records all spans and events, at every level and of every crate.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<Fields>>>);

impl Recorder {
    /// Adds a span or an event, and returns its number. Numbers begin at 1, because [`Id`] cannot
    /// be 0.
    fn add(&self, metadata: &Metadata<'_>, record: impl FnOnce(&mut Fields)) -> u64 {
        let mut fields = Fields(BTreeMap::from([("target", metadata.target().to_string())]));
        record(&mut fields);
        let mut all = self.0.lock().unwrap();
        all.push(fields);
        all.len() as u64
    }

    fn lines(&self, events: bool) -> Vec<String> {
        let all = self.0.lock().unwrap();
        let records = all.iter().filter(|fields| fields.0["target"] == "store_orders_client");
        let records = records.filter(|fields| fields.0.contains_key("level") == events);
        let line = |Fields(fields): &Fields| {
            let shown = fields.iter().filter(|(name, _)| **name != "target");
            shown.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        };
        records.map(line).collect()
    }
}

/// A second subscriber, so that `tracing` asks all subscribers whether to record a span.
///
/// With only one subscriber, `tracing` asks only on the thread that first reaches the span's code,
/// and caches the answer for all threads. If that thread's test has no subscriber, no other test
/// could record the span.
static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Recorder::default()));

fn record_here() -> (Recorder, DefaultGuard) {
    LazyLock::force(&SECOND);
    let recorder = Recorder::default();
    let default = tracing::subscriber::set_default(recorder.clone());
    tracing::callsite::rebuild_interest_cache();
    (recorder, default)
}

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        Id::from_u64(self.add(span.metadata(), |fields| span.record(fields)))
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut all = self.0.lock().unwrap();
        values.record(&mut all[span.into_u64() as usize - 1]);
    }

    fn event(&self, event: &Event<'_>) {
        self.add(event.metadata(), |fields| {
            event.record(fields);
            fields.0.insert("level", event.metadata().level().to_string());
        });
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn each_call_is_one_span_with_its_result_and_without_the_key() {
    let server = ScriptedServer::start([
        Reply::json(503, "").header("x-request-id: a"),
        Reply::json(409, r#"{"code":"order_already_shipped","message":"Gone.","status":409}"#)
            .header("x-request-id: b"),
        Reply::json(200, "[]"),
        Reply::json(200, r#"{"id":7,"name":"Rex"}"#),
        Reply::json(504, ""),
        Reply::json(504, "").header("x-request-id: c"),
    ])
    .await;
    let policy = RetryPolicy::default().first_wait(Duration::from_millis(2)).attempts(2);
    let client = Client::builder(&server.base_url, KEY).retry(policy).build().unwrap();

    let (recorder, default) = record_here();
    client.cancel_order(1042).await.unwrap_err();
    client.list_orders().await.unwrap();
    #[expect(deprecated, reason = "it still has a span")]
    client.get_pet(7).await.unwrap();
    client.list_orders().await.unwrap_err();
    drop(default);

    let spans = recorder.lines(false);
    let error = "error=409 order_already_shipped: Gone. (request id b, after 2 attempts)";
    let failed = "error=504 Gateway Timeout: not an error of the API, so a proxy may have \
                  answered (request id c, after 2 attempts)";
    assert_eq!(
        spans,
        [
            &format!(
                "attempts=2 {error} operation=\"cancel_order\" order_id=1042 request_id=\"b\" \
                 status=409"
            ),
            "attempts=1 operation=\"list_orders\" status=200",
            "attempts=1 operation=\"get_pet\" pet_id=7 status=200",
            &format!("attempts=2 {failed} operation=\"list_orders\" request_id=\"c\" status=504"),
        ]
    );
    // Retries have the level `WARN`, which `tracing_subscriber::fmt` prints by default.
    let events = recorder.lines(true);
    let [first, second] = events.as_slice() else { panic!("{events:?}") };
    let retry = "level=WARN message=cancel_order, attempt 1: 503 Service Unavailable \
                 (request id a); next attempt in ";
    assert!(first.starts_with(retry), "{first}");
    let retry = "level=WARN message=list_orders, attempt 1: 504 Gateway Timeout; next attempt in ";
    assert!(second.starts_with(retry), "{second}");
    let all = recorder.0.lock().unwrap();
    for (name, value) in all.iter().flat_map(|fields| &fields.0) {
        assert!(!value.contains("0123456789abcdef"), "{name} shows the key");
    }
}

#[tokio::test]
async fn each_page_of_version_2_is_one_span() {
    let server = ScriptedServer::start([
        Reply::json(200, r#"{"orders":[],"nextCursor":"a"}"#),
        Reply::json(200, r#"{"orders":[]}"#),
    ])
    .await;
    let client = store_orders_client::Client::new(&server.base_url, KEY).unwrap().v2();
    let (recorder, default) = record_here();
    assert!(client.list_orders().pet_id(7).stream().next().await.is_none());
    drop(default);
    let spans = recorder.lines(false);
    assert_eq!(spans, ["attempts=1 operation=\"list_orders\" pet_id=7 status=200"; 2]);
}

/// "Not modified" and "gone, probably cancelled by this call" are not errors, so their spans must
/// not have an error.
#[tokio::test]
async fn the_span_of_a_success_has_no_error() {
    let not_found = r#"{"code":"order_not_found","message":"Gone.","status":404}"#;
    let server = ScriptedServer::start([
        Reply::json(304, ""),
        Reply::json(304, ""),
        Reply::json(304, ""),
        Reply::json(503, ""),
        Reply::json(404, not_found),
    ])
    .await;
    let policy = RetryPolicy::default().first_wait(Duration::from_millis(2));
    let v1 = Client::builder(&server.base_url, KEY).retry(policy).build().unwrap();
    let v2 = v1.v2();
    let (recorder, default) = record_here();
    assert_eq!(*v1.list_orders_if_changed("\"a\"").await.unwrap(), None);
    assert_eq!(*v2.list_orders().send_if_changed("\"a\"").await.unwrap(), None);
    assert_eq!(*v2.get_order_if_changed(7, "\"a\"").await.unwrap(), None);
    assert_eq!(*v2.cancel_order(7).await.unwrap(), CancelOrderOutcome::AlreadyGone);
    drop(default);
    assert_eq!(
        recorder.lines(false),
        [
            "attempts=1 operation=\"list_orders\" status=304",
            "attempts=1 operation=\"list_orders\" status=304",
            "attempts=1 operation=\"get_order\" order_id=7 status=304",
            "attempts=2 operation=\"cancel_order\" order_id=7 status=404",
        ]
    );
}
