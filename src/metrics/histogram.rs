//! How often a value was how large, counted without a lock.
//!
//! The histogram of `prometheus-client` counts under a mutex that all cores
//! would share on every request.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of whole numbers, by the smallest bound that is not below them.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    /// One more than there are bounds: the last is for what exceeds them all.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    /// Nothing counted yet. The bounds ascend.
    pub fn new(bounds: &'static [u64]) -> Histogram {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Histogram { bounds, counts, sum: AtomicU64::new(0) }
    }

    /// Counts a value.
    pub fn count(&self, value: u64) {
        let place = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.counts.get(place) {
            count.fetch_add(1, Ordering::Relaxed);
            self.sum.fetch_add(value, Ordering::Relaxed);
        }
    }

    /// The sum of all values.
    pub fn sum(&self) -> u64 {
        self.sum.load(Ordering::Relaxed)
    }

    /// Each bound with how many values lie between it and the one before; none
    /// for what exceeds them all.
    pub fn counts(&self) -> impl Iterator<Item = (Option<u64>, u64)> {
        let bounds = self.bounds.iter().copied().map(Some).chain([None]);
        bounds.zip(self.counts.iter().map(|count| count.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::Histogram;

    #[test]
    fn a_value_counts_at_the_smallest_bound_that_holds_it() {
        let histogram = Histogram::new(&[10, 20]);
        for value in [0, 10, 11, 20, 21, 1_000] {
            histogram.count(value);
        }
        let counts: Vec<_> = histogram.counts().collect();
        assert_eq!(counts, [(Some(10), 2), (Some(20), 2), (None, 2)]);
        assert_eq!(histogram.sum(), 1_062);
    }
}
