//! Who sent a request, on its way from the middleware to a handler.

use crate::key_cache::KnownKey;
use crate::store::Freshness;
use std::sync::Arc;
use std::time::Instant;

/// Who sent a request with a valid key.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The key, and its account.
    pub key: Arc<KnownKey>,
    /// When the request must have been answered.
    pub deadline: Instant,
    /// What the list must reflect, if the operation reads it and the store could be asked.
    pub freshness: Option<Freshness>,
}
