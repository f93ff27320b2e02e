//! A tap between an HTTP/1.1 client and the server, which reads along.
//!
//! Bytes pass through it unchanged, so malformed requests, half-closed
//! connections and slow readers stay what they are. Each response is checked when
//! its last byte has come and before that byte goes on: by the time a test sees an
//! answer, it has been checked.

use super::http1::{RequestReader, ResponseReader};
use super::messages::SentRequest;
use super::observer::{Observer, SharedObserver};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A tap in front of a server.
pub struct Tap {
    address: SocketAddr,
    observer: Observer,
    accepting: JoinHandle<()>,
}

impl Tap {
    /// Opens a tap that leads to this address. Needs a tokio runtime around it.
    pub fn before(server: SocketAddr) -> Tap {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let listener = TcpListener::from_std(listener).unwrap();
        let observer = Observer::default();
        let shared = observer.shared();
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let shared = shared.clone();
                tokio::spawn(async move {
                    if let Ok(server) = TcpStream::connect(server).await {
                        pass(client, server, shared).await;
                    }
                });
            }
        });
        Tap { address, observer, accepting }
    }

    /// Where to send requests.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base address of the API behind it.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What it has seen.
    pub fn observer(&self) -> &Observer {
        &self.observer
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Passes a connection through, both ways, until both have ended.
async fn pass(client: TcpStream, server: TcpStream, observer: SharedObserver) {
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let connection = Mutex::new(Connection { observer, ..Connection::default() });
    tokio::join!(
        copy(from_client, to_server, |bytes| connection.lock().unwrap().sent(bytes)),
        copy(from_server, to_client, |bytes| connection.lock().unwrap().received(bytes)),
    );
}

/// Copies one way; the end is reported as no bytes.
async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut along: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = from.read(&mut buffer).await.unwrap_or(0);
        along(&buffer[..count]);
        if count == 0 || to.write_all(&buffer[..count]).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}

/// One connection: what was asked and not yet answered.
#[derive(Default)]
struct Connection {
    requests: RequestReader,
    responses: ResponseReader,
    unanswered: VecDeque<SentRequest>,
    client_has_ended: bool,
    observer: SharedObserver,
}

impl Connection {
    fn sent(&mut self, bytes: &[u8]) {
        self.client_has_ended |= bytes.is_empty();
        self.unanswered.extend(self.requests.feed(bytes));
    }

    fn received(&mut self, bytes: &[u8]) {
        for (sent, received) in self.responses.feed(bytes, &mut self.unanswered) {
            self.observer.response(&sent, &received);
        }
        // A client that leaves first has not been cut off.
        let ended = bytes.is_empty() && !self.client_has_ended;
        if let Some((sent, status)) = self.responses.unfinished().filter(|_| ended) {
            self.observer.cut_body(sent, status);
        }
    }
}
