//! Strikes and bans of a key: what becomes of a client that keeps sending after
//! a 429.

use super::timestamp::Timestamp;
use super::{RateLimitStatus, Window};
use std::time::Duration;

/// How long a first ban lasts, in seconds; each further one lasts twice as long.
const FIRST_BAN: u32 = 300;
/// How long a ban lasts at most, in seconds.
const LONGEST_BAN: u32 = 3_600;
/// After this long without a ban the next one is a first one again.
const FORGIVEN_AFTER: Duration = Duration::from_secs(86_400);

/// What is remembered of a key that was refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strikes {
    /// When the minute closes in which strikes are counted.
    pub closes: Timestamp,
    /// Refusals after the first within that minute.
    pub count: u32,
    /// How many seconds the latest ban lasts or lasted; 0 if there was none.
    pub ban_seconds: u32,
    /// When the latest ban ends or ended.
    pub banned_until: Timestamp,
}

impl Strikes {
    /// What the headers say during a ban; none if there is no ban at `now`.
    pub fn ban_at(&self, now: Timestamp, per_minute: u32) -> Option<RateLimitStatus> {
        let banned = self.ban_seconds > 0 && now < self.banned_until;
        let resets_in = self.banned_until.since(now);
        banned.then_some(RateLimitStatus { limit: per_minute, remaining: 0, resets_in })
    }

    /// Counts a refusal. The first opens a minute; `per_minute` further ones
    /// within it ban the key, and the last of them is already answered so.
    pub fn strike(&mut self, now: Timestamp, per_minute: u32) -> Option<RateLimitStatus> {
        // Another request may have brought the ban about since this one was
        // found to have none: it must not lengthen it.
        if let Some(ban) = self.ban_at(now, per_minute) {
            return Some(ban);
        }
        if now >= self.closes {
            self.closes = now + Window::Minute.length();
            self.count = 0;
            return None;
        }
        self.count += 1;
        if self.count < per_minute {
            return None;
        }
        let first = self.is_forgiven(now);
        self.ban_seconds = if first { FIRST_BAN } else { (self.ban_seconds * 2).min(LONGEST_BAN) };
        self.banned_until = now + Duration::from_secs(self.ban_seconds.into());
        self.closes = now;
        self.count = 0;
        self.ban_at(now, per_minute)
    }

    fn is_forgiven(&self, now: Timestamp) -> bool {
        self.ban_seconds == 0 || now >= self.banned_until + FORGIVEN_AFTER
    }

    /// Whether anything of this still matters at `now`.
    pub fn matters(self, now: Timestamp) -> bool {
        now < self.closes || !self.is_forgiven(now)
    }

    /// What was carried over a restart: no ban lasts longer than it was long, no
    /// minute longer than a minute.
    pub fn carried(self, now: Timestamp) -> Strikes {
        let ban_seconds = self.ban_seconds.min(LONGEST_BAN);
        Strikes {
            closes: self.closes.min(now + Window::Minute.length()),
            count: self.count,
            ban_seconds,
            banned_until: self.banned_until.min(now + Duration::from_secs(ban_seconds.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_that_was_under_way_when_the_ban_began_does_not_lengthen_it() {
        let now = Timestamp::from(Duration::from_secs(10));
        let mut strikes = Strikes::default();
        assert_eq!(strikes.strike(now, 1), None);
        let ban = strikes.strike(now, 1);
        assert_eq!(ban.map(|ban| ban.resets_in), Some(Duration::from_secs(300)));
        let before = strikes;
        for _ in 0..5 {
            // Its clock was read before the ban's.
            assert!(strikes.strike(Timestamp::from(Duration::from_secs(9)), 1).is_some());
        }
        assert_eq!(strikes, before);
    }

    #[test]
    fn no_carried_ban_lasts_longer_than_it_is_long() {
        let now = Timestamp::from(Duration::from_secs(10));
        let far = Timestamp::from(Duration::from_secs(1_000_000));
        let strikes = Strikes { closes: far, count: 1, ban_seconds: 600, banned_until: far };
        let carried = strikes.carried(now);
        assert_eq!(carried.closes, now + Duration::from_secs(60));
        assert_eq!(carried.banned_until, now + Duration::from_secs(600));
        let absurd = Strikes { ban_seconds: u32::MAX, ..strikes }.carried(now);
        assert_eq!(absurd.banned_until, now + Duration::from_secs(3_600));
    }
}
