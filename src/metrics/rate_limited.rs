//! Requests answered with 429, by plan and reason.

use super::FixedFamily;
use crate::limits::{Decision, Window};
use prometheus_client::metrics::counter::Counter;
use store_orders_api::plans::Plan;

type Label = (&'static str, &'static str);

const WINDOWS: [Window; 2] = [Window::Minute, Window::Day];

/// Counts 429s. Clones share the counters.
#[derive(Clone, Debug)]
pub struct RateLimitedRequests {
    /// By plan and exhausted window; requests without a valid key have plan `none`.
    pub limited: FixedFamily<[Label; 2], Counter>,
    /// By the plan of the banned key.
    pub banned: FixedFamily<[Label; 1], Counter>,
}

impl Default for RateLimitedRequests {
    fn default() -> Self {
        let plans = || Plan::ALL.iter().map(|plan| plan.as_str());
        let limited = plans().chain(["none"]).flat_map(|plan| {
            WINDOWS.map(|window| ([("plan", plan), ("window", window.unit())], Counter::default()))
        });
        let banned = plans().map(|plan| ([("plan", plan)], Counter::default()));
        RateLimitedRequests { limited: limited.collect(), banned: banned.collect() }
    }
}

impl RateLimitedRequests {
    /// Counts the decision if it is a 429.
    pub fn count(&self, plan: Option<Plan>, decision: &Decision) {
        let plan = plan.and_then(|plan| Plan::ALL.iter().position(|other| *other == plan));
        let plan = plan.unwrap_or(Plan::ALL.len());
        let counter = match decision {
            Decision::Admitted(_) | Decision::Unavailable(_) => None,
            Decision::Limited(_, window) => {
                self.limited.get(plan * WINDOWS.len() + usize::from(*window == Window::Day))
            }
            Decision::Banned { .. } => self.banned.get(plan),
        };
        if let Some(counter) = counter {
            counter.inc();
        }
    }
}
