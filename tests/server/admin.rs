//! The admin listener: its address, its health checks, and switching it off.

use super::{MANY_ORDERS, data_with, rest_of_list, slow_reader};
use crate::limits::unavailable::Unreachable;
use futures::future::join_all;
use std::time::Duration;
use store_orders::config::AdminListen;
use store_orders_api::plans::Plan;
use test_server::{Fault, TestServer, TestSetup};
use testbed::{CliSandbox, ServerProcess, wait_until};

pub async fn ask(origin: &str, path: &str) -> (u16, String) {
    let response = reqwest::get(format!("{origin}{path}")).await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// Creates a setup with an admin listener, which test servers do not have by default.
pub fn setup() -> TestSetup {
    let mut setup = TestSetup::new();
    setup.config.admin_listen = AdminListen::At("127.0.0.1:0".parse().unwrap());
    setup
}

pub fn admin_origin(server: &TestServer) -> String {
    format!("http://{}", server.admin_address().unwrap())
}

#[tokio::test]
async fn a_server_that_works_is_alive_and_ready() {
    let server = setup().serve().await;
    let origin = admin_origin(&server);
    assert_eq!(ask(&origin, "/livez").await, (200, r#"{"state":"live"}"#.to_string()));
    assert_eq!(ask(&origin, "/readyz").await, (200, r#"{"state":"ready"}"#.to_string()));
    for path in ["/livez", "/readyz"] {
        let url = format!("{origin}{path}");
        let head = reqwest::Client::new().head(url).send().await.unwrap();
        assert_eq!((head.status().as_u16(), head.text().await.unwrap().as_str()), (200, ""));
    }
    // On the API's listener, these paths do not exist, and requests for them count as requests
    // without a key. The requests to the admin listener above are not counted.
    for (path, remaining) in [("/readyz", 999), ("/metrics", 998)] {
        let answer = server.send("GET", path, &[]).await;
        answer.assert_error(404, "not_found");
        assert_eq!(answer.number("x-ratelimit-remaining"), remaining);
    }
}

#[tokio::test]
async fn a_server_whose_store_fails_is_not_ready_until_it_works_again() {
    let mut setup = setup();
    let faulty = setup.add_faulty_store();
    let server = setup.serve().await;
    let origin = admin_origin(&server);
    for fault in [Fault::Fails, Fault::Panics] {
        faulty.set(fault);
        let (status, body) = ask(&origin, "/readyz").await;
        assert_eq!(status, 503, "{body}");
        let unready: serde_json::Value = serde_json::from_str(&body).unwrap();
        let fields: Vec<_> = unready.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["state", "reason", "message"], "{body}");
        assert_eq!([&unready["state"], &unready["reason"]], ["unready", "store_unreachable"]);
        assert_eq!(ask(&origin, "/livez").await.0, 200);
        expect_metrics(&origin, "store_unreachable", 0, 0).await;
        faulty.set(Fault::None);
        assert_eq!(ask(&origin, "/readyz").await.0, 200);
        expect_metrics(&origin, "", 1, 1).await;
    }
}

/// Checks the readiness metrics. Each scrape updates them, so they are current even if the API gets
/// no requests.
async fn expect_metrics(origin: &str, reason: &str, ready: u8, reachable: u8) {
    let (status, metrics) = ask(origin, "/metrics").await;
    assert_eq!(status, 200);
    let samples: Vec<&str> = metrics.lines().filter(|line| line.contains("ready{")).collect();
    for sample in samples {
        let is_reason = sample.contains(&format!("reason=\"{reason}\""));
        assert!(sample.ends_with(if is_reason { " 1" } else { " 0" }), "{sample}");
    }
    for sample in [
        format!("store_orders_ready {ready}"),
        format!("store_orders_store_reachable {reachable}"),
        "store_orders_standbys_required 0".to_string(),
    ] {
        assert!(metrics.lines().any(|line| line == sample), "{sample}: {metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_that_still_sends_a_list_is_alive_and_not_ready() {
    let setup = setup();
    setup.pending(1..=MANY_ORDERS);
    let key = setup.key(Plan::Free);
    let server = setup.serve().await;
    let origin = admin_origin(&server);
    let reader = slow_reader(server.direct_address(), &key).await;
    let stopping = tokio::spawn(server.stop());
    wait_until("the server is not ready", || async { ask(&origin, "/readyz").await.0 == 503 })
        .await;
    assert!(ask(&origin, "/readyz").await.1.contains("the server is stopping"));
    assert_eq!(ask(&origin, "/livez").await.0, 200);
    assert!(!stopping.is_finished());
    assert_eq!(rest_of_list(reader).await.len() as i64, MANY_ORDERS);
    stopping.await.unwrap();
    assert!(
        reqwest::get(format!("{origin}/livez")).await.is_err(),
        "the admin listener is still open"
    );
}

#[tokio::test]
async fn the_admin_address_is_printed_before_the_servers_address() {
    let (data, _) = data_with(1);
    let server = data.serve(&["--admin-listen", "127.0.0.1:0"]).unwrap();
    let printed = server.printed();
    assert_eq!(printed.len(), 2, "{printed:?}");
    assert!(printed[0].starts_with("admin listener on http://127.0.0.1:"));
    assert!(printed[1].starts_with("listening on http://127.0.0.1:"));
    assert_eq!(ask(server.printed_after("admin listener on ").unwrap(), "/readyz").await.0, 200);
}

#[test]
fn the_admin_listener_can_be_switched_off() {
    let (data, _) = data_with(1);
    let server = data.serve(&["--admin-listen", "off"]).unwrap();
    assert_eq!(server.printed().len(), 1, "{:?}", server.printed());
    drop(server);
    let sandbox = CliSandbox::new();
    let mut demo = sandbox.command(&["demo", "--listen", "127.0.0.1:0"]);
    let demo = ServerProcess::start(&mut demo, &sandbox.path("log")).unwrap();
    assert_eq!(demo.printed_after("admin listener on "), None, "{:?}", demo.printed());
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_probes_of_a_hanging_store_share_one_check() {
    let mut setup = setup();
    let faulty = setup.add_faulty_store();
    let server = setup.serve().await;
    let origin = admin_origin(&server);
    faulty.set(Fault::Silent);
    let probes = join_all((0..5).map(|_| ask(&origin, "/readyz"))).await;
    let checks = faulty.readiness_checks();
    faulty.set(Fault::None);
    for (status, body) in probes {
        assert!(status == 503 && body.contains("the store does not answer"), "{body}");
    }
    assert_eq!(checks, 1);
    wait_until("the server is ready again", || async { ask(&origin, "/readyz").await.0 == 200 })
        .await;
}

#[tokio::test]
async fn unavailable_limits_are_shown_to_the_operator() {
    let server = setup().with_rate_limiter(Unreachable::new(Duration::from_secs(1))).serve().await;
    let origin = admin_origin(&server);
    let ready = ask(&origin, "/readyz").await;
    let why = "requests cannot be counted: no answer";
    assert!(ready.0 == 503 && ready.1.contains(why), "{ready:?}");
    expect_metrics(&origin, "counts_unavailable", 0, 1).await;
    let admin = origin.strip_prefix("http://").unwrap().to_string();
    let health = move || CliSandbox::new().run(&["health", "--admin-listen", &admin]);
    let running = tokio::task::spawn_blocking(health);
    let output = running.await.unwrap();
    let printed = [output.stdout, output.stderr].concat();
    assert!(printed.contains("no answer") && output.status == 1, "{printed}");
}
