//! A fixed window, opened by the first request counted in it; and the two of an
//! account, which admit together or not at all.

use super::timestamp::Timestamp;
use super::{Decision, RateLimitStatus, Window};
use std::cmp::Reverse;
use store_orders_api::plans::PlanLimits;

/// How many requests were counted in a window that closes at some moment. A
/// window that has closed is as good as none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// When the window closes.
    pub closes: Timestamp,
    /// Requests counted in it.
    pub requests: u32,
}

impl Count {
    /// Whether the window is open at `now`.
    pub fn is_open(self, now: Timestamp) -> bool {
        now < self.closes
    }

    /// The count as it stands at `now`: fresh if the window has closed.
    fn at(self, now: Timestamp, window: Window) -> Count {
        let fresh = Count { closes: now + window.length(), requests: 0 };
        if self.is_open(now) { self } else { fresh }
    }

    /// What the headers say of this window under `limit`.
    fn figures(self, now: Timestamp, limit: u32) -> RateLimitStatus {
        RateLimitStatus {
            limit,
            remaining: limit.saturating_sub(self.requests),
            resets_in: self.closes.since(now),
        }
    }

    /// Admits one request under `limit` if there is room.
    pub fn admit(&mut self, now: Timestamp, window: Window, limit: u32) -> Decision {
        let mut count = self.at(now, window);
        if let Some((figures, window)) = count.exhausted(now, window, limit) {
            return Decision::Limited(figures, window);
        }
        count.requests += 1;
        *self = count;
        Decision::Admitted(count.figures(now, limit))
    }

    /// What a refusal says of this window, if it has no room. Under a limit of 0
    /// no window ever opens: its reset is always one full window away.
    fn exhausted(
        self,
        now: Timestamp,
        window: Window,
        limit: u32,
    ) -> Option<(RateLimitStatus, Window)> {
        let mut figures = self.figures(now, limit);
        if limit == 0 {
            figures.resets_in = window.length();
        }
        (self.requests >= limit).then_some((figures, window))
    }

    /// A count that was carried over a restart: no window is open for longer
    /// than it lasts.
    fn carried(self, now: Timestamp, window: Window) -> Count {
        Count { closes: self.closes.min(now + window.length()), ..self }
    }
}

/// Both windows of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountWindows {
    /// The window of 60 seconds.
    pub minute: Count,
    /// The window of 86,400 seconds.
    pub day: Count,
}

impl AccountWindows {
    /// Admits a request if both windows have room, and then counts it in both.
    pub fn admit(&mut self, now: Timestamp, limits: PlanLimits) -> Decision {
        let mut minute = self.minute.at(now, Window::Minute);
        let mut day = self.day.at(now, Window::Day);
        if let Some(refused) = refusal(minute, day, now, limits) {
            return refused;
        }
        minute.requests += 1;
        day.requests += 1;
        *self = AccountWindows { minute, day };
        let minute = minute.figures(now, limits.per_minute);
        let day = day.figures(now, limits.per_day);
        // The window with fewer requests remaining; on a tie the later reset.
        let of_day =
            (day.remaining, Reverse(day.resets_in)) < (minute.remaining, Reverse(minute.resets_in));
        Decision::Admitted(if of_day { day } else { minute })
    }

    /// Whether anything is counted at `now`.
    pub fn is_open(self, now: Timestamp) -> bool {
        self.minute.is_open(now) || self.day.is_open(now)
    }

    /// Both windows as they were carried over a restart.
    pub fn carried(self, now: Timestamp) -> AccountWindows {
        AccountWindows {
            minute: self.minute.carried(now, Window::Minute),
            day: self.day.carried(now, Window::Day),
        }
    }
}

/// The exhausted window that resets last, if any is exhausted.
fn refusal(minute: Count, day: Count, now: Timestamp, limits: PlanLimits) -> Option<Decision> {
    let minute = minute.exhausted(now, Window::Minute, limits.per_minute);
    let day = day.exhausted(now, Window::Day, limits.per_day);
    let (figures, window) = match (minute, day) {
        (Some(minute), Some(day)) if minute.0.resets_in > day.0.resets_in => minute,
        (_, Some(day)) => day,
        (Some(minute), None) => minute,
        (None, None) => return None,
    };
    Some(Decision::Limited(figures, window))
}
