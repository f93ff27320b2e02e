//! HTTP: everything between dropshot and the domain.
//!
//! A request takes the steps of `middleware`, in their order: public page, route,
//! authentication, rate limit, operation, response headers.

mod accept;
mod authentication;
mod caller;
mod client_ip;
mod conditional;
mod docs;
mod handlers;
mod inner_router;
mod middleware;
mod order_page;
mod rate_limit;
mod redaction;
mod request_scope;
mod responses;
mod trace_context;

pub use client_ip::TrustedProxies;
pub use docs::{Docs, served_document, served_documents};
pub use inner_router::{BuildError, InnerRouter};
pub use middleware::Middleware;
pub use responses::json_body;
