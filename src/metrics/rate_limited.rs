//! Counts the requests that got a 429, by plan and reason.

use crate::rate_limiter::{Decision, Window};
use prometheus::{
    IntCounter, Registry, register_int_counter_vec_with_registry as register_int_counter_vec,
};
use std::sync::Arc;
use store_orders_api::plans::Plan;

/// Counts 429s. Clones share the counters.
#[derive(Clone, Debug)]
pub struct RateLimitedRequests {
    /// The counters of each plan, in the order of `Plan::ALL`.
    plans: Arc<[PlanCounters]>,
    /// The counters of 429s to requests without a valid key.
    unauthenticated: WindowCounters,
}

#[derive(Debug)]
struct PlanCounters {
    limited: WindowCounters,
    banned: IntCounter,
}

/// Counters of 429s, by the window that was exhausted.
#[derive(Clone, Debug)]
struct WindowCounters {
    minute: IntCounter,
    day: IntCounter,
}

impl RateLimitedRequests {
    pub fn new(registry: &Registry) -> prometheus::Result<RateLimitedRequests> {
        let limited = register_int_counter_vec!(
            "store_orders_limited_requests_total",
            "Requests refused because a window was exhausted; without a valid key the plan is \
             none.",
            &["plan", "window"],
            registry
        )?;
        let banned = register_int_counter_vec!(
            "store_orders_banned_requests_total",
            "Requests refused because their key was banned.",
            &["plan"],
            registry
        )?;
        let windows = |plan: &str| WindowCounters {
            minute: limited.with_label_values(&[plan, Window::Minute.unit()]),
            day: limited.with_label_values(&[plan, Window::Day.unit()]),
        };
        let plans = Plan::ALL.iter().map(|plan| PlanCounters {
            limited: windows(plan.as_str()),
            banned: banned.with_label_values(&[plan.as_str()]),
        });
        Ok(RateLimitedRequests { plans: plans.collect(), unauthenticated: windows("none") })
    }

    /// Counts the decision if it leads to a 429.
    pub fn count(&self, plan: Option<Plan>, decision: &Decision) {
        let plan = plan.and_then(|plan| Plan::ALL.iter().position(|other| *other == plan));
        let plan = plan.and_then(|index| self.plans.get(index));
        match decision {
            Decision::Admitted(_) | Decision::Unavailable(_) => {}
            Decision::Limited(_, window) => {
                let windows = plan.map_or(&self.unauthenticated, |plan| &plan.limited);
                match window {
                    Window::Minute => windows.minute.inc(),
                    Window::Day => windows.day.inc(),
                }
            }
            Decision::Banned { .. } => {
                if let Some(plan) = plan {
                    plan.banned.inc();
                }
            }
        }
    }
}
