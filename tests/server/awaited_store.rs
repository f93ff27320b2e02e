//! Tests a server that starts while PostgreSQL is unreachable. `cargo xtask faults
//! postgres::awaited` tests a server whose PostgreSQL starts later.

use std::os::unix::net::UnixDatagram;
use test_server::unknown_key;
use testbed::{DataDir, Program, Signal, WAIT_TIMEOUT, free_address};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_starts_without_postgresql_and_answers_503() {
    let directory = tempfile::tempdir().unwrap();
    let closed = free_address().unwrap();
    let store = format!("postgres://store@{closed}/orders");
    let data = DataDir::on_store(&Program::built().unwrap(), directory.path(), &store);
    let path = directory.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(WAIT_TIMEOUT)).unwrap();
    let mut command = data.command();
    command.env("NOTIFY_SOCKET", &path);
    let server = data.start(&mut command, &["--admin-listen", "127.0.0.1:0"]).unwrap();
    // The server reports its start while it waits for the store, because systemd would otherwise
    // stop the server at the start timeout.
    let mut text = [0; 100];
    let length = socket.recv(&mut text).unwrap();
    assert_eq!(&text[..length], b"READY=1\n");

    let admin = server.printed_after("admin listener on ").unwrap();
    let ready = reqwest::get(format!("{admin}/readyz")).await.unwrap();
    assert_eq!(ready.status(), 503);
    let ready = ready.text().await.unwrap();
    assert!(ready.contains(r#""reason":"store_unreachable""#), "{ready}");
    assert!(ready.contains(&format!("{closed}: Connection refused")), "{ready}");
    assert_eq!(reqwest::get(format!("{admin}/livez")).await.unwrap().status(), 200);
    let list = reqwest::Client::new().get(format!("{}/store/orders", server.base_url()));
    let list = list.bearer_auth(unknown_key().text).send().await.unwrap();
    assert_eq!(list.status(), 503);
    assert!(list.headers().contains_key("retry-after"));
    server.signal(Signal::TERM).unwrap();
    let (status, log) = server.exited().await;
    assert!(status.success(), "{log}");
    let not_reached: Vec<_> =
        log.lines().filter(|line| line.contains("store not reached")).collect();
    assert!(matches!(not_reached[..], [line] if line.contains("Connection refused")), "{log}");
}
