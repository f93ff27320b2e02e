//! A thousand clients connect at the same moment; none needs a second attempt.

use super::embedded::Embedded;
use crate::scenario::Tools;
use futures::future::join_all;
use std::time::{Duration, Instant};
use testbed::Report;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const CLIENTS: usize = 1_000;

/// The kernel repeats a lost SYN after a second. Within this shorter time, only a client whose
/// first SYN arrives can connect.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(950);

pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let store = Embedded::new(tools, 10)?;
    let server = store.serve()?;
    let address = server.address()?;
    let client = async || {
        let began = Instant::now();
        let mut connection = TcpStream::connect(address).await?;
        let connected = began.elapsed();
        let request = "GET /changelog HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        connection.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer).await?;
        std::io::Result::Ok((connected, answer.starts_with(b"HTTP/1.1 200 OK\r\n")))
    };
    let answers = join_all((0..CLIENTS).map(|_| client())).await;
    let answers = answers.into_iter().collect::<std::io::Result<Vec<_>>>()?;
    let answered = answers.iter().filter(|(_, answered)| *answered).count();
    report.expect(answered == CLIENTS, || format!("{answered} of {CLIENTS} clients were answered"));
    let slowest = answers.iter().map(|(took, _)| *took).max().unwrap_or_default();
    report.time(format!("the slowest of {CLIENTS} to connect"), slowest, CONNECT_TIMEOUT);
    server.stop()
}
