//! Strikes and bans of a key, for clients that keep sending after a 429.

use super::timestamp::Timestamp;
use super::{RateLimitStatus, Window};
use crate::clock::Now;
use std::time::Duration;
use store_orders_api::limits::{
    BAN_FORGIVEN_AFTER_HOURS, FIRST_BAN_SECONDS, MAX_BAN_SECONDS, STRIKES_BEGIN_AFTER_SECONDS,
};

const FORGIVEN_AFTER: Duration = Duration::from_secs(BAN_FORGIVEN_AFTER_HOURS as u64 * 3_600);

/// The start of a key's minute, in which a 429 adds no strike.
const BURST: Duration = Duration::from_secs(STRIKES_BEGIN_AFTER_SECONDS as u64);

/// The latest ban of a key, as its row in the store has it. The default is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyBan {
    /// Wall time in milliseconds at which it ends or ended.
    pub ends_at_ms: i64,
    /// Its length, which the next ban doubles; 0 if there was none, or it was lifted.
    pub seconds: u32,
    /// Rises with each ban and each lifting, so that a server recognises what it has not seen.
    pub number: u32,
}

impl KeyBan {
    /// Its end in monotonic time. The wall clock may have been set since the ban began, but no
    /// ban lasts longer than its length.
    fn end(self, now: Now) -> Timestamp {
        let ends_at = Timestamp::from_nanos(self.ends_at_ms.saturating_mul(1_000_000));
        let left = ends_at.as_nanos().saturating_sub(Timestamp::from(now.wall).as_nanos());
        let length = Timestamp::from(Duration::from_secs(self.seconds.into())).as_nanos();
        Timestamp::from(now.monotonic).shifted(left.min(length))
    }
}

/// The strikes and the latest ban of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strikes {
    /// When the minute closes in which strikes are counted.
    closes_at: Timestamp,
    /// 429s within that minute, without those of its burst.
    count: u32,
    /// The latest ban. If it began here, the store may not have it yet.
    pub ban: KeyBan,
    /// The end of the latest ban.
    banned_until: Timestamp,
}

impl Strikes {
    /// Whether the key's row has a ban, or its lifting, that is not known here. Of two bans that
    /// servers decide at once, that in the row counts.
    pub fn lacks(&self, stored: KeyBan) -> bool {
        stored.number >= self.ban.number && stored != self.ban
    }

    /// Replaces the latest ban by that of the key's row.
    pub fn follow(&mut self, stored: KeyBan, now: Now) {
        if self.lacks(stored) {
            (self.ban, self.banned_until) = (stored, stored.end(now));
        }
    }

    /// The status of a ban, if the key is banned.
    pub fn ban_at(&self, now: Timestamp, per_minute: u32) -> Option<RateLimitStatus> {
        let is_banned = self.ban.seconds > 0 && now < self.banned_until;
        let resets_in = self.banned_until.saturating_duration_since(now);
        is_banned.then_some(RateLimitStatus { limit: per_minute, remaining: 0, resets_in })
    }

