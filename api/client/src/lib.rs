//! Client of the Store Orders API: list the orders of a pet store, cancel one.
//!
//! ```no_run
//! use store_orders_client::v2::OrderStatus;
//! use store_orders_client::{CancelOrderOutcome, Client, ErrorCode};
//!
//! # async fn example(key: String) -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new("https://orders.example.com", key)?.v2();
//! let mut orders = client.list_orders().pet_id(7).status(OrderStatus::Pending).stream();
//! while let Some(order) = orders.next().await {
//!     let order = order?;
//!     println!("order {}: {} of pet {}", order.id, order.quantity, order.pet_id);
//! }
//! match client.cancel_order(1042).await {
//!     Ok(outcome) if *outcome == CancelOrderOutcome::Cancelled => println!("cancelled"),
//!     // An earlier attempt got no response or a 5xx, and the last one found no order.
//!     Ok(_) => println!("gone, probably cancelled by this call"),
//!     Err(error) if error.code() == Some(ErrorCode::OrderNotFound) => println!("not there, or cancelled before"),
//!     Err(error) => return Err(error.into()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! ```text
//! cargo add store-orders-client
//! cargo add tokio --features macros,rt-multi-thread
//! ```
//!
//! The crate is the directory `api/client` of the service's repository, `store-orders`.
//!
//! The crate needs Rust 1.88 and a tokio runtime.
//!
//! A [`Response`] dereferences to its value, iterates over it if the value is a list, and has the
//! status, the rate limit, the request id and the number of attempts. Identifiers have the types
//! [`OrderId`] and [`PetId`], so that a pet's id cannot be passed as an order's. Methods also
//! accept plain integers of the types `i64`, `i32` and `u32`; a literal above 2147483647 needs its
//! type, as in `9000000000_i64`.
//!
//! # Versions 1 and 2
//!
//! [`Client::new`] builds a client of both versions of the API; the base URL may end in `/v1`, in
//! `/v2`, or in neither. Use version 2 in new programs: [`Client::v2`] returns its client,
//! [`ClientV2`], which shares connections, options and limits with the [`Client`]. The list of
//! version 2 has pages, filters and the status of each order, and
//! [`get_order`](ClientV2::get_order) looks up one order, also after it was cancelled.
//!
//! A stream requests the next page when you have taken all orders of the current one. If a page
//! fails despite retries, the stream ends with an error, and
//! [`list_orders().cursor(…)`](v2::ListOrders::cursor) with the error's [`cursor`](Error::cursor)
//! continues at that page. If you cancel orders while you read the stream, it skips no other
//! orders.
//!
//! Version 1 is stable too: [`Client::list_orders`] returns all orders at once.
//!
//! ```no_run
//! # async fn example(key: String) -> Result<(), Box<dyn std::error::Error>> {
//! let client = store_orders_client::Client::new("https://orders.example.com", key)?;
//! for order in client.list_orders().await? {
//!     println!("order {} is for pet {}", order.id, order.pet_id);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Errors
//!
//! Besides its own errors, each operation may fail with 400
//! [`InvalidParameter`](ErrorCode::InvalidParameter) if it has path or query parameters, 401
//! [`Unauthorized`](ErrorCode::Unauthorized), 429
//! [`RateLimitExceeded`](ErrorCode::RateLimitExceeded) or [`KeyBanned`](ErrorCode::KeyBanned), 500
//! [`InternalError`](ErrorCode::InternalError) and 503
//! [`ServiceUnavailable`](ErrorCode::ServiceUnavailable).
//!
//! An [`Error`] prints as one line. Quote its request id when you report a problem:
//!
//! ```text
//! 409 order_already_shipped: Order 1000 has already shipped and cannot be cancelled. It is unchanged. (request id e77b8b6e-5c1f-4159-a9c2-378f9850477c)
//! ```
//!
//! The error's [`code`](Error::code) is the API's error code. If a proxy in front of the service
//! responds instead, with HTML or without a body, the error has no code. It still has a status,
//! headers and, if the proxy sent one, a request id.
//!
//! # Retries
//!
//! After 429, 500, 502, 503 or 504, or if the connection is lost or silent for too long, the client
//! sends the request again. If the response has `Retry-After`, the client waits for that time, and
//! otherwise for increasing delays. [`RetryPolicy`] limits the number of attempts and the total time.
//!
//! ```
//! # use store_orders_client::{Client, BuildError};
//! # fn example(key: String) -> Result<Client, BuildError> {
//! Client::builder("https://orders.example.com", key)
//!     .on_attempt(|attempt| eprintln!("{attempt}")) // list_orders, attempt 1: 503 …
//!     .build()
//! # }
//! # example("sto_test_x".to_string()).unwrap();
//! ```
//!
//! **A lost response.** An order may be cancelled even if the response is lost or is a 500, 502,
//! 503 or 504. The client then sends the `DELETE` again and gets 404 `order_not_found`. In this
//! case [`Client::cancel_order`] returns [`AlreadyGone`](CancelOrderOutcome::AlreadyGone) instead
//! of an error. [`ClientV2::get_order`] returns whether and when the order was cancelled.
//!
//! If the connection is lost in the middle of a list, the call fails without a retry. It never
//! returns a shorter list.
//!
//! # Rate limits
//!
//! A client and its clones share the rate limit that responses report. A program can start any
//! number of calls: they wait in a queue, and the key is not banned for requests above the limit.
//!
//! - After a 429, no request is sent until the time in `Retry-After` has passed, plus up to a
//!   second, so that the clients of an account do not all return at the same moment.
//! - At most half of the remaining requests (`X-RateLimit-Remaining`) are in flight at once. Before
//!   the first response, and after an exhausted limit has reset, one request goes first to learn
//!   how many remain.
//! - If no requests remain and `X-RateLimit-Reset` is within a minute, calls wait for the reset
//!   without sending a request.
//! - After 5 seconds without a response, a request no longer blocks others.
//! - Waiting does not count as an attempt. If the wait would end after [`RetryPolicy::total`], the
//!   call sends nothing and fails immediately with [`ErrorKind::RateLimit`].
//!
//! [`Error::is_rate_limited`] is true for [`ErrorKind::RateLimit`] and for a 429, and
//! [`Error::retry_after`] is the time until the limit allows requests again.
//!
//! This cancels 200 orders on a plan of 60 requests per minute, in little more than 3 minutes:
//!
//! ```no_run
//! # use std::time::Duration;
//! # use store_orders_client::{Client, Error, RetryPolicy};
//! # async fn example(key: String, ids: Vec<i64>) -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::builder("https://orders.example.com/v1", key)
//!     .retry(RetryPolicy::default().total(Duration::from_secs(300)))
//!     .build()?;
//! let calls = ids.into_iter().map(|id| {
//!     let client = client.clone();
//!     tokio::spawn(async move { client.cancel_order(id).await })
//! });
//! for call in calls.collect::<Vec<_>>() {
//!     call.await??;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Clients that are built separately share nothing: build one per key. A new client does not know
//! of earlier limits; build one, for example, after a ban was lifted. With
//! [`ClientBuilder::without_retries`] no call waits.
//!
//! [`ClientBuilder::max_in_flight`] limits the number of concurrent calls, for example to limit the
//! memory for their lists.
//!
//! # Conditional requests
//!
//! [`Client::list_orders_if_changed`] takes the [`etag`](Response::etag) of a list and returns
//! `None` if the list has not changed, which saves the transfer for programs that poll. Version 2
//! has the same for [a page](v2::ListOrders::send_if_changed) and
//! [an order](ClientV2::get_order_if_changed). With the [`etag`](Response::etag) of an order,
//! [`ClientV2::cancel_order_if_unchanged`] cancels the order only in the state that you have seen.
//!
//! ```no_run
//! # use store_orders_client::{Client, Error};
//! # async fn example(client: Client) -> Result<(), Error> {
//! let list = client.list_orders().await?;
//! // Later:
//! if let Some(etag) = list.etag() {
//!     match client.list_orders_if_changed(etag).await?.into_inner() {
//!         Some(orders) => println!("now {} orders", orders.len()),
//!         None => println!("still the same {} orders", list.len()),
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Time-outs
//!
//! The time to open a connection and the time without data from the server are limited. The whole
//! call, with waits, retries and the body of the response, is limited only if you set
//! [`ClientBuilder::call_timeout`]. The error says which limit was exceeded.
//!
//! The service responds within 5 seconds, so after 10 seconds without a response the client sends
//! the request again. A cancellation may have been executed nevertheless.
//!
//! # The key
//!
//! `Debug` output and errors of this crate never show the key. It is sent only to the base URL:
//! redirects are not followed.
//!
//! # Features
//!
//! | Feature | What it adds |
//! |---|---|
//! | `rustls` (default) | TLS by rustls, with the certificates that the system trusts. |
//! | `native-tls` | TLS by the system's library, such as OpenSSL; used if both are on. To exclude rustls: `default-features = false, features = ["native-tls"]`. |
//! | `tracing` | A span named `store_orders` for each call, at the level `INFO`, with `operation`, `order_id` or `pet_id`, `status`, `attempts`, `request_id` and, if it failed, `error`; in it an event at the level `WARN` for each attempt that is retried. |
//!
//! # Tracing
//!
//! With the feature `tracing`, the subscriber of `tracing_subscriber::fmt` prints only the events:
//! the attempts that are retried. To print a line for each call too, with its status and duration,
//! let it print the end of each span:
//!
//! ```text
//! tracing_subscriber::fmt().with_span_events(FmtSpan::CLOSE).init();
//! ```
//!
//! ```text
//! 2026-12-01T09:00:00.514142Z  WARN store_orders{operation="cancel_order" order_id=1042}: store_orders_client: cancel_order, attempt 1: 503 Service Unavailable (request id a); next attempt in 0.4s
//! 2026-12-01T09:00:00.923045Z  INFO store_orders{operation="cancel_order" order_id=1042 status=204 attempts=2 request_id="b"}: store_orders_client: close time.busy=1.21ms time.idle=408ms
//! ```
//!
//! # Tests of your program
//!
//! Start a mock server, for example with the crate `wiremock`, and pass its address to the client:
//!
//! ```text
//! let server = wiremock::MockServer::start().await;
//! let client = Client::new(server.uri(), "sto_test_any")?;
//! ```
//!
//! # The deprecated operation
//!
//! ```no_run
//! # use store_orders_client::Client;
//! # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
//! #[expect(deprecated, reason = "until we store the names of pets ourselves")]
//! let pet = client.get_pet(7).await?;
//! println!("{}", pet.name);
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

mod answer;
mod attempt;
mod builder;
mod call;
mod call_queue;
mod error;
mod error_kind;
mod extensible_enum;
mod generated;
mod ids;
mod outcome;
mod pages;
mod rate_limit;
mod rate_limit_state;
mod request;
mod response;
mod retry;
mod retry_after;
mod send;
mod span;
#[cfg(test)]
mod tests;
mod v1;
pub mod v2;
mod version;

pub use attempt::Attempt;
pub use builder::{BuildError, ClientBuilder};
/// The library of dates and times. Times in this crate, such as ship dates, have the type
/// `DateTime<Utc>`.
pub use chrono;
pub use error::Error;
pub use error_kind::ErrorKind;
pub use generated::values::ErrorCode;
pub use outcome::CancelOrderOutcome;
pub use pages::Pages;
pub use rate_limit::RateLimit;
/// The HTTP library of this crate. [`ClientBuilder::http`] takes a client builder of exactly this
/// version of the library.
pub use reqwest;
pub use response::Response;
pub use retry::RetryPolicy;
pub use v1::{Client, ErrorBody, Order, OrderId, Pet, PetId};
pub use v2::ClientV2;
