//! Strikes and bans of a key, for clients that keep sending after a 429.

use super::timestamp::Timestamp;
use super::{RateLimitStatus, Window};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use store_orders_api::limits::{
    BAN_FORGIVEN_AFTER_HOURS, FIRST_BAN_SECONDS, MAX_BAN_SECONDS, STRIKES_BEGIN_AFTER_SECONDS,
};

const FORGIVEN_AFTER: Duration = Duration::from_secs(BAN_FORGIVEN_AFTER_HOURS as u64 * 3_600);

/// The start of a key's minute, in which a 429 adds no strike.
const BURST: Duration = Duration::from_secs(STRIKES_BEGIN_AFTER_SECONDS as u64);

/// The strikes and the latest ban of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strikes {
    /// When the minute closes in which strikes are counted.
    pub closes_at: Timestamp,
    /// 429s within that minute, without those of its burst.
    pub count: u32,
    /// The length of the latest ban; 0 if there was none.
    pub ban_seconds: u32,
    /// When the latest ban ends or ended.
    pub banned_until: Timestamp,
    /// The key's `unbanned_at_ms` when the latest ban began. A later one lifts the ban:
    /// no clock is compared with another, or with itself before it was set.
    pub unbanned_at_ms: i64,
}

impl Strikes {
    /// The status of a ban, if the key is banned at `now` and the ban is not lifted.
    pub fn ban_at(
        &self,
        now: Timestamp,
        per_minute: u32,
        unbanned_at_ms: i64,
    ) -> Option<RateLimitStatus> {
        let is_banned = self.ban_seconds > 0
            && now < self.banned_until
            && self.unbanned_at_ms >= unbanned_at_ms;
        let resets_in = self.banned_until.saturating_duration_since(now);
        is_banned.then_some(RateLimitStatus { limit: per_minute, remaining: 0, resets_in })
    }

    /// Counts a 429. The first opens a minute; `per_minute` further ones within it, those of its
    /// burst aside, ban the key, and the last of them already reports the ban.
    /// A ban that was lifted does not lengthen the next one.
    pub fn strike(
        &mut self,
        now: Timestamp,
        per_minute: u32,
        unbanned_at_ms: i64,
    ) -> Option<RateLimitStatus> {
        // A concurrent request may have begun a ban since the caller looked; this
        // one must not lengthen it.
        if let Some(ban) = self.ban_at(now, per_minute, unbanned_at_ms) {
            return Some(ban);
        }
        if self.unbanned_at_ms < unbanned_at_ms {
            (self.ban_seconds, self.unbanned_at_ms) = (0, unbanned_at_ms);
        }
        if now >= self.closes_at {
            self.closes_at = now + Window::Minute.length();
            self.count = 0;
            return None;
        }
        if now + Window::Minute.length() < self.closes_at + BURST {
            return None;
        }
        self.count += 1;
        if self.count < per_minute {
            return None;
        }
        self.ban_seconds = if self.is_forgiven(now) {
            FIRST_BAN_SECONDS
        } else {
            (self.ban_seconds * 2).min(MAX_BAN_SECONDS)
        };
        self.banned_until = now + Duration::from_secs(self.ban_seconds.into());
        self.closes_at = now;
        self.count = 0;
        self.ban_at(now, per_minute, unbanned_at_ms)
    }

    fn is_forgiven(&self, now: Timestamp) -> bool {
        self.ban_seconds == 0 || now >= self.banned_until + FORGIVEN_AFTER
    }

    /// Whether these still have an effect at `now`.
    pub fn is_relevant(self, now: Timestamp) -> bool {
        now < self.closes_at || !self.is_forgiven(now)
    }

