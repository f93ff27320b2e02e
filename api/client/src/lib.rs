//! Client of the Store Orders API: list the orders of a pet store, cancel one.
//!
//! ```no_run
//! use store_orders_client::{Client, ErrorCode};
//!
//! # async fn example(key: String) -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::connect("https://orders.example.com/v1", key)?;
//! for order in client.list_orders().await?.iter() {
//!     println!("order {} is for pet {}", order.id, order.pet_id);
//! }
//! match client.cancel_order(1042).await {
//!     Ok(_) => println!("cancelled"),
//!     Err(error) if error.code() == Some(ErrorCode::OrderNotFound) => println!("no such order"),
//!     Err(error) => return Err(error.into()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A [`Response`] dereferences to its value, and has the status, the rate limit
//! and the request id. An [`Error`] has the same, and the API's
//! [`code`](Error::code).
//!
//! # Retries
//!
//! A request that is answered with 429 or 503 is sent again after the time in
//! `Retry-After`, or after growing times where there is none. `GET` and
//! `DELETE` requests are also sent again if the connection is lost. Attempts
//! and time are bounded: see [`RetryPolicy`]. To switch retries off:
//!
//! ```no_run
//! # use store_orders_client::{Client, ConnectError};
//! # fn example(key: String) -> Result<Client, ConnectError> {
//! Client::builder("https://orders.example.com/v1", key).without_retries().build()
//! # }
//! ```
//!
//! **404 after a retry.** A connection can be lost after the order was
//! cancelled and before the response arrived. The `DELETE` is then sent again,
//! finds no order, and is answered with 404 `order_not_found`. So 404 means
//! that the order is not there now, not that this call did nothing. If you must
//! know which of the two it was, switch retries off.
//!
//! A list whose body breaks off is an error and never a shorter list. It is not
//! requested again.
//!
//! # Time-outs
//!
//! There is a limit on how long a connection may take to open and on how long
//! the server may be silent. There is none on the whole call, because a list of
//! many orders takes time: use `tokio::time::timeout` for that.
//!
//! # The key
//!
//! No `Debug` output and no error of this crate shows the key. It is sent to
//! the base URL only: redirects are not followed.
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

mod builder;
mod error;
mod error_code;
#[rustfmt::skip]
#[expect(dead_code, clippy::allow_attributes, clippy::unwrap_used, reason = "generated")]
mod generated;
mod operations;
mod rate_limit;
mod response;
mod retry;
mod retry_after;
mod send;

pub use builder::{ClientBuilder, ConnectError};
pub use error::{Error, ErrorKind};
pub use error_code::ErrorCode;
pub use generated::types::{Error as ErrorBody, Order, Pet};
pub use operations::Client;
pub use rate_limit::RateLimit;
/// The HTTP client underneath, for [`ClientBuilder::http`].
pub use reqwest;
pub use response::Response;
pub use retry::RetryPolicy;
