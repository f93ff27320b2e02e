//! Strikes and bans of a key: what becomes of a client that keeps sending after
//! a 429.

use super::{Figures, Window};
use std::time::Duration;

/// How long a first ban lasts; each further one lasts twice as long.
const FIRST_BAN: Duration = Duration::from_secs(300);
/// How long a ban lasts at most.
const LONGEST_BAN: Duration = Duration::from_secs(3_600);
/// After this long without a ban the next one is a first one again.
const FORGIVEN_AFTER: Duration = Duration::from_secs(86_400);

/// What is remembered of a key that was refused. All times are monotonic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strikes {
    /// When the minute closes in which strikes are counted.
    pub closes: Duration,
    /// Refusals after the first within that minute.
    pub count: u32,
    /// When the latest ban ends or ended; zero if there was none.
    pub banned_until: Duration,
    /// How long the latest ban was; zero if there was none.
    pub ban: Duration,
}

impl Strikes {
    /// What the headers say during a ban; none if there is no ban at `now`.
    pub fn ban_at(&self, now: Duration, per_minute: u32) -> Option<Figures> {
        let resets_in = self.banned_until.checked_sub(now).filter(|left| !left.is_zero())?;
        Some(Figures { limit: per_minute, remaining: 0, resets_in })
    }

    /// Counts a refusal. The first opens a minute; `per_minute` further ones
    /// within it ban the key, and the last of them is already answered so.
    pub fn strike(&mut self, now: Duration, per_minute: u32) -> Option<Figures> {
        if now >= self.closes {
            self.closes = now + Window::Minute.length();
            self.count = 0;
            return None;
        }
        self.count += 1;
        if self.count < per_minute {
            return None;
        }
        let forgiven = self.ban.is_zero() || now >= self.banned_until + FORGIVEN_AFTER;
        self.ban = if forgiven { FIRST_BAN } else { (self.ban * 2).min(LONGEST_BAN) };
        self.banned_until = now + self.ban;
        self.closes = now;
        self.count = 0;
        self.ban_at(now, per_minute)
    }
}
