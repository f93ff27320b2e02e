//! Tests the client against a scripted server on real sockets.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod calls_as_a_whole;
mod misbehaving_server;
mod observer;
mod pages;
mod proxy_in_front;
mod rate_limits;
mod scripted;
#[cfg(feature = "tracing")]
mod spans;
#[cfg(any(feature = "rustls", feature = "native-tls"))]
mod tls;
