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
//! cargo add --git <REPOSITORY> store-orders-client
//! cargo add tokio --features macros,rt-multi-thread
//! ```
//!
//! The crate is in no registry: replace `<REPOSITORY>` with the address of the Git repository that has
//! it. From a copy of that repository, `--path COPY/api/client` in place of `--git <REPOSITORY>` works
//! too.
//!
//! It needs Rust 1.88 and a tokio runtime.
//!
//! A [`Response`] dereferences to its value, can be iterated over where that can, and has the status,
//! the rate limit, the request id and the number of attempts. Identifiers are types of their own,
//! [`OrderId`] and [`PetId`], so that an order is not cancelled by the number of its pet. Calls take
//! plain integers of the types `i64`, `i32` and `u32`, too; a literal above 2147483647 needs its type,
//! as in `9000000000_i64`.
//!
//! # Versions 1 and 2
//!
//! [`Client::new`] makes a client of both versions of the API, whichever the base URL ends in. Use
//! version 2 in new programs: [`Client::v2`] returns its client, [`ClientV2`], which shares connections, options and
//! limits with the first. Its list comes in pages, with filters and the status of each order, and
//! [`get_order`](ClientV2::get_order) looks up one order, also after it was cancelled.
//!
//! A stream requests the next page when the orders of the last one have been taken. If a page fails,
//! retries included, it ends with the error, whose [`cursor`](Error::cursor) is that of the page:
//! [`list_orders().cursor(…)`](v2::ListOrders::cursor) continues there. Orders of a page can be cancelled meanwhile, and no other
//! is skipped.
//!
//! Version 1 is stable, too: [`Client::list_orders`] returns all orders at once.
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
//! Besides its own errors, each operation may be answered with 400
//! [`InvalidParameter`](ErrorCode::InvalidParameter) if it has parameters, 401
//! [`Unauthorized`](ErrorCode::Unauthorized), 429
//! [`RateLimitExceeded`](ErrorCode::RateLimitExceeded) or [`KeyBanned`](ErrorCode::KeyBanned), 500
//! [`InternalError`](ErrorCode::InternalError) and 503
//! [`ServiceUnavailable`](ErrorCode::ServiceUnavailable).
//!
//! An [`Error`] prints as one line, with what to quote when you report a problem:
//!
//! ```text
//! 409 order_already_shipped: Order 1000 has already shipped and cannot be cancelled. It is unchanged. (request id e77b8b6e-5c1f-4159-a9c2-378f9850477c)
//! ```
//!
//! Its [`code`](Error::code) is the API's error code. A proxy in front of the service
//! may send a response of its own, with HTML or without a body: such an error has no
//! code, but its status, its headers and its request id.
//!
//! # Retries
//!
//! A request that is answered with 429, 500, 502, 503 or 504 is sent again after the time
//! in `Retry-After`, or with increasing delays if there is none, and so is one whose
//! connection is lost or silent for too long. Attempts and time are bounded: see [`RetryPolicy`].
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
//! **A lost response.** An order may be cancelled although the response is lost, or is a 500, 502,
//! 503 or 504. The `DELETE` is then sent again, and is answered with 404 `order_not_found`. So
//! that nobody has to know this, [`Client::cancel_order`] then returns
//! [`AlreadyGone`](CancelOrderOutcome::AlreadyGone) and no error. [`ClientV2::get_order`] returns
//! whether the order is cancelled, and when.
//!
//! A list whose body is cut off is an error and never a shorter list. It is not
//! requested again.
//!
//! # Rate limits
//!
//! A client and its clones share what each response tells of the rate limit, so a program can make
//! as many calls at once as it likes: they wait in turn, and the key is not banned for requests
//! above the limit.
//!
//! - After a 429 no call is sent until the time in `Retry-After` has passed, and up to a second
//!   more, so that the clients of one account do not all come back at once.
//! - At most half of the requests that remain (`X-RateLimit-Remaining`) are under way at once.
//!   Before the first response, and when a limit has been exhausted and has reset, one request goes
//!   first, to learn how many remain.
//! - Where none remain, calls wait for `X-RateLimit-Reset` without asking, if that is within a
//!   minute.
//! - A request without a response for 5 seconds keeps no other back.
//! - A wait is no attempt. If it would end after [`RetryPolicy::total`], the call fails at once with
//!   [`ErrorKind::RateLimit`], sends nothing, and [`Error::retry_after`] is how long the limit holds.
//!
//! This cancels 200 orders on a plan of 60 requests a minute, in little more than 3 minutes:
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
//! Clients that are built apart share nothing: build one for each key. A new client asks the server
//! anew, for example after a ban was lifted. With [`ClientBuilder::without_retries`] no call waits.
//!
//! [`ClientBuilder::max_in_flight`] bounds how many calls are under way, for example because of the
//! memory that their lists take.
//!
//! # What has not changed
//!
//! [`Client::list_orders_if_changed`] takes the [`etag`](Response::etag) of a list, and returns `None`
//! while that is still the list: a program that asks often then moves little. Version 2 has the same
//! for [a page](v2::ListOrders::send_if_changed) and [an order](ClientV2::get_order_if_changed).
//!
//! # Time-outs
//!
//! There is a limit on how long a connection may take to open and on how long the
//! server may be silent. There is none on the whole call unless
//! [`ClientBuilder::call_timeout`] sets it, for waits, retries and the body of the response
//! together. The error says which of them was exceeded.
//!
//! The service answers within 5 seconds, so a request without a response for 10 is
//! taken for lost and sent again. A cancellation may have been carried out nevertheless.
//!
//! # The key
//!
//! No `Debug` output and no error of this crate shows the key. It is sent to the base
//! URL only: redirects are not followed.
//!
//! # Features
//!
//! | Feature | What it adds |
//! |---|---|
//! | `rustls` (default) | TLS by rustls, with the certificates that the system trusts. |
//! | `native-tls` | TLS by the system's library, such as OpenSSL; used if both are on. Without the other: `default-features = false, features = ["native-tls"]`. |
//! | `tracing` | A span named `store_orders` for each call, at the level `INFO`, with `operation`, `order_id` or `pet_id`, `status`, `attempts`, `request_id` and, if it failed, `error`; in it an event at the level `WARN` for each attempt that is followed by another. |
//!
//! # Tests of your program
//!
//! Start a mock server, for example with the crate `wiremock`, and give its address to the client:
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

mod answer;
mod attempt;
mod builder;
mod call;
mod error;
mod error_kind;
mod generated;
mod ids;
mod limits;
mod pages;
mod rate_limit;
mod response;
mod retry;
mod retry_after;
mod send;
mod span;
mod turns;
mod v1;
pub mod v2;
mod values;
mod version;

pub use attempt::Attempt;
pub use builder::{BuildError, ClientBuilder};
pub use error::Error;
pub use error_kind::ErrorKind;
pub use pages::Pages;
pub use rate_limit::RateLimit;
/// The HTTP client underneath, for [`ClientBuilder::http`].
pub use reqwest;
pub use response::Response;
pub use retry::RetryPolicy;
pub use v1::{CancelOrderOutcome, Client, ErrorBody, Order, OrderId, Pet, PetId};
pub use v2::ClientV2;
pub use values::ErrorCode;
