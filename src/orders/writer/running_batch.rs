//! Measures the age of the writer's running batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time at which the running batch began, if a batch is running. Clones share this time.
#[derive(Clone, Debug)]
pub struct RunningBatch {
    epoch: Instant,
    /// The start of the batch, in nanoseconds after `epoch`. 0 between two batches.
    began_nanos: Arc<AtomicU64>,
}

impl RunningBatch {
    pub fn none() -> RunningBatch {
        RunningBatch { epoch: Instant::now(), began_nanos: Arc::default() }
    }

    pub fn begin(&self) {
        let nanos = u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.began_nanos.store(nanos.max(1), Ordering::Relaxed);
    }

    /// Records that the running batch has ended. Must be called even after a panic. Otherwise the
    /// batch would soon count as stuck.
    pub fn end(&self) {
        self.began_nanos.store(0, Ordering::Relaxed);
    }

    /// Returns the time since the running batch began; `None` if no batch is running.
    pub fn age(&self) -> Option<Duration> {
        let began = Some(self.began_nanos.load(Ordering::Relaxed)).filter(|began| *began > 0)?;
        Some(self.epoch.elapsed().saturating_sub(Duration::from_nanos(began)))
    }
}
