//! A lock-free histogram with fixed buckets. `prometheus_client`'s own counts
//! under a mutex that all cores would share on every request.

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts integers by bucket. Clones share the counts.
#[derive(Clone, Debug)]
pub struct Histogram(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    bounds: &'static [u64],
    /// How many of the observed unit make one of the encoded unit.
    divisor: f64,
    /// One for each bound, and a last one for what exceeds them all.
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    /// An empty histogram with these upper bounds, which ascend.
    pub fn new(bounds: &'static [u64]) -> Histogram {
        Histogram::with_divisor(bounds, 1.0)
    }

    /// An empty histogram of microseconds with these upper bounds, encoded in seconds.
    pub fn of_microseconds(bounds: &'static [u64]) -> Histogram {
        Histogram::with_divisor(bounds, 1e6)
    }

    fn with_divisor(bounds: &'static [u64], divisor: f64) -> Histogram {
        let buckets = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Histogram(Arc::new(Inner { bounds, divisor, buckets, sum: AtomicU64::new(0) }))
    }

    /// Counts a value in the bucket of the smallest bound that is not below it.
    pub fn observe(&self, value: u64) {
        let index = self.0.bounds.partition_point(|bound| *bound < value);
        if let Some(bucket) = self.0.buckets.get(index) {
            bucket.fetch_add(1, Ordering::Relaxed);
            self.0.sum.fetch_add(value, Ordering::Relaxed);
        }
    }

    /// The sum of all values.
    pub fn sum(&self) -> u64 {
        self.0.sum.load(Ordering::Relaxed)
    }

    /// Each bound with the number of values in its bucket; `None` is the bound of
    /// the last bucket.
    pub fn counts(&self) -> impl Iterator<Item = (Option<u64>, u64)> {
        let bounds = self.0.bounds.iter().copied().map(Some).chain([None]);
        bounds.zip(self.0.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)))
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let divisor = self.0.divisor;
        let bound =
            |bound: Option<u64>| bound.map_or(f64::INFINITY, |bound| bound as f64 / divisor);
        let buckets: Vec<_> = self.counts().map(|(upper, count)| (bound(upper), count)).collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        let sum = self.sum() as f64 / divisor;
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use super::Histogram;

    #[test]
    fn a_value_counts_at_the_smallest_bound_that_holds_it() {
        let histogram = Histogram::new(&[10, 20]);
        for value in [0, 10, 11, 20, 21, 1_000] {
            histogram.observe(value);
        }
        let counts: Vec<_> = histogram.counts().collect();
        assert_eq!(counts, [(Some(10), 2), (Some(20), 2), (None, 2)]);
        assert_eq!(histogram.sum(), 1_062);
    }
}
