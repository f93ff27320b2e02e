//! The metrics that the server updates while it runs. `admin` adds the metrics that each scrape
//! computes from the server's state.
//!
//! Counting takes a lock only when a counter is used for the first time. Clients cannot create
//! label values, because routes, methods and statuses come from fixed lists.

mod rate_limited;
mod requests;

pub use prometheus::Histogram;
pub use rate_limited::RateLimitedRequests;
pub use requests::{Requests, RouteId};

use prometheus::{HistogramOpts, Registry};

/// The metrics of a server. Clones share their counters.
#[derive(Clone, Debug)]
pub struct Metrics {
    pub requests: Requests,
    pub rate_limited: RateLimitedRequests,
    /// The sizes of successful batches, in cancellations. The writer of the list of orders records
    /// the sizes.
    pub batches: Histogram,
    pub registry: Registry,
}

impl Metrics {
    /// Registers the metrics. Each name in `operations` becomes a value of the label `route`.
    pub fn new(operations: Vec<String>) -> prometheus::Result<Metrics> {
        let registry = Registry::new();
        let batches = batch_sizes()?;
        registry.register(Box::new(batches.clone()))?;
        Ok(Metrics {
            requests: Requests::new(operations, &registry)?,
            rate_limited: RateLimitedRequests::new(&registry)?,
            batches,
            registry,
        })
    }
}

/// Creates a histogram of the writer's batch sizes. Its bounds are powers of two up to the largest
/// batch.
pub fn batch_sizes() -> prometheus::Result<Histogram> {
    let name = "store_orders_commit_batch_size";
    let help = "Cancellations in one transaction.";
    let bounds = prometheus::exponential_buckets(1.0, 2.0, 11)?;
    Histogram::with_opts(HistogramOpts::new(name, help).buckets(bounds))
}
