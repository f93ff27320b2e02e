//! What the server counts while it runs, as metrics of `prometheus_client`;
//! `admin::prometheus` registers them.
//!
//! Counting is lock-free: each counter was looked up beforehand, so a request
//! pays a few atomic additions. No label is chosen by a client: routes are those
//! of the contract, methods and statuses those of a fixed list.

mod fixed_family;
mod histogram;
mod rate_limited;
mod requests;

pub use fixed_family::FixedFamily;
pub use histogram::Histogram;
pub use rate_limited::RateLimitedRequests;
pub use requests::{Requests, RouteId};

/// Bounds of batch sizes: powers of two up to the largest batch of the writer.
const BATCH_SIZES: [u64; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024];

/// The metrics of a server. Clones share their counters.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Requests by route, method and status, and their latencies.
    pub requests: Requests,
    /// Requests answered with 429.
    pub rate_limited: RateLimitedRequests,
    /// Cancellations per transaction; the writer counts them.
    pub batches: Histogram,
}

impl Metrics {
    /// All counters at 0, with a route for each of these operations.
    pub fn new(operations: Vec<String>) -> Metrics {
        Metrics {
            requests: Requests::new(operations),
            rate_limited: RateLimitedRequests::default(),
            batches: Histogram::new(&BATCH_SIZES),
        }
    }
}
