//! A fixed window, opened by the first request counted in it; and the two of an
//! account, which admit together or not at all.

use super::{Figures, Verdict, Window};
use std::time::Duration;
use store_orders_api::plans::PlanLimits;

/// How many requests were counted in a window that closes at a monotonic time.
/// A window that has closed is as good as none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Monotonic time at which the window closes.
    pub closes: Duration,
    /// Requests counted in it.
    pub requests: u32,
}

impl Count {
    /// The count as it stands at `now`: fresh if the window has closed.
    pub fn at(self, now: Duration, window: Window) -> Count {
        if now < self.closes { self } else { Count { closes: now + window.length(), requests: 0 } }
    }

    /// What the headers say of this window under `limit`.
    pub fn figures(self, now: Duration, limit: u32) -> Figures {
        Figures {
            limit,
            remaining: limit.saturating_sub(self.requests),
            resets_in: self.closes.saturating_sub(now),
        }
    }

    /// Admits one request under `limit` if there is room.
    pub fn admit(&mut self, now: Duration, window: Window, limit: u32) -> Verdict {
        let mut count = self.at(now, window);
        if count.requests >= limit {
            return Verdict::Limited(count.figures(now, limit), window);
        }
        count.requests += 1;
        *self = count;
        Verdict::Admitted(count.figures(now, limit))
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
    pub fn admit(&mut self, now: Duration, limits: PlanLimits) -> Verdict {
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
        let of_day = (day.remaining, std::cmp::Reverse(day.resets_in))
            < (minute.remaining, std::cmp::Reverse(minute.resets_in));
        Verdict::Admitted(if of_day { day } else { minute })
    }
}

/// The exhausted window that resets last, if any is exhausted. Under a limit of
/// 0 a window never opens, so its reset is always one full window away.
fn refusal(minute: Count, day: Count, now: Duration, limits: PlanLimits) -> Option<Verdict> {
    let exhausted = |count: Count, window: Window, limit: u32| {
        let mut figures = count.figures(now, limit);
        if limit == 0 {
            figures.resets_in = window.length();
        }
        (count.requests >= limit).then_some((figures, window))
    };
    let minute = exhausted(minute, Window::Minute, limits.per_minute);
    let day = exhausted(day, Window::Day, limits.per_day);
    let (figures, window) = match (minute, day) {
        (Some(minute), Some(day)) if minute.0.resets_in > day.0.resets_in => minute,
        (_, Some(day)) => day,
        (Some(minute), None) => minute,
        (None, None) => return None,
    };
    Some(Verdict::Limited(figures, window))
}
