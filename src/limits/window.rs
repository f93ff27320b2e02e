//! Fixed windows, opened by the first request counted in them. An account has two,
//! which admit a request together or not at all.

use super::timestamp::Timestamp;
use super::{Decision, RateLimitStatus, Window};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use store_orders_api::plans::PlanLimits;

/// One window. Once closed it counts as empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedWindow {
    /// When it closes.
    pub closes_at: Timestamp,
    /// Requests counted in it.
    pub requests: u32,
}

impl FixedWindow {
    /// Whether it is open at `now`.
    pub fn is_open(self, now: Timestamp) -> bool {
        now < self.closes_at
    }

    /// This window, or a new one if it has closed.
    fn current(self, now: Timestamp, window: Window) -> FixedWindow {
        let new = FixedWindow { closes_at: now + window.length(), requests: 0 };
        if self.is_open(now) { self } else { new }
    }

    fn status(self, now: Timestamp, limit: u32) -> RateLimitStatus {
        RateLimitStatus {
            limit,
            remaining: limit.saturating_sub(self.requests),
            resets_in: self.closes_at.saturating_duration_since(now),
        }
    }

    /// What a snapshot holds of it: closed windows are alike, and take few bytes.
    fn saved(self, now: Timestamp) -> FixedWindow {
        if self.is_open(now) { self } else { FixedWindow { closes_at: now, requests: 0 } }
    }

    /// Counts a request if there is room under `limit`.
    pub fn admit(&mut self, now: Timestamp, window: Window, limit: u32) -> Decision {
        let mut current = self.current(now, window);
        if let Some((status, window)) = current.exhausted(now, window, limit) {
            return Decision::Limited(status, window);
        }
        current.requests += 1;
        *self = current;
        Decision::Admitted(current.status(now, limit))
    }

    /// The status of a window without room. Under a limit of 0 no window opens, so
    /// the reset is always one full window away.
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

    /// Two counts of one window: the part counted first opened it.
    fn merged(self, other: FixedWindow, now: Timestamp) -> FixedWindow {
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

/// Both windows of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountWindows {
    /// 60 seconds.
    pub minute: FixedWindow,
    /// 86,400 seconds.
    pub day: FixedWindow,
}

impl AccountWindows {
    /// Counts a request in both windows if both have room. Otherwise reports the
    /// exhausted window that resets last.
    pub fn admit(&mut self, now: Timestamp, limits: PlanLimits) -> Decision {
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
        // The window with fewer requests remaining; on a tie the later reset.
        let day_is_closer =
            (day.remaining, Reverse(day.resets_in)) < (minute.remaining, Reverse(minute.resets_in));
        Decision::Admitted(if day_is_closer { day } else { minute })
    }

    /// Whether either window is open at `now`.
    pub fn is_open(self, now: Timestamp) -> bool {
        self.minute.is_open(now) || self.day.is_open(now)
    }

    /// What a snapshot holds of them; `None` if both have closed.
    pub fn saved(self, now: Timestamp) -> Option<AccountWindows> {
        let saved = AccountWindows { minute: self.minute.saved(now), day: self.day.saved(now) };
        self.is_open(now).then_some(saved)
    }

    /// These windows, and what was counted in them apart.
    pub fn merged(self, other: AccountWindows, now: Timestamp) -> AccountWindows {
        AccountWindows {
            minute: self.minute.merged(other.minute, now),
            day: self.day.merged(other.day, now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn counts_add_within_the_same_window_only() {
        let at = |seconds| Timestamp::from(Duration::from_secs(seconds));
        let window = |closes, requests| FixedWindow { closes_at: at(closes), requests };
        for (saved, since, merged) in [
            (window(50, 7), window(70, 2), window(50, 9)),
            (window(20, 7), window(70, 2), window(70, 2)),
            (window(50, 7), FixedWindow::default(), window(50, 7)),
            (FixedWindow::default(), window(70, 2), window(70, 2)),
            (window(50, u32::MAX), window(70, 2), window(50, u32::MAX)),
        ] {
            assert_eq!(since.merged(saved, at(20)), merged, "{saved:?}");
        }
    }

    #[test]
    fn windows_merge_each_with_its_own() {
        let at = |seconds| Timestamp::from(Duration::from_secs(seconds));
        let window = |closes, requests| FixedWindow { closes_at: at(closes), requests };
        let one = AccountWindows { minute: window(50, 1), day: window(500, 10) };
        let other = AccountWindows { minute: window(60, 2), day: window(600, 20) };
        let both = AccountWindows { minute: window(50, 3), day: window(500, 30) };
        assert_eq!(one.merged(other, at(20)), both);
    }

    #[test]
    fn a_limit_of_0_resets_in_a_whole_window_and_any_other_when_its_window_closes() {
        let now = Timestamp::from(Duration::from_secs(10));
        let window = FixedWindow { closes_at: now + Duration::from_secs(7), requests: 5 };
        let resets_in = |limit| {
            let exhausted = window.exhausted(now, Window::Minute, limit);
            exhausted.map(|(status, _)| status.resets_in.as_secs())
        };
        assert_eq!([0, 5, 6].map(resets_in), [Some(60), Some(7), None]);
    }
}