    /// Counts a 429. The first opens a minute; `per_minute` further ones within it, those of its
    /// burst aside, ban the key, and the last of them already reports the ban.
    pub fn strike(&mut self, at: Now, per_minute: u32) -> Option<RateLimitStatus> {
        let now = Timestamp::from(at.monotonic);
        // A concurrent request may have begun a ban since the caller looked; this
        // one must not lengthen it.
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

    /// Whether these still have an effect at `now`.
    pub fn is_relevant(self, now: Timestamp) -> bool {
        now < self.closes_at || !self.is_forgiven(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This many seconds after the start of the server.
    fn after(seconds: u64) -> Now {
        let monotonic = Duration::from_secs(seconds);
        Now { monotonic, wall: Duration::from_secs(1_000_000) + monotonic }
    }

    /// Strikes of a key of one request a minute, which is banned at this time.
    fn banned(at: Now, strikes: &mut Strikes) -> Duration {
        assert_eq!(strikes.strike(at, 1), None);
        strikes.strike(at.after(BURST), 1).unwrap().resets_in
    }

    #[test]
    fn a_request_concurrent_with_the_ban_does_not_lengthen_it() {
        let mut strikes = Strikes::default();
        assert_eq!(banned(after(10), &mut strikes), Duration::from_secs(300));
        let before = strikes;
        for _ in 0..5 {
            // It read the clock before the request that began the ban.
            assert!(strikes.strike(after(9), 1).is_some());
        }
        assert_eq!(strikes, before);
    }

    #[test]
    fn a_ban_follows_the_row_of_its_key() {
        let (mut here, mut elsewhere) = (Strikes::default(), Strikes::default());
        banned(after(10), &mut here);
        let is_banned = |strikes: &Strikes, at: Now| strikes.ban_at(at.monotonic.into(), 1);
        let ban = here.ban;
        assert_eq!(ban, KeyBan { ends_at_ms: 1_000_312_000, seconds: 300, number: 1 });
        for strikes in [&mut here, &mut elsewhere] {
            strikes.follow(ban, after(20));
            // A row that was read before the ban was written.
            strikes.follow(KeyBan::default(), after(20));
            let left = is_banned(strikes, after(20)).map(|status| status.resets_in);
            assert_eq!(left, Some(Duration::from_secs(292)));
            // The operator lifts it, and the next one is a first one.
            strikes.follow(KeyBan { number: 2, ..KeyBan::default() }, after(30));
            assert_eq!(is_banned(strikes, after(30)), None);
            assert_eq!(banned(after(100), strikes), Duration::from_secs(300));
        }
    }

    #[test]
    fn of_two_bans_decided_at_once_that_in_the_row_counts() {
        let (mut here, mut elsewhere) = (Strikes::default(), Strikes::default());
        banned(after(10), &mut here);
        banned(after(11), &mut elsewhere);
        elsewhere.follow(here.ban, after(12));
        assert_eq!(elsewhere, Strikes { closes_at: elsewhere.closes_at, ..here });
        // Also if the operator lifted it before the ban was written.
        let lifted = KeyBan { number: 1, ..KeyBan::default() };
        here.follow(lifted, after(12));
        assert_eq!(here.ban, lifted);
    }

    #[test]
    fn a_wall_clock_that_was_set_makes_no_ban_longer() {
        let ban = KeyBan { ends_at_ms: 1_000_300_000, seconds: 300, number: 1 };
        for (wall, left) in [(0, 300), (999_999, 300), (1_000_100, 200), (1_000_300, 0)] {
            let mut strikes = Strikes::default();
            let now = Now { wall: Duration::from_secs(wall), ..after(10) };
            strikes.follow(ban, now);
            let status = strikes.ban_at(now.monotonic.into(), 1);
            let left = (left > 0).then_some(Duration::from_secs(left));
            assert_eq!(status.map(|status| status.resets_in), left, "{wall}");
        }
    }

    #[test]
    fn each_ban_is_twice_as_long_as_the_last() {
        let (mut now, mut strikes) = (after(10), Strikes::default());
        for seconds in [300, 600, 1_200, 2_400, 3_600, 3_600] {
            let length = Duration::from_secs(seconds);
            assert_eq!(banned(now, &mut strikes), length);
            now = now.after(BURST + length);
        }
    }

    #[test]
    fn a_burst_adds_no_strike() {
        let (now, mut strikes) = (after(10), Strikes::default());
        for _ in 0..100 {
            assert_eq!(strikes.strike(now, 2), None);
            assert_eq!(strikes.strike(now.after(BURST - Duration::from_nanos(1)), 2), None);
        }
        assert_eq!(strikes.strike(now.after(BURST), 2), None);
        assert!(strikes.strike(now.after(BURST), 2).is_some());
    }
}
