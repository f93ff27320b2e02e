//! How the program comes to its end.

use super::{MANY, rest_of_list, slow_reader};
use crate::harness::Key;
use crate::harness::program::{Program, QUIETLY, directory_with, until};
use std::os::unix::net::UnixDatagram;
use store_orders::store::sqlite::SqliteStore;
use store_orders_api::plans::Plan;
use tokio::net::TcpStream;

async fn is_stopping(server: &Program) {
    until("it says that it stops", || async { server.log().contains("\"stopping\"") }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_during_a_list_finishes_it_and_exits_0() {
    let directory = directory_with(MANY);
    let key = Key::of_a_new_account(directory.path(), Plan::Free);
    let server = Program::serve(directory.path(), &QUIETLY);
    let reader = slow_reader(server.address(), &key).await;
    server.signal("TERM");
    is_stopping(&server).await;
    // Where the system lets it: a client that comes now is told so at once.
    if cfg!(target_os = "linux") {
        let refused = || async { TcpStream::connect(server.address()).await.is_err() };
        until("connections are refused", refused).await;
    }
    assert_eq!(rest_of_list(reader).await.len() as i64, MANY);
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
    let reader = slow_reader(server.address(), &key).await;
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
        let reader = slow_reader(server.address(), &key).await;
        server.signal("TERM");
        is_stopping(&server).await;
        server.signal(signal);
        let (ended, log) = server.ended().await;
        assert_eq!(ended.code(), Some(status), "{log}");
        assert!(log.contains("a second signal stopped the server"), "{log}");
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
