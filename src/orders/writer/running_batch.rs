//! How long the batch that the writer carries out has been under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The batch under way, if there is one. Clones share it.
#[derive(Clone, Debug)]
pub struct RunningBatch {
    epoch: Instant,
    /// Nanoseconds after `epoch`, or 0 between two batches.
    began: Arc<AtomicU64>,
}

impl RunningBatch {
    /// No batch yet.
    pub fn none() -> RunningBatch {
        RunningBatch { epoch: Instant::now(), began: Arc::default() }
    }

    /// A batch begins.
    pub fn begin(&self) {
        let nanos = u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.began.store(nanos.max(1), Ordering::Relaxed);
    }

    /// It has ended, however it did.
    pub fn end(&self) {
        self.began.store(0, Ordering::Relaxed);
    }

    /// How long it has been under way; `None` between two batches.
    pub fn age(&self) -> Option<Duration> {
        let began = Some(self.began.load(Ordering::Relaxed)).filter(|began| *began > 0)?;
        Some(self.epoch.elapsed().saturating_sub(Duration::from_nanos(began)))
    }
}
