//! The one place where the wire is held against the document: a tap between
//! whoever sends and the server.
//!
//! Bytes pass through it unchanged, so malformed requests, half-closed
//! connections and slow readers stay what they are. What passes is read along,
//! and each response is judged when its last byte has come and before that byte
//! goes on: by the time a test sees an answer, it has been judged. A test whose
//! responses break the contract fails when its server goes.

mod codes;
mod contract;
mod messages;
mod outside;
mod schema;
mod verdict;

pub use contract::contract;

use messages::{Incoming, Outgoing, Sent};
use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What was judged so far.
#[derive(Default)]
pub struct Judged {
    /// What of the document was seen, as `Contract::promised` writes it.
    pub seen: BTreeSet<String>,
    violations: Vec<String>,
}

/// A tap in front of a server.
pub struct Tap {
    address: SocketAddr,
    judged: Arc<Mutex<Judged>>,
    accepting: JoinHandle<()>,
}

impl Tap {
    /// Opens a tap that leads to this address. Needs a tokio runtime around it.
    pub fn before(server: SocketAddr) -> Tap {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let listener = TcpListener::from_std(listener).unwrap();
        let judged: Arc<Mutex<Judged>> = Arc::default();
        let shared = Arc::clone(&judged);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let judged = Arc::clone(&shared);
                tokio::spawn(async move {
                    if let Ok(server) = TcpStream::connect(server).await {
                        pass(client, server, judged).await;
                    }
                });
            }
        });
        Tap { address, judged, accepting }
    }

    /// Where to send requests.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What of the document has been seen.
    pub fn seen(&self) -> BTreeSet<String> {
        self.judged.lock().unwrap().seen.clone()
    }

    /// What broke the contract.
    pub fn violations(&self) -> Vec<String> {
        std::mem::take(&mut self.judged.lock().unwrap().violations)
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.accepting.abort();
        let violations = self.violations();
        if !violations.is_empty() && !std::thread::panicking() {
            panic!("the wire does not agree with the document:\n{}", violations.join("\n"));
        }
    }
}

/// Passes a connection through, both ways, until both have ended.
async fn pass(client: TcpStream, server: TcpStream, judged: Arc<Mutex<Judged>>) {
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let connection = Mutex::new(Connection { judged, ..Connection::default() });
    tokio::join!(
        copy(from_client, to_server, |bytes| connection.lock().unwrap().sent(bytes)),
        copy(from_server, to_client, |bytes| connection.lock().unwrap().answered(bytes)),
    );
}

/// Copies one way; nothing more to read is told as no bytes.
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
    outgoing: Outgoing,
    incoming: Incoming,
    asked: VecDeque<Sent>,
    judged: Arc<Mutex<Judged>>,
}

impl Connection {
    fn sent(&mut self, bytes: &[u8]) {
        self.asked.extend(self.outgoing.feed(bytes));
    }

    fn answered(&mut self, bytes: &[u8]) {
        for (sent, received) in self.incoming.feed(bytes, &mut self.asked) {
            let mut judged = self.judged.lock().unwrap();
            let violations = contract().judge(&sent, &received, &mut judged.seen);
            let exchange = format!("{} {}: {}", sent.method, sent.target, received.status);
            judged.violations.extend(violations.iter().map(|what| format!("{exchange}: {what}")));
        }
    }
}
