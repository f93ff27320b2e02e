//! The key that a request was authenticated with, on its way from the middleware to a handler.

use std::sync::Arc;
use std::time::Instant;

/// The valid key that the request was sent with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerKey {
    /// `key_…`.
    pub id: Arc<str>,
    /// The number of its account.
    pub account: i64,
    /// When the request must have been answered.
    pub deadline: Instant,
}
