//! Whether responses are what the document says: its operations, and for each
//! status what a response must have.
//!
//! [`Tap`] reads the bytes of HTTP/1.1 connections; answers that come another way
//! (TLS, HTTP/2) are handed to the [`Observer`] as the HTTP client saw them.

mod check;
mod documented;
mod http1;
mod messages;
mod observer;
mod response;
mod schema;
mod tap;
mod undocumented;

pub use check::contract;
pub use documented::Contract;
pub use messages::{ReceivedResponse, SentRequest};
pub use observer::{Observer, SharedObserver};
pub use tap::Tap;
