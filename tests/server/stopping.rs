//! Stopping a server: signals, time limits, the store's files and systemd.

use super::admin::ask;
use super::{MANY_ORDERS, data_with, rest_of_list, slow_reader};
use reqwest::Client;
use rustix::process::kill_process;
use std::fs::File;
#[cfg(target_os = "linux")]
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;
use std::process::ExitStatus;
use std::time::Duration;
use store_orders::store::sqlite::SqliteStore;
use test_server::wire_check::WireCheckProxy;
use testbed::{ChildProcess, Program, ServerProcess, Signal, WAIT_TIMEOUT, wait_until};
#[cfg(target_os = "linux")]
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn wait_until_stopping(server: &ServerProcess) {
    wait_until("the server is stopping", || async { server.log().contains("\"stopping\"") }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_during_a_list_finishes_it_and_exits_0() {
    let (data, key) = data_with(MANY_ORDERS);
    let server = data.serve(&[]).unwrap();
    let address = server.address().unwrap();
    let reader = slow_reader(address, &key).await;
    server.signal(Signal::TERM).unwrap();
    wait_until_stopping(&server).await;
    // Only on Linux can the server refuse connections while it still sends responses.
    if cfg!(target_os = "linux") {
        let rejected = || async { TcpStream::connect(address).await.is_err() };
        wait_until("connections are rejected", rejected).await;
    }
    assert_eq!(rest_of_list(reader).await.len() as i64, MANY_ORDERS);
    let (ended, log) = server.exited().await;
    assert_eq!(ended.code(), Some(0), "{log}");
    assert!(!log.contains("did not finish in time"), "{log}");
}

/// A load balancer may send requests for a while after the server has become unready.
#[tokio::test(flavor = "multi_thread")]
async fn requests_are_answered_during_the_delay_after_the_server_became_unready() {
    let (data, key) = data_with(1);
    let delay = Duration::from_secs(3);
    let flags = ["--stop-delay", "3s", "--admin-listen", "127.0.0.1:0"];
    let server = data.serve(&flags).unwrap();
    let admin = server.printed_after("admin listener on ").unwrap().to_string();
    let url = format!("{}/store/orders", server.base_url());
    let signalled = std::time::Instant::now();
    server.signal(Signal::TERM).unwrap();
    let is_unready = || async { ask(&admin, "/readyz").await.0 == 503 };
    wait_until("the server is not ready", is_unready).await;
    // Use a new client, so that the server must still accept a connection.
    let answer = reqwest::Client::new().get(url).bearer_auth(&key.text).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let (ended, log) = server.exited().await;
    assert_eq!(ended.code(), Some(0), "{log}");
    assert!(signalled.elapsed() >= delay && ends_with_stopped(&log), "{log}");

    let server = data.serve(&["--stop-delay", "1h"]).unwrap();
    server.signal(Signal::TERM).unwrap();
    wait_until_stopping(&server).await;
    let (ended, log) = signal_until_exit(server, Signal::TERM).await;
    assert_eq!(ended.code(), Some(143), "{log}");
}

/// During the stop delay, the server asks HTTP/1.1 clients to close their connections. Otherwise,
/// the server might close an idle connection just when a client sends a request. The request would
/// be lost.
#[tokio::test(flavor = "multi_thread")]
async fn responses_close_their_connections_during_the_delay() {
    let (data, key) = data_with(1);
    let server = data.serve(&["--stop-delay", "1h"]).unwrap();
    let http2 = Client::builder().http2_prior_knowledge().build().unwrap();
    let connection = async |client: &Client, path| {
        let url = format!("{}{path}", server.origin());
        let answer = client.get(url).bearer_auth(&key.text).send().await.unwrap();
        answer.headers().get("connection").map(|value| value.to_str().unwrap().to_string())
    };
    let paths = ["/v1/store/orders", "/v1/nowhere", "/docs"];
    for path in paths {
        assert_eq!(connection(&Client::new(), path).await, None, "{path}");
    }
    server.signal(Signal::TERM).unwrap();
    wait_until_stopping(&server).await;
    for path in paths {
        assert_eq!(connection(&Client::new(), path).await.as_deref(), Some("close"), "{path}");
        assert_eq!(connection(&http2, path).await, None, "{path}");
    }
    server.kill().unwrap();
}

/// While the server stops, it accepts connections for a while, and then the OS refuses new
/// connections. Each accepted connection must get a response. The test needs Linux, because other
/// systems keep the listening socket open until the server exits.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn connections_are_answered_until_they_are_refused() {
    let (data, _) = data_with(1);
    // A fast machine sends more than the 1,000 requests a day that the key of `data_with` allows.
    let key = data.issue_enterprise_key("globex", 1_000_000, 1_000_000).unwrap();
    let server = data.serve(&["--stop-delay", "1s"]).unwrap();
    let address = server.address().unwrap();
    let request = key.http1("GET /v1/store/orders");
    let clients = (0..16).map(|_| {
        let request = request.clone();
        tokio::spawn(async move {
            loop {
                let mut connection = match TcpStream::connect(address).await {
                    Ok(connection) => connection,
                    Err(error) => return error.kind(),
                };
                let mut status = [0; 15];
                connection.write_all(&request).await.unwrap();
                connection.read_exact(&mut status).await.unwrap();
                assert_eq!(&status, b"HTTP/1.1 200 OK");
            }
        })
    });
    let clients: Vec<_> = clients.collect();
    server.signal(Signal::TERM).unwrap();
    for client in clients {
        assert_eq!(client.await.unwrap(), ErrorKind::ConnectionRefused);
    }
    assert_eq!(server.exited().await.0.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_reads_delays_the_exit_no_longer_than_allowed() {
    let (data, key) = data_with(MANY_ORDERS);
    let server = data.serve(&["--shutdown-timeout", "1s"]).unwrap();
    let reader = slow_reader(server.address().unwrap(), &key).await;
    server.signal(Signal::INT).unwrap();
    let (ended, log) = server.exited().await;
    assert_eq!(ended.code(), Some(0), "{log}");
    assert!(log.contains("did not finish in time"), "{log}");
    drop(reader);
    // The server counted the request whose response it cut off, and saved the count.
    let server = data.serve(&[]).unwrap();
    let proxy = WireCheckProxy::before(server.address().unwrap());
    let answer = reqwest::Client::new()
        .get(format!("{}/nowhere", proxy.base_url()))
        .bearer_auth(&key.text)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.headers()["x-ratelimit-remaining"], "998");
}

/// The test keeps a connection to the store open. Without this connection, SQLite itself would move
/// the WAL into the store's file when the server closes its last connection.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_stop_the_stores_file_is_complete_without_the_wal() {
    let (data, key) = data_with(5);
    let server = data.serve(&[]).unwrap();
    let (_proxy, client) = super::client(&server, &key);
    let open = SqliteStore::open(data.path()).unwrap();
    for id in 1..=5 {
        client.cancel_order(id).await.unwrap();
    }
    let log = data.path().join("store.sqlite-wal");
    assert!(log.metadata().unwrap().len() > 0);
    server.signal(Signal::TERM).unwrap();
    assert_eq!(server.exited().await.0.code(), Some(0));
    assert_eq!(log.metadata().unwrap().len(), 0);
    drop(open);

    // `reader` keeps a read transaction open, so the server cannot empty the WAL.
    let server = data.serve(&[]).unwrap();
    let reader = rusqlite::Connection::open(data.path().join("store.sqlite")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM orders").unwrap();
    data.issue_key("acme-2", "pro").unwrap();
    server.signal(Signal::TERM).unwrap();
    let (ended, text) = server.exited().await;
    assert_eq!((ended.code(), text.matches("write-ahead log not emptied").count()), (Some(0), 1));
    assert!(ends_with_stopped(&text), "{text}");
}

pub fn ends_with_stopped(log: &str) -> bool {
    log.lines().last().is_some_and(|line| line.contains(r#""msg":"stopped""#))
}

/// The command `timeout` signals a process and then its whole group, so the process gets two
/// signals. The second must not cut the shutdown short.
#[tokio::test]
async fn two_signals_at_once_count_as_one() {
    let (data, _) = data_with(1);
    let server = data.serve(&[]).unwrap();
    // The suspended process receives both signals when it continues.
    for signal in [Signal::STOP, Signal::TERM, Signal::INT, Signal::CONT] {
        server.signal(signal).unwrap();
    }
    let (ended, log) = server.exited().await;
    assert_eq!(ended.code(), Some(0), "{log}");
    assert!(ends_with_stopped(&log) && !log.contains("second signal"), "{log}");
}

/// Repeats the signal until the server exits. One repetition may not be enough, because the server
/// ignores a second signal within half a second after the first.
async fn signal_until_exit(server: ServerProcess, signal: Signal) -> (ExitStatus, String) {
    let pid = server.process().pid().unwrap();
    let exiting = tokio::spawn(server.exited());
    while !exiting.is_finished() {
        // An error means that the server has exited.
        let _ = kill_process(pid, signal);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    exiting.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_the_server_at_once() {
    let (data, key) = data_with(MANY_ORDERS);
    for (signal, status) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        // This timeout is longer than the test waits, so only the second signal can end the server.
        let server = data.serve(&["--shutdown-timeout", "1h"]).unwrap();
        let reader = slow_reader(server.address().unwrap(), &key).await;
        server.signal(Signal::TERM).unwrap();
        wait_until_stopping(&server).await;
        let (ended, log) = signal_until_exit(server, signal).await;
        assert_eq!(ended.code(), Some(status), "{log}");
        let message =
            "a second signal stopped the server with requests in progress on 1 connection\"";
        assert_eq!(log.contains(message), cfg!(target_os = "linux"), "{log}");
        drop(reader);
    }
    SqliteStore::open(data.path()).unwrap();
}

/// The listener accepts the connection but sends nothing, so the server is still opening its store
/// when the signals arrive.
#[test]
fn a_server_that_opens_its_store_survives_sighup_and_stops_at_sigterm() {
    let database = TcpListener::bind("127.0.0.1:0").unwrap();
    let store = format!("postgres://store@{}/store", database.local_addr().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let mut command = Program::built().unwrap().command();
    command.args(["serve", "--store", &store, "--listen", "127.0.0.1:0", "--admin-listen", "off"]);
    command.stderr(File::create(&log).unwrap());
    let mut server = ChildProcess::new(command.spawn().unwrap(), "the server");
    let _connection = database.accept().unwrap();
    server.signal(Signal::HUP).unwrap();
    server.signal(Signal::TERM).unwrap();
    let (ended, log) = (server.wait().unwrap(), std::fs::read_to_string(&log).unwrap());
    assert_eq!(ended.code(), Some(0), "{log}");
    assert!(ends_with_stopped(&log), "{log}");
}

#[test]
fn systemd_is_notified_of_readiness_health_and_the_stop() {
    let (data, _) = data_with(1);
    let path = data.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(WAIT_TIMEOUT)).unwrap();
    let mut command = data.command();
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "20000");
    let server = data.start(&mut command, &[]).unwrap();
    let received = || {
        let mut text = [0; 100];
        let length = socket.recv(&mut text).unwrap();
        String::from_utf8(text[..length].to_vec()).unwrap()
    };
    assert_eq!(received(), "READY=1\n");
    for _ in 0..3 {
        assert_eq!(received(), "WATCHDOG=1\n");
    }
    server.signal(Signal::TERM).unwrap();
    let stopping = std::iter::repeat_with(received).find(|text| text != "WATCHDOG=1\n");
    assert_eq!(stopping.as_deref(), Some("STOPPING=1\n"));
    assert_eq!(server.wait().unwrap().0.code(), Some(0));
}
