//! The client against real sockets that answer from a script.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on says so by panicking"
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