    /// These strikes, and those that were counted apart from them before: counts
    /// add within the same minute, and the later and the longer ban win.
    pub fn merged(self, before: Strikes, now: Timestamp) -> Strikes {
        if !before.is_relevant(now) {
            return self;
        }
        let (closes_at, count) = match (now < before.closes_at, now < self.closes_at) {
            (false, _) => (self.closes_at, self.count),
            (true, false) => (before.closes_at, before.count),
            (true, true) => {
                let first = before.closes_at.min(self.closes_at);
                // The first 429 of the later minute is a strike in the earlier one.
                let is_strike = before.closes_at.max(self.closes_at) >= first + BURST;
                let count = before.count.saturating_add(self.count);
                (first, count.saturating_add(is_strike.into()))
            }
        };
        let unbanned_at_ms = before.unbanned_at_ms.max(self.unbanned_at_ms);
        let bans = [before, self].into_iter().filter(|strikes| {
            // Of two bans, the earlier may have been lifted before the later began.
            strikes.ban_seconds > 0 && strikes.unbanned_at_ms == unbanned_at_ms
        });
        let ban_seconds = bans.clone().map(|strikes| strikes.ban_seconds).max().unwrap_or(0);
        let banned_until = bans.map(|strikes| strikes.banned_until).max().unwrap_or_default();
        Strikes { closes_at, count, ban_seconds, banned_until, unbanned_at_ms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_concurrent_with_the_ban_does_not_lengthen_it() {
        let now = Timestamp::from(Duration::from_secs(10));
        let mut strikes = Strikes::default();
        assert_eq!(strikes.strike(now, 1, 0), None);
        let ban = strikes.strike(now + BURST, 1, 0);
        assert_eq!(ban.map(|ban| ban.resets_in), Some(Duration::from_secs(300)));
        let before = strikes;
        for _ in 0..5 {
            // It read the clock before the request that began the ban.
            assert!(strikes.strike(Timestamp::from(Duration::from_secs(9)), 1, 0).is_some());
        }
        assert_eq!(strikes, before);
    }

    #[test]
    fn a_lifted_ban_is_as_if_it_had_never_been() {
        let now = Timestamp::from(Duration::from_secs(10));
        let mut strikes = Strikes::default();
        assert_eq!(strikes.strike(now, 1, 0), None);
        let now = now + BURST;
        assert!(strikes.strike(now, 1, 0).is_some());
        assert!(strikes.ban_at(now, 1, 0).is_some());
        assert_eq!(strikes.ban_at(now, 1, 1), None);
        assert_eq!(strikes.strike(now, 1, 1), None);
        assert_eq!(strikes.ban_at(now, 1, 1), None, "a first 429 brings no ban back");
        let now = now + BURST;
        let ban = strikes.strike(now, 1, 1);
        assert_eq!(ban.map(|ban| ban.resets_in), Some(Duration::from_secs(300)));
        // A server that has not heard of the lifting yet.
        assert!(strikes.ban_at(now, 1, 0).is_some());
    }

    #[test]
    fn the_later_and_the_longer_ban_win_a_merge() {
        let at = |seconds| Timestamp::from(Duration::from_secs(seconds));
        let banned = |until, ban_seconds| Strikes {
            ban_seconds,
            banned_until: at(until),
            ..Strikes::default()
        };
        let lifted =
            |until, ban_seconds| Strikes { unbanned_at_ms: 7, ..banned(until, ban_seconds) };
        let struck = |closes, count| Strikes { closes_at: at(closes), count, ..Strikes::default() };
        for (before, since, merged) in [
            (banned(500, 600), banned(300, 300), banned(500, 600)),
            (banned(90, 600), banned(300, 300), banned(300, 600)),
            (banned(500, 600), Strikes::default(), banned(500, 600)),
            (Strikes::default(), banned(300, 300), banned(300, 300)),
            (banned(500, 600), lifted(300, 300), lifted(300, 300)),
            (struck(120, 2), struck(150, 3), struck(120, 6)),
            (struck(120, 2), struck(121, 3), struck(120, 5)),
            (struck(99, 2), struck(150, 3), struck(150, 3)),
            (struck(120, 2), Strikes::default(), struck(120, 2)),
        ] {
            assert_eq!(since.merged(before, at(100)), merged, "{before:?} {since:?}");
        }
    }

    #[test]
    fn each_ban_is_twice_as_long_as_the_last() {
        let mut now = Timestamp::from(Duration::from_secs(10));
        let mut strikes = Strikes::default();
        for seconds in [300, 600, 1_200, 2_400, 3_600, 3_600] {
            assert_eq!(strikes.strike(now, 1, 0), None);
            let ban = strikes.strike(now + BURST, 1, 0);
            assert_eq!(ban.map(|ban| ban.resets_in), Some(Duration::from_secs(seconds)));
            now = strikes.banned_until;
        }
    }

    #[test]
    fn a_burst_adds_no_strike() {
        let now = Timestamp::from(Duration::from_secs(10));
        let mut strikes = Strikes::default();
        for _ in 0..100 {
            assert_eq!(strikes.strike(now, 2, 0), None);
            assert_eq!(strikes.strike((now + BURST).shifted(-1), 2, 0), None);
        }
        assert_eq!(strikes.strike(now + BURST, 2, 0), None);
        assert!(strikes.strike(now + BURST, 2, 0).is_some());
    }
}
