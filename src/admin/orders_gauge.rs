//! The gauge of orders by status.
//!
//! Counting reads every row: 0.1 s for a million, measured. So a scrape counts
//! them only if an order has changed, and for at most a hundredth of the time.

use crate::blocking::run_with;
use crate::store::{HalfVersion, OrderCounts, Status, Store, StoreError};
use parking_lot::Mutex;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After a count, none follows for this many times as long as it took.
const PAUSE_FACTOR: u32 = 100;

/// The latest counts; absent from a scrape until there are any.
#[derive(Clone)]
pub struct OrdersGauge(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    latest: Mutex<Latest>,
    /// Held while counting.
    counting: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Clone, Copy, Default)]
struct Latest {
    counts: Option<OrderCounts>,
    /// The version of the orders that was counted, or an older one.
    version: Option<HalfVersion>,
    not_before: Option<Instant>,
}

impl OrdersGauge {
    /// Nothing counted yet.
    pub fn new(store: Arc<dyn Store>) -> OrdersGauge {
        let (latest, counting) = Default::default();
        OrdersGauge(Arc::new(Inner { store, latest, counting }))
    }

    /// Counts the orders if they are due, and waits for that no longer than this.
    pub async fn refresh(&self, timeout: Duration) {
        let Ok(counting) = Arc::clone(&self.0.counting).try_lock_owned() else { return };
        let inner = Arc::clone(&self.0);
        let counting = run_with(counting, move || inner.refresh());
        // After a timeout the next scrape has the counts; `/readyz` reports a store
        // that fails.
        let _ = tokio::time::timeout(timeout, counting).await;
    }
}

impl Inner {
    fn refresh(&self) -> Result<(), StoreError> {
        let (version, started, latest) =
            (self.store.poll_versions()?.versions.of_orders(), Instant::now(), *self.latest.lock());
        let pauses = latest.not_before.is_some_and(|instant| started < instant);
        if pauses || (latest.counts.is_some() && latest.version == Some(version)) {
            return Ok(());
        }
        let counted = self.store.count_orders();
        let mut latest = self.latest.lock();
        // Also after a failure: what fails may have taken long.
        latest.not_before = Some(started + started.elapsed() * PAUSE_FACTOR);
        (latest.counts, latest.version) = (Some(counted?), Some(version));
        Ok(())
    }
}

impl EncodeMetric for OrdersGauge {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let Some(counts) = self.0.latest.lock().counts else { return Ok(()) };
        let states = [
            (Status::Pending, counts.pending),
            (Status::Shipped, counts.shipped),
            (Status::Cancelled, counts.cancelled),
        ];
        states.into_iter().try_for_each(|(state, count)| {
            let labels = [("state", state.as_str())];
            ConstGauge::new(count).encode(encoder.encode_family(&labels)?)
        })
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }

    fn is_empty(&self) -> bool {
        self.0.latest.lock().counts.is_none()
    }
}

impl fmt::Debug for OrdersGauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrdersGauge").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::SqliteStore;

    #[test]
    fn a_count_that_fails_is_not_repeated_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        let damaged = rusqlite::Connection::open(store.path()).unwrap();
        damaged.execute_batch("ALTER TABLE orders RENAME TO others").unwrap();
        let gauge = OrdersGauge::new(Arc::new(store));
        gauge.0.refresh().unwrap_err();
        assert!(gauge.0.latest.lock().not_before.is_some());
    }
}
