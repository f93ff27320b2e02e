//! The usage of an account's rate limits, as text and as JSON.

use super::timestamp::rfc3339_after;
use crate::clock::Now;
use crate::rate_limiter::{AccountUsage, Window};
use serde::Serialize;
use std::fmt;
use store_orders_api::plans::PlanLimits;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageJson {
    minute: WindowJson,
    day: WindowJson,
    /// The age of the counts in seconds: the time since a server wrote the counts file. Always 0
    /// for counts in PostgreSQL. Absent if the store is embedded and has no counts file.
    #[serde(skip_serializing_if = "Option::is_none")]
    age_seconds: Option<u64>,
    /// True if servers count requests in PostgreSQL. The printed text then shows no age, because
    /// these counts are always current.
    #[serde(skip)]
    is_shared: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WindowJson {
    used: u32,
    limit: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    resets_at: Option<String>,
}

impl UsageJson {
    pub fn new(usage: AccountUsage, limits: PlanLimits, now: Now, is_shared: bool) -> UsageJson {
        let window = |window, limit| {
            let open = usage.in_window(window);
            WindowJson {
                used: open.map_or(0, |open| open.requests),
                limit,
                resets_at: open.map(|open| rfc3339_after(now, open.resets_in)),
            }
        };
        UsageJson {
            minute: window(Window::Minute, limits.per_minute),
            day: window(Window::Day, limits.per_day),
            age_seconds: usage.age.map(|age| age.as_secs()),
            is_shared,
        }
    }
}

impl fmt::Display for UsageJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "minute     {}", self.minute)?;
        writeln!(f, "day        {}", self.day)?;
        match self.age_seconds {
            _ if self.is_shared => {
                f.write_str("counted    in PostgreSQL, each request before its answer")
            }
            Some(age) => write!(f, "counts     as of {age} s ago"),
            None => f.write_str("counts     none yet"),
        }
    }
}

impl fmt::Display for WindowJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} used", self.used, self.limit)?;
        match &self.resets_at {
            Some(resets_at) => write!(f, ", resets at {resets_at}"),
            None => Ok(()),
        }
    }
}
