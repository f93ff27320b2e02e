//! How many orders are in which state, counted seldom enough.
//!
//! To count is to read every row: 50 ms for a million, measured where the store
//! reads 20 million rows a second. So they are counted when somebody asks, only
//! if an order has changed, and never for more than a hundredth of the time.

use crate::store::{OrderCounts, Store, StoreError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What part of the time may go into counting: one in so many.
const SHARE: u32 = 100;

/// The counts as they were last found.
pub struct LiveOrderCounts {
    store: Arc<dyn Store>,
    found: Mutex<Found>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Found {
    counts: Option<OrderCounts>,
    /// The version of the orders that they belong to, or an older one.
    version: i64,
    /// Not to be counted again before.
    not_before: Option<Instant>,
    is_counting: bool,
}

impl LiveOrderCounts {
    /// Nothing counted yet.
    pub fn new(store: Arc<dyn Store>) -> LiveOrderCounts {
        LiveOrderCounts { store, found: Mutex::default() }
    }

    /// The counts as they are known, after no longer than this. None as long as
    /// the first count goes on, or if it failed.
    pub async fn get(self: &Arc<Self>, longest: Duration) -> Option<OrderCounts> {
        let live = Arc::clone(self);
        let counting = tokio::task::spawn_blocking(move || live.bring_up_to_date());
        // What was not counted in time is there for whoever asks next; a store
        // that fails is what `/readyz` is for.
        let _ = tokio::time::timeout(longest, counting).await;
        self.lock().counts
    }

    fn bring_up_to_date(&self) -> Result<(), StoreError> {
        let version = self.store.versions()?.orders;
        let started = Instant::now();
        {
            let mut found = self.lock();
            let soon = found.not_before.is_some_and(|instant| started < instant);
            let current = found.counts.is_some() && found.version == version;
            if soon || current || found.is_counting {
                return Ok(());
            }
            found.is_counting = true;
        }
        let counts = self.store.count_orders();
        let mut found = self.lock();
        found.is_counting = false;
        found.not_before = Some(started + started.elapsed() * SHARE);
        found.counts = Some(counts?);
        found.version = version;
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
