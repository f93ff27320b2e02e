//! HTTP: everything between dropshot and the domain.
//!
//! A request takes the steps of `middleware`, in their order. `GET /v1/store/orders` goes through:
//!
//! | File | What happens there |
//! |---|---|
//! | `http/middleware.rs` | the steps, one after the other |
//! | `http/request_scope.rs` | the request's state; at the end response headers, metrics, the log line |
//! | `http/inner_router.rs` | its operation is found, and called through dropshot |
//! | `http/authentication.rs` | its bearer key becomes a caller, or a 401 |
//! | `key_cache.rs` | the key is in the cache, or is looked up in the store |
//! | `http/rate_limit.rs` | the decision of the limits becomes headers, or a 429 |
//! | `limits/in_memory.rs`, or `store/postgres/limits/limiter.rs` | the request is counted |
//! | `http/handlers.rs` | the operation: contract in, contract out |
//! | `orders.rs` | the list as it stands now |
//! | `orders/freshness.rs` | the snapshot catches up with the store |
//! | `orders/sending.rs` | its bytes, plain or as gzip |
//! | `http/responses.rs` | the bytes become a response |

mod accept;
mod authentication;
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
