//! Strikes and bans of a key: what becomes of a client that keeps sending after
//! a 429.

use super::moment::Moment;
use super::{Figures, Window};
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
    pub closes: Moment,
    /// Refusals after the first within that minute.
    pub count: u32,
    /// How many seconds the latest ban lasts or lasted; 0 if there was none.
    pub ban_seconds: u32,
    /// When the latest ban ends or ended.
    pub banned_until: Moment,
}

impl Strikes {
    /// What the headers say during a ban; none if there is no ban at `now`.
    pub fn ban_at(&self, now: Moment, per_minute: u32) -> Option<Figures> {
        let banned = self.ban_seconds > 0 && now < self.banned_until;
        let resets_in = self.banned_until.since(now);
        banned.then_some(Figures { limit: per_minute, remaining: 0, resets_in })
    }

    /// Counts a refusal. The first opens a minute; `per_minute` further ones
    /// within it ban the key, and the last of them is already answered so.
    pub fn strike(&mut self, now: Moment, per_minute: u32) -> Option<Figures> {
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

    fn is_forgiven(&self, now: Moment) -> bool {
        self.ban_seconds == 0 || now >= self.banned_until + FORGIVEN_AFTER
    }

    /// Whether anything of this still matters at `now`.
    pub fn matters(self, now: Moment) -> bool {
        now < self.closes || !self.is_forgiven(now)
    }

    /// What was carried over a restart: no ban lasts longer than it was long, no
    /// minute longer than a minute.
    pub fn carried(self, now: Moment) -> Strikes {
        let ban_seconds = self.ban_seconds.min(LONGEST_BAN);
        Strikes {
            closes: self.closes.min(now + Window::Minute.length()),
            count: self.count,
            ban_seconds,
            banned_until: self.banned_until.min(now + Duration::from_secs(ban_seconds.into())),
        }
    }
}
