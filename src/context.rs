//! The state of a running server, which request handlers share.

use crate::api_key::Environment;
use crate::clock::Clock;
use crate::damage_check::DamageCheck;
use crate::key_cache::KeyCache;
use crate::log::RequestLog;
use crate::metrics::Metrics;
use crate::orders::OrderList;
use crate::rate_limiter::RateLimiter;
use crate::store::Store;
use slog::Logger;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::sync::Semaphore;

pub struct ServerContext {
    /// Keeps the list of orders in memory, and executes cancellations.
    pub orders: Arc<OrderList>,
    pub store: Arc<dyn Store>,
    pub row_lookups: Arc<Semaphore>,
    pub damage_check: DamageCheck,
    pub keys: Arc<KeyCache>,
    pub rate_limiter: Arc<dyn RateLimiter>,
    pub clock: Arc<dyn Clock>,
    pub environment: Environment,
    pub metrics: Metrics,
    pub log: Logger,
    /// Logs one line per request, if the log level includes `info`.
    pub request_log: RequestLog,
    /// True once the server has been told to stop. `/readyz` then responds with 503, and responses
    /// over HTTP/1.1 close their connections.
    pub is_stopping: AtomicBool,
}
