//! Strikes and bans of a key, for clients that keep sending after a 429.

use super::{RateLimitStatus, Window};
use crate::clock::{Now, Timestamp};
use std::time::Duration;
use store_orders_api::limit_constants::{
    BAN_FORGIVEN_AFTER_HOURS, FIRST_BAN_SECONDS, MAX_BAN_SECONDS, STRIKES_BEGIN_AFTER_SECONDS,
};

const FORGIVEN_AFTER: Duration = Duration::from_secs(BAN_FORGIVEN_AFTER_HOURS as u64 * 3_600);

/// During this time after a key's first 429 of a minute, further 429s are not strikes. The client
/// may have sent the refused requests before it read the first 429.
const BURST: Duration = Duration::from_secs(STRIKES_BEGIN_AFTER_SECONDS as u64);

/// The latest ban of a key. The key's row in the store has columns for the same three values. The
/// default is no ban.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyBan {
    /// Wall time in milliseconds at which the ban ends or ended.
    pub ends_at_ms: i64,
    /// The length of the ban. 0 if the key was never banned or the operator lifted the ban. The
    /// next ban then has the length of a first ban.
    pub seconds: u32,
    /// Grows by 1 when a ban begins or is lifted, so that servers can tell which ban is the latest.
    pub number: u32,
}

