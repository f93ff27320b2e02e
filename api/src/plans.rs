//! The plans of the specification's Limits section: the one table for the
//! document and for the server.

use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// How many requests an account may send in each of its two windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanLimits {
    /// Requests in a window of 60 seconds.
    pub per_minute: u32,
    /// Requests in a window of 86,400 seconds.
    pub per_day: u32,
}

/// A customer's plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Plan {
    /// 60 a minute, 1,000 a day.
    Free,
    /// 300 a minute, 10,000 a day.
    Pro,
    /// 1,000 a minute, 100,000 a day.
    Business,
    /// Limits agreed per account.
    Enterprise,
}

impl Plan {
    /// Every plan, from the smallest to the one without fixed limits.
    pub const ALL: [Plan; 4] = [Plan::Free, Plan::Pro, Plan::Business, Plan::Enterprise];

    /// The plan as the specification writes it.
    pub const fn title(self) -> &'static str {
        match self {
            Plan::Free => "Free",
            Plan::Pro => "Pro",
            Plan::Business => "Business",
            Plan::Enterprise => "Enterprise",
        }
    }

    /// The plan as the command line and the store write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Plan::Free => "free",
            Plan::Pro => "pro",
            Plan::Business => "business",
            Plan::Enterprise => "enterprise",
        }
    }

    /// The limits of the plan; `None` for Enterprise, whose limits are agreed per
    /// account.
    pub const fn limits(self) -> Option<PlanLimits> {
        let (per_minute, per_day) = match self {
            Plan::Free => (60, 1_000),
            Plan::Pro => (300, 10_000),
            Plan::Business => (1_000, 100_000),
            Plan::Enterprise => return None,
        };
        Some(PlanLimits { per_minute, per_day })
    }
}

/// A text that is not the [`as_str`](Plan::as_str) of any plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such plan")]
pub struct UnknownPlan;

impl FromStr for Plan {
    type Err = UnknownPlan;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Plan::ALL.into_iter().find(|plan| plan.as_str() == text).ok_or(UnknownPlan)
    }
}
