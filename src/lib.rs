//! Store Orders: the server that keeps the contract of `store-orders-api`.

pub mod clock;
pub mod keys;
pub mod limits;
pub mod store;
