//! How many orders are in which state, counted seldom enough.
//!
//! To count is to read every row: 0.1 s for a million, measured. So they are
//! counted when somebody asks, only if an order has changed, and never for more
//! than a hundredth of the time.

use crate::store::{OrderCounts, Store, StoreError};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// What part of the time may go into counting: one in so many.
const SHARE: u32 = 100;

/// The counts as they were last found.
pub struct LiveOrderCounts {
    store: Arc<dyn Store>,
    found: Mutex<Found>,
    /// Held by whoever counts.
    turn: Mutex<()>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Found {
    counts: Option<OrderCounts>,
    /// The version of the orders that they belong to, or an older one.
    version: i64,
    /// Not to be counted again before.
    not_before: Option<Instant>,
}

impl LiveOrderCounts {
    /// Nothing counted yet.
    pub fn new(store: Arc<dyn Store>) -> LiveOrderCounts {
        LiveOrderCounts { store, found: Mutex::default(), turn: Mutex::default() }
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
        let _turn = match self.turn.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
            // Somebody counts.
            Err(TryLockError::WouldBlock) => return Ok(()),
        };
        let (version, started, found) =
            (self.store.versions()?.orders, Instant::now(), *self.lock());
        let soon = found.not_before.is_some_and(|instant| started < instant);
        if soon || (found.counts.is_some() && found.version == version) {
            return Ok(());
        }
        let counts = Some(self.store.count_orders()?);
        let not_before = Some(started + started.elapsed() * SHARE);
        *self.lock() = Found { counts, version, not_before };
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
