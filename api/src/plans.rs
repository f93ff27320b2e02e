//! The plans in `x-plans` of version 1's document, and the limits of a plan.

pub use crate::v1::Plans as Plan;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::str::FromStr;

/// The rate limits of an account, one for each window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanLimits {
    /// Maximum requests in a window of 60 seconds.
    pub per_minute: u32,
    /// Maximum requests in a window of 86,400 seconds.
    pub per_day: u32,
}

impl Plan {
    /// Returns the plan's name on the command line and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Plan::Free => "free",
            Plan::Pro => "pro",
            Plan::Business => "business",
            Plan::Enterprise => "enterprise",
        }
    }

    /// Returns the limits of the plan. Returns `None` for Enterprise, because the limits of each
    /// Enterprise account are agreed individually.
    pub const fn limits(self) -> Option<PlanLimits> {
        match (self.requests_per_minute(), self.requests_per_day()) {
            (Some(per_minute), Some(per_day)) => Some(PlanLimits { per_minute, per_day }),
            _ => None,
        }
    }
}

impl Serialize for Plan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Plan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The error for a name that no plan has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such plan")]
pub struct UnknownPlan;

impl FromStr for Plan {
    type Err = UnknownPlan;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Plan::ALL.into_iter().find(|plan| plan.as_str() == text).ok_or(UnknownPlan)
    }
}
