//! The wire check's proxy between an HTTP/1.1 client and the server.
//!
//! The proxy forwards bytes unchanged, so the server also sees malformed requests and half-closed
//! connections. The proxy checks each response before it forwards the last byte. So a test that has
//! a complete response knows that the response was checked.

use super::http1::{RequestReader, ResponseReader};
use super::messages::SentRequest;
use super::observer::{Observer, SharedObserver};
use std::collections::VecDeque;
use std::net::SocketAddr;
use testbed::relay::{ReadAlong, Relay};

pub struct WireCheckProxy {
    relay: Relay,
    observer: Observer,
}

impl WireCheckProxy {
    /// Starts a proxy that forwards connections to this loopback address. Must be called inside a
    /// tokio runtime.
    pub fn before(server: SocketAddr) -> WireCheckProxy {
        let observer = Observer::default();
        let shared = observer.shared();
        let connection = move || Connection { observer: shared.clone(), ..Connection::default() };
        WireCheckProxy { relay: Relay::read_along(server.port(), connection).unwrap(), observer }
    }

    pub fn address(&self) -> SocketAddr {
        self.relay.address()
    }

    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address())
    }

    /// Returns the observer, which has checked all complete responses so far.
    pub fn observer(&self) -> &Observer {
        &self.observer
    }
}

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
        // If the client closed the connection first, the missing rest of the response is not the
        // server's fault.
        let ended = bytes.is_empty() && !self.client_has_ended;
        if let Some(sent) = self.unanswered.front().filter(|_| ended)
            && let Some(status) = self.responses.unfinished(sent)
        {
            self.observer.cut_body(sent, status);
        }
    }
}
