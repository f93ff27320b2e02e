//! What a request can reach: the state of a running server.

use crate::clock::Clock;
use crate::key_cache::KeyCache;
use crate::keys::Environment;
use crate::limits::Limits;
use crate::log::RequestLog;
use crate::metrics::Metrics;
use crate::orders::OrderList;
use crate::store::Store;
use crate::store_check::StoreCheck;
use slog::Logger;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The state of a running server.
pub struct ServerContext {
    /// The list, and cancellation.
    pub orders: Arc<OrderList>,
    /// For single rows.
    pub store: Arc<dyn Store>,
    /// Bounds the look-ups of single rows.
    pub row_look_ups: Arc<Semaphore>,
    /// Whether the store is damaged.
    pub store_check: StoreCheck,
    /// The keys in use.
    pub keys: Arc<KeyCache>,
    /// The rate limiter.
    pub limits: Arc<dyn Limits>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Which keys are accepted.
    pub environment: Environment,
    /// What is counted of all this.
    pub metrics: Metrics,
    /// Events.
    pub log: Logger,
    /// One line a request.
    pub request_log: RequestLog,
}
