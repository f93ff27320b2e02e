//! Fixed windows, which begin with the first counted request. An account has a window of a minute
//! and a window of a day.
//!
//! [`rate_limiter`](super) explains the rules. PostgreSQL counts by the same rules in `count.sql`.

use super::{Decision, RateLimitStatus, Window};
use crate::clock::Timestamp;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use store_orders_api::plans::PlanLimits;

/// A fixed window and the number of requests in it. A closed window counts as empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedWindow {
    pub closes_at: Timestamp,
    pub requests: u32,
}

impl FixedWindow {
    pub fn is_open(self, now: Timestamp) -> bool {
        now < self.closes_at
    }

    /// Returns this window as it is at `now`. A closed window has no requests. The window ends at
    /// most one window length after `now`, even if the clock was set back.
    pub fn remaining(self, now: Timestamp, window: Window) -> FixedWindow {
        let requests = if self.is_open(now) { self.requests } else { 0 };
        FixedWindow { closes_at: self.closes_at.min(now + window.length()), requests }
    }

    /// Returns the window in which a request at `now` would be counted.
    fn current(self, now: Timestamp, window: Window) -> FixedWindow {
        let new = FixedWindow { closes_at: now + window.length(), requests: 0 };
        if self.is_open(now) { self.remaining(now, window) } else { new }
    }

    /// Returns the status at `now`, without counting a request.
    pub fn current_status(self, now: Timestamp, window: Window, limit: u32) -> RateLimitStatus {
        self.current(now, window).status(now, limit)
    }

    fn status(self, now: Timestamp, limit: u32) -> RateLimitStatus {
        RateLimitStatus {
            limit,
            remaining: limit.saturating_sub(self.requests),
            resets_in: self.closes_at.saturating_duration_since(now),
        }
    }

    /// Replaces a closed window with an empty one, which takes fewer bytes in the counts file.
    fn to_saved(self, now: Timestamp) -> FixedWindow {
        if self.is_open(now) { self } else { FixedWindow::default() }
    }

    pub fn admit(&mut self, now: Timestamp, window: Window, limit: u32) -> Decision {
        // Store the capped end even if the request is refused. Otherwise, after the clock was set
        // back, each refusal would move the window's end later.
        *self = self.remaining(now, window);
        let mut current = self.current(now, window);
        if let Some((status, window)) = current.exhausted(now, window, limit) {
            return Decision::Limited(status, window);
        }
        current.requests += 1;
        *self = current;
        Decision::Admitted(current.status(now, limit))
    }

    /// Returns the status if `limit` is reached. A limit of 0 never opens a window, so the reset is
    /// always one window length away.
    fn exhausted(
        self,
        now: Timestamp,
        window: Window,
        limit: u32,
    ) -> Option<(RateLimitStatus, Window)> {
        let mut status = self.status(now, limit);
        if limit == 0 {
            status.resets_in = window.length();
        }
        (self.requests >= limit).then_some((status, window))
    }

