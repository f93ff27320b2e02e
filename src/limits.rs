//! The limits of the specification: may this request be let in, and what do its
//! headers say. It knows accounts, keys and addresses by number only, and asks
//! nothing of the store.

mod addresses;
mod in_memory;
mod persistence;
mod strikes;
mod table;
mod timestamp;
mod window;

pub use addresses::{AddressKey, MOST_ADDRESSES};
pub use in_memory::{Counts, InMemoryLimits};
pub use persistence::{LimitsFile, LimitsPersister, check as check_limits_file};
pub use strikes::Strikes;
pub use timestamp::Timestamp;
pub use window::{AccountWindows, Count};

use crate::clock::Now;
use async_trait::async_trait;
use std::net::IpAddr;
use std::time::Duration;
use store_orders_api::plans::PlanLimits;

/// A request with a valid key.
#[derive(Clone, Copy, Debug)]
pub struct KeyedRequest {
    /// The account: windows are counted here.
    pub account: i64,
    /// The key: strikes and bans are counted here.
    pub key: i64,
    /// The limits of the account at this moment.
    pub limits: PlanLimits,
}

/// Which of the two windows the figures speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// 60 seconds.
    Minute,
    /// 86,400 seconds.
    Day,
}

impl Window {
    /// How long the window lasts.
    pub const fn length(self) -> Duration {
        match self {
            Window::Minute => Duration::from_secs(60),
            Window::Day => Duration::from_secs(86_400),
        }
    }

    /// The word that follows "requests a".
    pub const fn unit(self) -> &'static str {
        match self {
            Window::Minute => "minute",
            Window::Day => "day",
        }
    }
}

/// What the three headers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitStatus {
    /// `X-RateLimit-Limit`.
    pub limit: u32,
    /// `X-RateLimit-Remaining`.
    pub remaining: u32,
    /// How far `X-RateLimit-Reset` lies ahead.
    pub resets_in: Duration,
}

impl RateLimitStatus {
    /// `X-RateLimit-Reset`: Unix seconds, rounded up.
    pub fn reset_at(&self, now: Now) -> u64 {
        whole_seconds_up(now.wall.saturating_add(self.resets_in))
    }

    /// `Retry-After`: whole seconds, rounded up, at least 1.
    pub fn retry_after(&self) -> u64 {
        whole_seconds_up(self.resets_in).max(1)
    }
}

fn whole_seconds_up(duration: Duration) -> u64 {
    duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0))
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is let in, and counted.
    Admitted(RateLimitStatus),
    /// 429 `rate_limit_exceeded`: this window is exhausted.
    Limited(RateLimitStatus, Window),
    /// 429 `key_banned`.
    Banned(RateLimitStatus),
}

impl Decision {
    /// The figures of the headers, whatever the verdict.
    pub fn status(&self) -> RateLimitStatus {
        match self {
            Decision::Admitted(figures)
            | Decision::Limited(figures, _)
            | Decision::Banned(figures) => *figures,
        }
    }
}

/// Whoever counts: in memory for one server, shared for several later.
#[async_trait]
pub trait Limits: Send + Sync {
    /// Admits a request with a valid key and counts it in both windows of its
    /// account, in one atomic step, or refuses it and counts a strike.
    async fn admit(&self, request: KeyedRequest, now: Now) -> Decision;

    /// Counts a request without a valid key against its address.
    async fn admit_keyless(&self, address: IpAddr, now: Now) -> Decision;

    /// How many bans have begun since the start.
    fn bans(&self) -> u64;
}
