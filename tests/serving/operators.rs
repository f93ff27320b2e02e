//! The operators' listener: whether it is there, and what it says of the server.

use super::{MANY, rest_of_list, slow_reader};
use crate::harness::program::until;
use crate::harness::program::{Program, directory_with};
use crate::harness::stores::{Fault, FaultyStore};
use crate::harness::{TestServer, World};
use std::net::TcpListener;
use std::time::Duration;
use store_orders::config::AdminListen;
use store_orders_api::plans::Plan;

/// The status and the body of what operators are answered.
pub async fn ask(origin: &str, path: &str) -> (u16, String) {
    let response = reqwest::get(format!("{origin}{path}")).await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// A world whose server listens for operators.
pub fn world() -> World {
    let mut world = World::new();
    world.config.admin_listen = AdminListen::At("127.0.0.1:0".parse().unwrap());
    world
}

/// Where this server listens for operators.
pub fn operators(server: &TestServer) -> String {
    format!("http://{}", server.operators_address().unwrap())
}

#[tokio::test]
async fn a_server_that_works_is_alive_and_ready() {
    let server = world().serve().await;
    let origin = operators(&server);
    assert_eq!(ask(&origin, "/livez").await, (200, r#"{"state":"live"}"#.to_string()));
    assert_eq!(ask(&origin, "/readyz").await, (200, r#"{"state":"ready"}"#.to_string()));
    // Nothing of it is on the listener of the API.
    assert_eq!(server.send("GET", "/readyz", &[]).await.status, 401);
    assert_eq!(server.send("GET", "/metrics", &[]).await.status, 401);
}

#[tokio::test]
async fn a_server_whose_store_fails_is_not_ready_until_it_works_again() {
    let mut world = world();
    let faulty = FaultyStore::new(&world.store);
    world.served = Some(faulty.clone());
    let server = world.serve().await;
    let origin = operators(&server);
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
    let world = world();
    world.pending(1..=MANY);
    let key = world.key(Plan::Free);
    let server = world.serve().await;
    let origin = operators(&server);
    let reader = slow_reader(server.untapped_address(), &key).await;
    let stopping = tokio::spawn(server.stop());
    until("it is not ready", || async { ask(&origin, "/readyz").await.0 == 503 }).await;
    assert!(ask(&origin, "/readyz").await.1.contains("the server is stopping"));
    assert_eq!(ask(&origin, "/livez").await.0, 200);
    assert!(!stopping.is_finished());
    assert_eq!(rest_of_list(reader).await.len() as i64, MANY);
    stopping.await.unwrap();
    assert!(reqwest::get(format!("{origin}/livez")).await.is_err(), "its listener is still there");
}

#[tokio::test]
async fn its_address_is_printed_before_the_servers() {
    let directory = directory_with(1);
    let arguments = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
    let server = Program::serve(directory.path(), &arguments);
    assert_eq!(server.printed.len(), 2, "{:?}", server.printed);
    assert!(server.printed[0].starts_with("operators on http://127.0.0.1:"));
    assert!(server.printed[1].starts_with("listening on http://127.0.0.1:"));
    assert_eq!(ask(server.operators().unwrap(), "/readyz").await.0, 200);
}

#[tokio::test]
async fn it_can_be_done_without() {
    let directory = directory_with(1);
    let off = ["--listen", "127.0.0.1:0", "--admin-listen", "off"];
    let server = Program::serve(directory.path(), &off);
    assert_eq!(server.operators(), None);
    drop(server);
    let demo = Program::run(directory.path(), &["demo", "--listen", "127.0.0.1:0"], &[]);
    assert_eq!(demo.operators(), None, "{:?}", demo.printed);
}

#[tokio::test]
async fn a_chosen_port_that_is_taken_is_an_error() {
    let directory = directory_with(1);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let arguments = ["--listen", "127.0.0.1:0", "--admin-listen", address.as_str()];
    let server = Program::serve(directory.path(), &arguments);
    assert!(server.printed.is_empty(), "{:?}", server.printed);
    let (ended, log) = server.ended().await;
    assert_eq!(ended.code(), Some(1));
    assert!(log.contains(&format!("cannot listen on {address} for operators")), "{log}");
}

async fn taken_by_us(address: &str) -> Option<TcpListener> {
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
    // By this; or by a server of another test, which is waited for; or by one that
    // has nothing to do with us and stays.
    let _taken = taken_by_us("127.0.0.1:8081").await;
    let directory = directory_with(1);
    let server = Program::serve(directory.path(), &["--listen", "127.0.0.1:0"]);
    assert_eq!(server.operators(), None);
    assert!(server.origin().starts_with("http://127.0.0.1:"));
    until("a warning", || async {
        let log = server.log();
        log.lines().any(|line| line.contains("\"WARN\"") && line.contains("127.0.0.1:8081"))
    })
    .await;

    // But chosen, the same port is like any other.
    let other = directory_with(1);
    let chosen = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:8081"];
    assert_eq!(Program::serve(other.path(), &chosen).ended().await.0.code(), Some(1));
}

#[tokio::test]
async fn what_operators_ask_is_counted_nowhere() {
    let server = world().serve().await;
    let remaining = async || server.send("GET", "/v1", &[]).await.number("x-ratelimit-remaining");
    assert_eq!(remaining().await, 999);
    for _ in 0..3 {
        ask(&operators(&server), "/readyz").await;
    }
    assert_eq!(remaining().await, 998);
}
