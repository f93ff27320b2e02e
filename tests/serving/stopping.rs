//! How the program comes to its end.

use crate::harness::Key;
use crate::harness::program::{Program, QUIETLY, directory_with, until};
use std::os::unix::net::UnixDatagram;
use store_orders::store::sqlite::SqliteStore;
use store_orders_api::plans::Plan;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// So many orders are more than the system buffers for a client that reads
/// nothing: 7 MB.
const MANY: i64 = 100_000;

/// A client that has asked for the list and read no more than that it comes.
async fn slow_reader(server: &Program, key: &Key) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(8 * 1024).unwrap();
    let address = server.origin().strip_prefix("http://").unwrap().parse().unwrap();
    let mut reader = socket.connect(address).await.unwrap();
    let bearer = format!("Authorization: Bearer {}", key.text);
    let request = format!("GET /v1/store/orders HTTP/1.1\r\nHost: a\r\n{bearer}\r\n\r\n");
    reader.write_all(request.as_bytes()).await.unwrap();
    let mut status = [0; 17];
    reader.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 200 OK\r\n");
    reader
}

async fn is_stopping(server: &Program) {
    until("it says that it stops", || async { server.log().contains("\"stopping\"") }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_during_a_list_finishes_it_and_exits_0() {
    let directory = directory_with(MANY);
    let key = Key::of_a_new_account(directory.path(), Plan::Free);
    let server = Program::serve(directory.path(), &QUIETLY);
    let mut reader = slow_reader(&server, &key).await;
    server.signal("TERM");
    is_stopping(&server).await;
    // Where the system lets it: a client that comes now is told so at once.
    if !server.log().contains("refuses no connection") {
        let address = server.origin().strip_prefix("http://").unwrap();
        until("connections are refused", || async { TcpStream::connect(address).await.is_err() })
            .await;
    }
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).await.unwrap();
    let body = rest.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    let orders: Vec<serde_json::Value> = serde_json::from_slice(&rest[body..]).unwrap();
    assert_eq!(orders.len() as i64, MANY);
    let (ended, log) = server.ended().await;
    assert_eq!(ended.code(), Some(0), "{log}");
    assert!(!log.contains("did not finish in time"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_reads_holds_up_the_end_no_longer_than_allowed() {
    let directory = directory_with(MANY);
    let key = Key::of_a_new_account(directory.path(), Plan::Free);
    let short = [&QUIETLY[..], &["--stop-within", "1s"]].concat();
    let server = Program::serve(directory.path(), &short);
    let reader = slow_reader(&server, &key).await;
    server.signal("INT");
    let (ended, log) = server.ended().await;
    assert_eq!(ended.code(), Some(0), "{log}");
    assert!(log.contains("did not finish in time"), "{log}");
    drop(reader);
    // The request that was cut off was counted, and that was written.
    let server = Program::serve(directory.path(), &QUIETLY);
    let answer = reqwest::Client::new()
        .get(format!("{}/nowhere", server.base()))
        .bearer_auth(&key.text)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.headers()["x-ratelimit-remaining"], "58");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_it_at_once() {
    let directory = directory_with(MANY);
    let key = Key::of_a_new_account(directory.path(), Plan::Free);
    // Longer than this test waits.
    let long = [&QUIETLY[..], &["--stop-within", "1h"]].concat();
    for (signal, status) in [("TERM", 143), ("INT", 130)] {
        let server = Program::serve(directory.path(), &long);
        let reader = slow_reader(&server, &key).await;
        server.signal("TERM");
        is_stopping(&server).await;
        server.signal(signal);
        let (ended, log) = server.ended().await;
        assert_eq!(ended.code(), Some(status), "{log}");
        assert!(log.contains("told a second time to stop"), "{log}");
        drop(reader);
    }
    SqliteStore::open(directory.path()).unwrap();
}

#[tokio::test]
async fn systemd_is_told_when_it_is_ready_and_when_it_stops() {
    let directory = directory_with(1);
    let path = directory.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(crate::harness::program::LONGEST)).unwrap();
    let data = directory.path().to_str().unwrap();
    let arguments = [&["serve", "--data-dir", data], &QUIETLY[..]].concat();
    let server = Program::run(directory.path(), &arguments, &[("NOTIFY_SOCKET", &path)]);
    let heard = || {
        let mut text = [0; 100];
        let length = socket.recv(&mut text).unwrap();
        String::from_utf8(text[..length].to_vec()).unwrap()
    };
    assert_eq!(heard(), "READY=1\n");
    server.signal("TERM");
    assert_eq!(heard(), "STOPPING=1\n");
    assert_eq!(server.ended().await.0.code(), Some(0));
}
