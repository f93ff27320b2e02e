//! The limit on open files, which bounds the number of connections.

use super::data_with;
use testbed::{Signal, WAIT_TIMEOUT};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn a_low_soft_limit_on_open_files_is_raised() {
    let (data, _) = data_with(1);
    let server = data.serve_after("ulimit -S -n 64", &[]).unwrap();
    let address = server.address().unwrap();
    let mut connections = Vec::new();
    for _ in 0..200 {
        let mut connection = TcpStream::connect(address).await.unwrap();
        connection.write_all(b"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        let mut status = [0; 17];
        let answered = connection.read_exact(&mut status);
        tokio::time::timeout(WAIT_TIMEOUT, answered).await.expect("an answer").unwrap();
        assert_eq!(&status, b"HTTP/1.1 200 OK\r\n");
        // Keep all connections open. 200 connections exceed the soft limit of 64 open files.
        connections.push(connection);
    }
    drop(connections);
    server.signal(Signal::TERM).unwrap();
    let (_, log) = server.wait().unwrap();
    assert!(!log.contains("accept error"), "{log}");
}
