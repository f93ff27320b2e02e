//! The HTTP layer between dropshot and the domain: middleware, handlers and public pages.
//!
//! `GET /v1/store/orders` passes through these files:
//!
//! | File | Step |
//! |---|---|
//! | `http/middleware.rs` | runs the steps in order |
//! | `http/request_scope.rs` | keeps the request's state; finally sets headers, counts and logs |
//! | `http/inner_router.rs` | finds the operation and calls it through dropshot |
//! | `http/authentication.rs` | checks the bearer key; without a valid key the response is a 401 |
//! | `key_cache.rs` | finds the key in the cache or the store |
//! | `http/rate_limit.rs` | turns the rate limiter's decision into headers or a 429 |
//! | `limits/in_memory.rs`, or `store/postgres/limits/limiter.rs` | counts the request |
//! | `http/handlers.rs` | implements the operation |
//! | `orders.rs` | returns a list that is up to date |
//! | `orders/freshness.rs` | refreshes the snapshot from the store |
//! | `orders/sending.rs` | sends the bytes of the list, plain or as gzip |
//! | `http/responses.rs` | wraps these bytes in a response |

mod caller;
mod docs;
mod handlers;
mod inner_router;
mod middleware;
mod negotiation;
mod order_page;
mod request_scope;

pub use caller::TrustedProxies;
pub use docs::{Docs, served_document, served_documents};
pub use inner_router::{BuildError, InnerRouter};
pub use middleware::Middleware;
