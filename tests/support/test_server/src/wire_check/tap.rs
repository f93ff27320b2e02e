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
use testbed::relay::{ReadAlong, Relay};

/// A tap in front of a server.
pub struct Tap {
    relay: Relay,
    observer: Observer,
}

impl Tap {
    /// Opens a tap that leads to this address on the loopback. Needs a tokio runtime around it.
    pub fn before(server: SocketAddr) -> Tap {
        let observer = Observer::default();
        let shared = observer.shared();
        let connection = move || Connection { observer: shared.clone(), ..Connection::default() };
        Tap { relay: Relay::read_along(server.port(), connection).unwrap(), observer }
    }

    /// Where to send requests.
    pub fn address(&self) -> SocketAddr {
        self.relay.address()
    }

    /// The base address of the API behind it.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address())
    }

    /// What it has seen.
    pub fn observer(&self) -> &Observer {
        &self.observer
    }
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

impl ReadAlong for Connection {
    fn request(&mut self, bytes: &mut Vec<u8>) {
        self.client_has_ended |= bytes.is_empty();
        self.unanswered.extend(self.requests.feed(bytes));
    }

    fn answer(&mut self, bytes: &mut Vec<u8>) {
        for (sent, received) in self.responses.feed(bytes, &mut self.unanswered) {
            self.observer.response(&sent, &received);
        }
        // A client that leaves first has not been cut off.
        let ended = bytes.is_empty() && !self.client_has_ended;
        if let Some(sent) = self.unanswered.front().filter(|_| ended)
            && let Some(status) = self.responses.unfinished(sent)
        {
            self.observer.cut_body(sent, status);
        }
    }
}
