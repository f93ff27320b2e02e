//! The load generator. Each client sends its next request after it has received the previous
//! response.

use crate::connection::{Connection, block_on};
use anyhow::ensure;
use futures::TryStreamExt;
use futures::stream::FuturesUnordered;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

pub struct Load {
    pub clients: usize,
    /// The status that every response must have; any other status ends the benchmark.
    pub status: u16,
    pub requests: Box<dyn Iterator<Item = Vec<u8>>>,
}

impl Load {
    pub fn same(clients: usize, status: u16, request: Vec<u8>) -> Load {
        Load { clients, status, requests: Box::new(std::iter::repeat(request)) }
    }

    /// Sends requests until `span` has passed or no request is left. Returns the number of
    /// responses, and the duration in seconds without the time to connect. Fails if earlier runs
    /// have already sent all requests.
    pub fn run(&mut self, address: SocketAddr, span: Duration) -> anyhow::Result<(f64, f64)> {
        let (status, requests) = (self.status, RefCell::new(&mut self.requests));
        block_on(async {
            let open = (0..self.clients).map(|_| Connection::open(address));
            let connections = futures::future::try_join_all(open).await?;
            let began = Instant::now();
            let one = async |mut connection: Connection| {
                let mut answers = 0;
                while began.elapsed() < span {
                    let Some(request) = requests.borrow_mut().next() else { break };
                    connection.exchange(&request, status, |_| {}).await?;
                    answers += 1;
                }
                anyhow::Ok(answers)
            };
            // FuturesUnordered polls only the clients whose sockets are ready, so waiting clients
            // cost the generator nothing.
            let clients: FuturesUnordered<_> = connections.into_iter().map(one).collect();
            let answers: Vec<u32> = clients.try_collect().await?;
            let answers: u32 = answers.iter().sum();
            ensure!(answers > 0, "no request is left to send");
            Ok((f64::from(answers), began.elapsed().as_secs_f64()))
        })
    }
}

pub fn request(method: &str, path: &str, key: &str) -> Vec<u8> {
    format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n")
        .into_bytes()
}
