//! The client of version 2 of the API, which is in beta: the feature `v2-beta`.
//!
//! **A beta may change.** This module is outside the crate's promise of SemVer: a minor release
//! may change or remove it.
//!
//! The list comes in pages, can be filtered, and tells the [status](OrderStatus) of each order.
//! Retries, errors, rate limits, time-outs and spans are those of the
//! [client of version 1](crate::Client). Each page is a call of its own: one request, one span,
//! and as many retries as any other.
//!
//! ```
//! # #[cfg(feature = "testing")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use store_orders_client::v2::{Client, OrderStatus};
//! use store_orders_client::{Order, testing};
//!
//! let server = testing::Server::start((1..=120).map(|id| Order::new(id, 7, 1)))?;
//! server.ship(60);
//! let client = Client::new(server.v2_base_url(), testing::KEY)?;
//!
//! let mut orders = client.list_orders().pet_id(7).status(OrderStatus::Pending).limit(50).stream();
//! while let Some(order) = orders.next().await {
//!     client.cancel_order(order?.id).await?;
//! }
//! assert_eq!(server.orders().len(), 1);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "testing"))]
//! # fn main() {}
//! ```

#[cfg(feature = "blocking")]
pub mod blocking;
#[rustfmt::skip]
#[expect(dead_code, clippy::allow_attributes, clippy::unwrap_used, reason = "generated")]
pub(crate) mod generated;
mod operations;
mod order_status;
mod orders;
#[cfg(feature = "testing")]
pub(crate) mod test_pages;

pub use generated::order_status::OrderStatus;
pub use operations::*;
pub use orders::Orders;