    /// Adds the requests of `other`, which were counted separately for the same account.
    fn merge(self, other: FixedWindow, now: Timestamp) -> FixedWindow {
        match (self.is_open(now), other.is_open(now)) {
            (_, false) => self,
            (false, true) => other,
            (true, true) => FixedWindow {
                closes_at: self.closes_at.min(other.closes_at),
                requests: self.requests.saturating_add(other.requests),
            },
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountWindows {
    pub minute: FixedWindow,
    pub day: FixedWindow,
}

impl AccountWindows {
    /// Counts a request in both windows if neither is exhausted. Otherwise, the decision names the
    /// exhausted window that resets last.
    pub fn admit(&mut self, now: Timestamp, limits: PlanLimits) -> Decision {
        self.minute = self.minute.remaining(now, Window::Minute);
        self.day = self.day.remaining(now, Window::Day);
        let mut minute = self.minute.current(now, Window::Minute);
        let mut day = self.day.current(now, Window::Day);
        let exhausted = [
            minute.exhausted(now, Window::Minute, limits.per_minute),
            day.exhausted(now, Window::Day, limits.per_day),
        ];
        let last = exhausted.into_iter().flatten().max_by_key(|(status, _)| status.resets_in);
        if let Some((status, window)) = last {
            return Decision::Limited(status, window);
        }
        minute.requests += 1;
        day.requests += 1;
        *self = AccountWindows { minute, day };
        let minute = minute.status(now, limits.per_minute);
        let day = day.status(now, limits.per_day);
        // Report the window that stops the client first: the one with fewer requests remaining. On
        // a tie, report the one that resets later, because it stops the client for longer.
        let day_is_closer =
            (day.remaining, Reverse(day.resets_in)) < (minute.remaining, Reverse(minute.resets_in));
        Decision::Admitted(if day_is_closer { day } else { minute })
    }

    pub fn is_open(self, now: Timestamp) -> bool {
        self.minute.is_open(now) || self.day.is_open(now)
    }

    /// Returns the windows for the counts file, or `None` if both have closed.
    pub fn to_saved(self, now: Timestamp) -> Option<AccountWindows> {
        let saved =
            AccountWindows { minute: self.minute.to_saved(now), day: self.day.to_saved(now) };
        self.is_open(now).then_some(saved)
    }

    /// Adds the requests of `other`, which an earlier run of the server counted.
    pub fn merge(self, other: AccountWindows, now: Timestamp) -> AccountWindows {
        AccountWindows {
            minute: self.minute.merge(other.minute, now),
            day: self.day.merge(other.day, now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn counts_of_open_windows_are_added() {
        let seconds = |seconds| Timestamp::from(Duration::from_secs(seconds));
        let window = |closes, requests| FixedWindow { closes_at: seconds(closes), requests };
        for (saved, since, merged) in [
            (window(50, 7), window(70, 2), window(50, 9)),
            (window(20, 7), window(70, 2), window(70, 2)),
            (window(50, 7), FixedWindow::default(), window(50, 7)),
            (FixedWindow::default(), window(70, 2), window(70, 2)),
            (window(50, u32::MAX), window(70, 2), window(50, u32::MAX)),
        ] {
            assert_eq!(since.merge(saved, seconds(20)), merged, "{saved:?}");
        }
    }

    #[test]
    fn minute_and_day_windows_are_merged_separately() {
        let seconds = |seconds| Timestamp::from(Duration::from_secs(seconds));
        let window = |closes, requests| FixedWindow { closes_at: seconds(closes), requests };
        let one = AccountWindows { minute: window(50, 1), day: window(500, 10) };
        let other = AccountWindows { minute: window(60, 2), day: window(600, 20) };
        let both = AccountWindows { minute: window(50, 3), day: window(500, 30) };
        assert_eq!(one.merge(other, seconds(20)), both);
    }

    #[test]
    fn a_clock_that_is_set_back_prolongs_no_window_and_opens_none() {
        let time = |seconds| Timestamp::from(Duration::from_secs(seconds));
        let mut window = FixedWindow::default();
        let mut admit = |seconds| window.admit(time(seconds), Window::Minute, 2);
        let limited = |seconds| {
            let resets_in = Duration::from_secs(seconds);
            Decision::Limited(RateLimitStatus { limit: 2, remaining: 0, resets_in }, Window::Minute)
        };
        assert!(admit(1_000).admits() && admit(1_010).admits());
        assert_eq!(admit(100), limited(60), "set back");
        assert_eq!(admit(130), limited(30), "the refusal recorded the end");
        assert_eq!(admit(90), limited(60), "set back again");
        assert!(admit(150).admits(), "one length after it was set back");
        assert!(admit(9_000).admits() && admit(9_000).admits(), "set forward");
    }

    #[test]
    fn a_limit_of_0_resets_in_a_full_window_and_other_limits_when_the_window_closes() {
        let now = Timestamp::from(Duration::from_secs(10));
        let window = FixedWindow { closes_at: now + Duration::from_secs(7), requests: 5 };
        let resets_in = |limit| {
            let exhausted = window.exhausted(now, Window::Minute, limit);
            exhausted.map(|(status, _)| status.resets_in.as_secs())
        };
        assert_eq!([0, 5, 6].map(resets_in), [Some(60), Some(7), None]);
    }
}
