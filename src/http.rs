//! The HTTP layer between dropshot and the domain: middleware, handlers and public pages.
//!
//! The modules here form layers. A module imports only modules of lower layers:
//!
//! 1. `middleware`
//! 2. `docs`, `request_scope`
//! 3. `inner_router`
//! 4. `handlers`
//! 5. `caller`, `negotiation`, `order_page`
//!
//! On SQLite, a request `GET /v1/store/orders` with a cached key passes these files, in the order
//! of their first calls. Paths are relative to `src/`, except those that begin with `api/`.
//!
//! | File | Step |
//! |---|---|
//! | `http/inner_router.rs` | takes the request from dropshot; later finds the operation and calls it |
//! | `http/middleware.rs` | runs the steps in order |
//! | `http/caller.rs` | finds the client's address, and authenticates the request |
//! | `http/request_scope.rs` | keeps the request's state; finally sets headers, counts and logs |
//! | `log/request.rs` | keeps what the log shows; finally encodes the request's line |
//! | `clock.rs` | reads the time |
//! | `key_cache.rs` | refuses all keys if the cache is outdated, otherwise finds the key |
//! | `api_key.rs` | checks the form of the key and computes its digest |
//! | `key_cache/cached_keys.rs` | returns the cached key with this digest |
//! | `rate_limiter/in_memory.rs` | finds the windows of the account |
//! | `rate_limiter.rs` | defines the types of the rate limiter's decision |
//! | `rate_limiter/window.rs` | counts the request in both windows |
//! | `orders.rs` | queries the store; later returns the list |
//! | `orders/refresh.rs` | keeps the snapshot and the last change that it reflects |
//! | `store/agreement/list.rs` | decides if the snapshot reflects the last change |
//! | `store/sqlite/server_store.rs` | returns the last change |
//! | `store/sqlite/open_files.rs` | checks that the store's files are still in place |
//! | `store/sqlite/last_changes.rs` | reads the last change again if anything was committed |
//! | `store/agreement/position.rs` | compares positions |
//! | `damage_check.rs` | refuses requests to a damaged store |
//! | `api/src/parameters.rs` | reads the parameters |
//! | `api/src/operation.rs` | passes the request to the handler; later builds the response |
//! | `api/src/v1.rs` | defines the operation's types (generated) |
//! | `http/handlers.rs` | implements the operation |
//! | `orders/snapshot.rs` | has the list's pages and entity tag |
//! | `http/negotiation.rs` | reads `Accept-Encoding` |
//! | `orders/sending.rs` | sends the bytes of the list, plain or as gzip |
//! | `orders/sent_lists.rs` | can cut off a list of several pages; shorter lists do not pass it |
//! | `metrics/requests.rs` | counts the request |
//! | `log/buffer.rs` | keeps the line until the log's thread writes it |
//!
//! A request with `If-None-Match` passes no other file. On PostgreSQL, `store/freshness.rs` waits
//! for the answer to the freshness query.
//!
//! `DELETE /v1/store/orders/{orderId}` passes the same files down to `rate_limiter/window.rs`. Then
//! come `damage_check.rs`, the files of `api/src/`, and `http/handlers.rs`. With `If-Match`, the
//! handler first reads the list. The last files are:
//!
//! | File | Step |
//! |---|---|
//! | `orders.rs` | passes the cancellation to the writer |
//! | `orders/writer.rs` | gathers a batch, executes it and answers |
//! | `orders/writer/running_batch.rs` | measures the age of the batch |
//! | `store/sqlite/server_store.rs` | cancels the orders of the batch |
//! | `blocking.rs` | runs the transaction on a blocking thread |
//! | `store/sqlite/write_access.rs` | waits for other writers, and commits |
//! | `store/sqlite/connection.rs` | runs the transaction |
//! | `store/sqlite/open_files.rs`, `store/sqlite/store_header.rs` | check the store's files |
//! | `store/sqlite/last_changes.rs` | raises the change number |
//! | `api/src/types.rs` | formats the time of the cancellation |
//! | `orders/refresh.rs`, `store/agreement/list.rs`, `store/agreement/position.rs` | remove the order from the list |
//! | `metrics/requests.rs`, `log/buffer.rs` | as above |
//!
//! Both tables list the files with functions that callgrind counted at least once per request, in a
//! development build. Functions that `derive` generates are left out. `xtask/bench/README.md`
//! describes a build that callgrind can run.

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
pub use inner_router::InnerRouter;
pub use middleware::Middleware;
