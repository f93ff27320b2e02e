//! What the server counts of itself while it runs. It knows nothing of who asks
//! for the counts; `server::exposition` writes them down.
//!
//! To count is a few atomic additions at places that were found beforehand, so
//! that it costs a request next to nothing. No place is named by a caller: routes
//! are those of the contract, methods and statuses those of a fixed list.

mod histogram;
mod requests;

pub use histogram::Histogram;
pub use requests::{Requests, RouteId};

use crate::limits::{Decision, Window};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use store_orders_api::plans::Plan;

/// Sizes of batches: powers of two up to what one transaction carries out at
/// most.
const BATCH_SIZES: [u64; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024];

/// What is counted.
#[derive(Debug)]
pub struct Metrics {
    /// Requests that were answered, and how long that took.
    pub requests: Requests,
    /// Requests that the limits refused.
    pub refusals: Refusals,
    /// How many cancellations each transaction carried out. The writer has it
    /// too.
    pub batches: Arc<Histogram>,
}

impl Metrics {
    /// Nothing counted yet, of these operations.
    pub fn new(operations: Vec<String>) -> Metrics {
        Metrics {
            requests: Requests::new(operations),
            refusals: Refusals::default(),
            batches: Arc::new(Histogram::new(&BATCH_SIZES)),
        }
    }
}

/// How many requests the limits refused, by plan and reason. Whoever has no valid
/// key has no plan.
#[derive(Debug, Default)]
pub struct Refusals([Reasons; Plan::ALL.len() + 1]);

#[derive(Debug, Default)]
struct Reasons {
    minute: AtomicU64,
    day: AtomicU64,
    banned: AtomicU64,
}

/// The requests of one plan that were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// `none` without a valid key.
    pub plan: &'static str,
    /// The minute window was exhausted.
    pub minute: u64,
    /// The day window was exhausted.
    pub day: u64,
    /// The key was banned.
    pub banned: u64,
}

impl Refusals {
    /// Counts the verdict if it is a refusal.
    pub fn count(&self, plan: Option<Plan>, verdict: &Decision) {
        // Without a plan, the last place.
        let place = plan.and_then(|plan| Plan::ALL.iter().position(|other| *other == plan));
        let Some(reasons) = self.0.get(place.unwrap_or(Plan::ALL.len())) else { return };
        let counter = match verdict {
            Decision::Admitted(_) => return,
            Decision::Limited(_, Window::Minute) => &reasons.minute,
            Decision::Limited(_, Window::Day) => &reasons.day,
            Decision::Banned(_) => &reasons.banned,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The counts of every plan.
    pub fn all(&self) -> impl Iterator<Item = Refused> {
        let plans = Plan::ALL.iter().map(|plan| plan.as_str()).chain(["none"]);
        plans.zip(&self.0).map(|(plan, reasons)| Refused {
            plan,
            minute: reasons.minute.load(Ordering::Relaxed),
            day: reasons.day.load(Ordering::Relaxed),
            banned: reasons.banned.load(Ordering::Relaxed),
        })
    }
}
