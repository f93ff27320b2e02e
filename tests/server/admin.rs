//! The admin listener: whether it listens, and its health checks.

use super::{MANY_ORDERS, data_with, rest_of_list, slow_reader};
use crate::limits::unavailable::Unreachable;
use std::net::TcpListener;
use std::time::Duration;
use store_orders::config::AdminListen;
use store_orders_api::plans::Plan;
use testbed::in_process::{CapturedLog, Fault, TestServer, TestSetup};
use testbed::{CliSandbox, ServerProcess, wait_until};

/// The status and the body of what the admin listener answers.
pub async fn ask(origin: &str, path: &str) -> (u16, String) {
    let response = reqwest::get(format!("{origin}{path}")).await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// A setup whose server has an admin listener.
pub fn setup() -> TestSetup {
    let mut setup = TestSetup::new();
    setup.config.admin_listen = AdminListen::At("127.0.0.1:0".parse().unwrap());
    setup
}

/// The admin listener of this server.
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
    // Nothing of it is on the listener of the API.
    assert_eq!(server.send("GET", "/readyz", &[]).await.status, 401);
    assert_eq!(server.send("GET", "/metrics", &[]).await.status, 401);
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
        assert_eq!(ask(&origin, "/livez").await.0, 200);
        assert_eq!(ask(&origin, "/metrics").await.0, 200);
        faulty.set(Fault::None);
        assert_eq!(ask(&origin, "/readyz").await.0, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_list_still_goes_out_the_server_is_alive_and_not_ready() {
    let setup = setup();
    setup.pending(1..=MANY_ORDERS);
    let key = setup.key(Plan::Free);
    let server = setup.serve().await;
    let origin = admin_origin(&server);
    let reader = slow_reader(server.untapped_address(), &key).await;
    let stopping = tokio::spawn(server.stop());
    wait_until("it is not ready", || async { ask(&origin, "/readyz").await.0 == 503 }).await;
    assert!(ask(&origin, "/readyz").await.1.contains("the server is stopping"));
    assert_eq!(ask(&origin, "/livez").await.0, 200);
    assert!(!stopping.is_finished());
    assert_eq!(rest_of_list(reader).await.len() as i64, MANY_ORDERS);
    stopping.await.unwrap();
    assert!(reqwest::get(format!("{origin}/livez")).await.is_err(), "its listener is still there");
}

#[tokio::test]
async fn its_address_is_printed_before_the_servers() {
    let (data, _) = data_with(1);
    let server = data.serve(&["--admin-listen", "127.0.0.1:0"]).unwrap();
    let printed = server.printed();
    assert_eq!(printed.len(), 2, "{printed:?}");
    assert!(printed[0].starts_with("operators on http://127.0.0.1:"));
    assert!(printed[1].starts_with("listening on http://127.0.0.1:"));
    assert_eq!(ask(server.printed_after("operators on ").unwrap(), "/readyz").await.0, 200);
}

#[test]
fn it_can_be_switched_off() {
    let (data, _) = data_with(1);
    let server = data.serve(&["--admin-listen", "off"]).unwrap();
    assert_eq!(server.printed().len(), 1, "{:?}", server.printed());
    drop(server);
    let sandbox = CliSandbox::new();
    let mut demo = sandbox.command(&["demo", "--listen", "127.0.0.1:0"]);
    let demo = ServerProcess::start(&mut demo, &sandbox.path("log")).unwrap();
    assert_eq!(demo.printed_after("operators on "), None, "{:?}", demo.printed());
}

#[test]
fn a_chosen_port_that_is_taken_is_an_error() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let command = ["serve", "--listen", "127.0.0.1:0", "--admin-listen", &address];
    let error = CliSandbox::new().run(&command).failed_server();
    assert!(error.starts_with(&format!("cannot listen on {address}: ")), "{error}");
    assert!(error.ends_with("--admin-listen"), "{error}");
}

/// The address, if it becomes free within some time.
async fn bound_by_us(address: &str) -> Option<TcpListener> {
    for _ in 0..300 {
        match TcpListener::bind(address) {
            Ok(taken) => return Some(taken),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
    None
}

#[tokio::test]
async fn the_default_port_may_be_taken() {
    // By this test; or by a server of another test, which is waited for; or by a
    // program that has nothing to do with us and stays.
    let _taken = bound_by_us("127.0.0.1:8081").await;
    let sandbox = CliSandbox::new();
    let mut serve = sandbox.command(&["serve", "--listen", "127.0.0.1:0"]);
    let server = ServerProcess::start(&mut serve, &sandbox.path("log")).unwrap();
    assert_eq!(server.printed().len(), 1, "{:?}", server.printed());
    wait_until("a warning", || async {
        let log = server.log();
        log.lines().any(|line| line.contains("\"WARN\"") && line.contains("127.0.0.1:8081"))
    })
    .await;

    // But chosen, the same port is like any other.
    let chosen = ["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:8081"];
    assert_eq!(CliSandbox::new().run(&chosen).status, 1);
}

#[tokio::test]
async fn its_requests_are_not_counted() {
    let server = setup().serve().await;
    let remaining = async || server.send("GET", "/v1", &[]).await.number("x-ratelimit-remaining");
    assert_eq!(remaining().await, 999);
    for _ in 0..3 {
        ask(&admin_origin(&server), "/readyz").await;
    }
    assert_eq!(remaining().await, 998);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_store_is_named_and_refused_if_the_operator_chose_so() {
    for (damages, refuses, status) in [(false, true, 200), (true, false, 200), (true, true, 503)] {
        let log = CapturedLog::new();
        let mut setup = setup().with_log(&log);
        setup.config.refuse_damaged = refuses;
        setup.pending(1..=3);
        if damages {
            let spoil = "PRAGMA ignore_check_constraints = ON; UPDATE orders SET quantity = 0";
            let store = rusqlite::Connection::open(setup.store.path()).unwrap();
            store.execute_batch(spoil).unwrap();
        }
        let server = setup.serve().await;
        let origin = admin_origin(&server);
        let (level, event) =
            if damages { ("ERROR", "is damaged") } else { ("INFO", "no damage found") };
        let logged = || async {
            let lines = log.lines(level);
            lines.iter().any(|line| line["msg"].as_str().unwrap().contains(event))
        };
        wait_until("the check ends", logged).await;
        let gauge = format!("store_orders_store_damaged {}\n", i32::from(damages));
        let shown = || async { ask(&origin, "/metrics").await.1.contains(&gauge) };
        wait_until("the metrics have it", shown).await;
        let answered = || async {
            let (found, body) = ask(&origin, "/readyz").await;
            found == status && body.contains("CHECK constraint failed in orders") == damages
        };
        wait_until("it is ready or not", answered).await;
    }
}

#[tokio::test]
async fn limits_that_are_lost_are_shown_to_the_operator() {
    let server = setup().with_limits(Unreachable::new(Duration::from_secs(1))).serve().await;
    let origin = admin_origin(&server);
    let ready = ask(&origin, "/readyz").await;
    let why = "requests cannot be counted: no answer";
    assert!(ready.0 == 503 && ready.1.contains(why), "{ready:?}");
    let health = |url: String| CliSandbox::new().run(&["health", "--url", &url]);
    let asked = tokio::task::spawn_blocking(move || health(format!("{origin}/readyz")));
    let output = asked.await.unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(said.contains("no answer") && output.status == 1, "{said}");
}