impl KeyBan {
    /// Returns the end of the ban in monotonic time. The time from `now` to the end is at most the
    /// ban's length, even if the wall clock was set back.
    fn end(self, now: Now) -> Timestamp {
        let ends_at = Timestamp::from_nanos(self.ends_at_ms.saturating_mul(1_000_000));
        let remaining = ends_at.as_nanos().saturating_sub(Timestamp::from(now.wall).as_nanos());
        let length = Timestamp::from(Duration::from_secs(self.seconds.into())).as_nanos();
        Timestamp::from(now.monotonic).shift(remaining.min(length))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strikes {
    /// The end of the minute in which strikes are counted, in monotonic time.
    closes_at: Timestamp,
    /// The number of strikes in the minute that ends at `closes_at`. A strike is a 429 that comes
    /// at least [`BURST`] after the minute's first 429.
    count: u32,
    /// The latest ban. If this server began it, the store may not have it yet.
    pub ban: KeyBan,
    /// The end of the latest ban, in monotonic time.
    banned_until: Timestamp,
}

impl Strikes {
    /// True if the ban in the key's row, `stored`, must replace this server's latest ban. If two
    /// servers begin bans at the same time, the ban in the row wins.
    pub fn is_behind(&self, stored: KeyBan) -> bool {
        stored.number >= self.ban.number && stored != self.ban
    }

    /// Replaces the latest ban with the ban in the key's row, unless the row's ban is outdated.
    pub fn apply_stored_ban(&mut self, stored: KeyBan, now: Now) {
        if self.is_behind(stored) {
            (self.ban, self.banned_until) = (stored, stored.end(now));
        }
    }

    /// Returns the status for the rate limit headers if the key is banned.
    pub fn ban_at(&self, now: Timestamp, per_minute: u32) -> Option<RateLimitStatus> {
        let is_banned = self.ban.seconds > 0 && now < self.banned_until;
        let resets_in = self.banned_until.saturating_duration_since(now);
        is_banned.then_some(RateLimitStatus { limit: per_minute, remaining: 0, resets_in })
    }

    /// Counts a 429. If no minute is open, the 429 opens one. Later 429s in the minute are strikes,
    /// except within [`BURST`] of the first. The key is banned when its strikes reach `per_minute`,
    /// the account's limit. Returns the status of the ban if the key is now banned.
    pub fn strike(&mut self, at: Now, per_minute: u32) -> Option<RateLimitStatus> {
        let now = Timestamp::from(at.monotonic);
        // A concurrent request may have begun a ban since the caller checked. Do not lengthen that
        // ban.
        if let Some(ban) = self.ban_at(now, per_minute) {
            return Some(ban);
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
        let seconds = if self.is_forgiven(now) {
            FIRST_BAN_SECONDS
        } else {
            (self.ban.seconds * 2).min(MAX_BAN_SECONDS)
        };
        let length = Duration::from_secs(seconds.into());
        let number = self.ban.number.saturating_add(1);
        self.ban = KeyBan { ends_at_ms: at.after(length).wall_ms(), seconds, number };
        self.banned_until = now + length;
        self.closes_at = now;
        self.count = 0;
        self.ban_at(now, per_minute)
    }

    fn is_forgiven(&self, now: Timestamp) -> bool {
        self.ban.seconds == 0 || now >= self.banned_until + FORGIVEN_AFTER
    }

    /// True while strikes are counted, or while the latest ban refuses requests or would double the
    /// next ban.
    pub fn is_relevant(self, now: Timestamp) -> bool {
        now < self.closes_at || !self.is_forgiven(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the time this many seconds after the start of the server.
    fn after(seconds: u64) -> Now {
        let monotonic = Duration::from_secs(seconds);
        Now { monotonic, wall: Duration::from_secs(1_000_000) + monotonic }
    }

    /// Bans a key that has a limit of one request a minute. Returns the length of the ban.
    fn ban_key(at: Now, strikes: &mut Strikes) -> Duration {
        assert_eq!(strikes.strike(at, 1), None);
        strikes.strike(at.after(BURST), 1).unwrap().resets_in
    }

    #[test]
    fn a_request_concurrent_with_the_ban_does_not_lengthen_it() {
        let mut strikes = Strikes::default();
        assert_eq!(ban_key(after(10), &mut strikes), Duration::from_secs(300));
        let before = strikes;
        for _ in 0..5 {
            // The ban began at 12 s. A request that was sent at 9 s and is counted only now must
            // not lengthen the ban.
            assert!(strikes.strike(after(9), 1).is_some());
        }
        assert_eq!(strikes, before);
    }

    #[test]
    fn the_ban_in_the_keys_row_is_applied() {
        let (mut here, mut elsewhere) = (Strikes::default(), Strikes::default());
        ban_key(after(10), &mut here);
        let is_banned = |strikes: &Strikes, at: Now| strikes.ban_at(at.monotonic.into(), 1);
        let ban = here.ban;
        assert_eq!(ban, KeyBan { ends_at_ms: 1_000_312_000, seconds: 300, number: 1 });
        for strikes in [&mut here, &mut elsewhere] {
            strikes.apply_stored_ban(ban, after(20));
            // A stale row, read before the ban was written, has no effect.
            strikes.apply_stored_ban(KeyBan::default(), after(20));
            let resets_in = is_banned(strikes, after(20)).map(|status| status.resets_in);
            assert_eq!(resets_in, Some(Duration::from_secs(292)));
            // The operator lifts the ban, so the next ban has the length of a first ban.
            strikes.apply_stored_ban(KeyBan { number: 2, ..KeyBan::default() }, after(30));
            assert_eq!(is_banned(strikes, after(30)), None);
            assert_eq!(ban_key(after(100), strikes), Duration::from_secs(300));
        }
    }

    #[test]
    fn the_ban_in_the_row_wins_over_a_concurrent_one() {
        let (mut here, mut elsewhere) = (Strikes::default(), Strikes::default());
        ban_key(after(10), &mut here);
        ban_key(after(11), &mut elsewhere);
        elsewhere.apply_stored_ban(here.ban, after(12));
        assert_eq!(elsewhere, Strikes { closes_at: elsewhere.closes_at, ..here });
        // Lifting a ban increments the number in the key's row. If this server begins a ban before
        // it reads the row, the ban gets the same number. The row must replace that ban.
        let lifted = KeyBan { number: 1, ..KeyBan::default() };
        here.apply_stored_ban(lifted, after(12));
        assert_eq!(here.ban, lifted);
    }

    #[test]
    fn setting_the_wall_clock_does_not_lengthen_a_ban() {
        let ban = KeyBan { ends_at_ms: 1_000_300_000, seconds: 300, number: 1 };
        for (wall, remaining) in [(0, 300), (999_999, 300), (1_000_100, 200), (1_000_300, 0)] {
            let mut strikes = Strikes::default();
            let now = Now { wall: Duration::from_secs(wall), ..after(10) };
            strikes.apply_stored_ban(ban, now);
            let status = strikes.ban_at(now.monotonic.into(), 1);
            let remaining = (remaining > 0).then_some(Duration::from_secs(remaining));
            assert_eq!(status.map(|status| status.resets_in), remaining, "{wall}");
        }
    }

    #[test]
    fn each_ban_is_twice_as_long_as_the_last() {
        let (mut now, mut strikes) = (after(10), Strikes::default());
        for seconds in [300, 600, 1_200, 2_400, 3_600, 3_600] {
            let length = Duration::from_secs(seconds);
            assert_eq!(ban_key(now, &mut strikes), length);
            now = now.after(BURST + length);
        }
    }

    #[test]
    fn a_429_during_the_burst_is_not_a_strike() {
        let (now, mut strikes) = (after(10), Strikes::default());
        for _ in 0..100 {
            assert_eq!(strikes.strike(now, 2), None);
            assert_eq!(strikes.strike(now.after(BURST - Duration::from_nanos(1)), 2), None);
        }
        assert_eq!(strikes.strike(now.after(BURST), 2), None);
        assert!(strikes.strike(now.after(BURST), 2).is_some());
    }
}
