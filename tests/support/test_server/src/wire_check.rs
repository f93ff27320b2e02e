//! Checks that responses match what the document says about their operation: the status, the
//! headers and the body.
//!
//! [`WireCheckProxy`] reads the bytes of HTTP/1.1 connections. Over TLS or HTTP/2, the [`Observer`]
//! gets each response as the HTTP client received it.

mod check;
mod documented;
mod fields;
mod http1;
mod messages;
mod observer;
mod promise;
mod proxy;
mod published;
mod response;
mod schema;
mod undocumented;

pub use check::wire_check;
pub use documented::{Operation, WireCheck};
pub use messages::{Exchange, ReceivedResponse, SentRequest};
pub use observer::{Observer, SharedObserver};
pub use promise::Promise;
pub use proxy::WireCheckProxy;
pub use published::{PublishedDocument, published_documents, replay};
pub use undocumented::public_pages;
