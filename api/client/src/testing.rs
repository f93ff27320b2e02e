//! A server for the tests of programs that use the client: the feature `testing`.
//!
//! It listens on a loopback port, and answers with the statuses, headers and bodies that the API
//! documents: with the document's examples, unless it keeps a state of its own. It does not replace
//! tests in the service's staging environment: it has one key and one limit, of requests a minute,
//! and it bans no key unless told to.

mod answers;
pub(crate) mod request;
pub(crate) mod route;
mod server;
mod start;
mod store;

pub use server::Server;
pub use store::KEY;
