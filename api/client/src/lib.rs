//! Client of the Store Orders API: list the orders of a pet store, cancel one.
//!
//! The methods of [`Client`] and everything in [`types`] are generated from
//! the API's OpenAPI document; the rest, written by hand, makes a client, waits
//! where the service says so, and reads what its headers and errors say.
//!
//! # List orders
//!
//! ```no_run
//! use store_orders_client::{Client, ResponseHeaders, production};
//!
//! # async fn example(key: String) -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::connect(production("orders.example.com"), key)?;
//! let orders = client.list_orders().await?;
//! for order in orders.iter() {
//!     println!("order {} is for pet {}", order.id, order.pet_id);
//! }
//! if let Some(limit) = orders.rate_limit() {
//!     println!("{} of {} requests remain", limit.remaining, limit.limit);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Cancel an order
//!
//! ```no_run
//! use store_orders_client::{Client, ErrorBody, ErrorCode};
//!
//! # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
//! match client.cancel_order(1042).await {
//!     Ok(_) => println!("cancelled"),
//!     Err(error) => match error.code() {
//!         Some(ErrorCode::OrderNotFound) => println!("no such order, or cancelled before"),
//!         Some(ErrorCode::OrderAlreadyShipped) => println!("too late: it has shipped"),
//!         _ => return Err(error.into()),
//!     },
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Look a pet up
//!
//! The operation is deprecated, and the compiler says so:
//!
//! ```no_run
//! # use store_orders_client::Client;
//! # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
//! #[expect(deprecated, reason = "until we keep the names of pets ourselves")]
//! let pet = client.get_pet(7).await?;
//! println!("{}", pet.name);
//! # Ok(())
//! # }
//! ```
//!
//! # Waiting and trying again
//!
//! A request answered with 429 or 503 is sent again after the time that
//! `Retry-After` says, and after growing times where it says none. `GET` and
//! `DELETE` requests are also sent again when the connection is lost. Attempts
//! and time are bounded, a banned key is never pressed, and what is left is the
//! last answer: see [`RetryPolicy`]. One call switches it off:
//!
//! ```no_run
//! # use store_orders_client::{Client, ConnectError, staging};
//! # fn example(key: String) -> Result<Client, ConnectError> {
//! Client::builder(staging("staging.orders.example.com"), key)?.without_retries().build()
//! # }
//! ```
//!
//! **The 404 after a retry.** A connection can be lost after the order was
//! cancelled and before the answer arrived. The `DELETE` that is then sent
//! again finds the order gone and is answered with 404 `order_not_found`. So a
//! 404 means that the order is not there now, not that this call did nothing.
//! Who must know which of the two it was switches retries off.
//!
//! A list whose body breaks off is an error and never a shorter list; it is not
//! asked for again unasked.
//!
//! # Time-outs
//!
//! There is a limit on how long a connection may take to open and on how long
//! the server may be silent, and none on the whole: a list of many orders takes
//! its time. Lists travel compressed. For a limit on the whole, put
//! `tokio::time::timeout` around the call.
//!
//! # The key
//!
//! The key is in no `Debug` output and no error of this crate. It is sent to
//! the base address and nowhere else: redirects are not followed.

mod ban;
mod connect;
mod error_code;
#[rustfmt::skip]
#[expect(dead_code, unused_imports, clippy::all, reason = "generated: nobody edits it")]
mod generated;
mod rate_limit;
mod retry;
mod retry_after;
mod send;

pub use connect::{ClientBuilder, ConnectError, production, staging};
pub use error_code::{ErrorBody, ErrorCode, error_body};
pub use generated::{Client, ClientInfo, Error, ResponseValue, types};
pub use rate_limit::{RateLimit, ResponseHeaders};
/// The HTTP client underneath, whose types are in some signatures here.
pub use reqwest;
pub use retry::RetryPolicy;
