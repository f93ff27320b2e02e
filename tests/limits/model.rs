//! A simple model of the limits that shares no code with the limiter.

use std::collections::HashMap;
use store_orders_api::plans::PlanLimits;

/// A time or a duration, in nanoseconds.
pub type Time = i128;

pub const SECOND: Time = 1_000_000_000;
const MILLISECOND: Time = 1_000_000;
const MINUTE: Time = 60 * SECOND;
const BURST: Time = 2 * SECOND;
const DAY: Time = 86_400 * SECOND;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Admitted,
    LimitedByMinute,
    LimitedByDay,
    Banned,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub kind: Kind,
    pub limit: u32,
    pub remaining: u32,
    pub reset_at: u64,
    pub retry_after: u64,
}

/// A window on the wall clock. `closes` keeps its value after the window has closed, until the next
/// request is counted. So if the clock is set back in the meantime, the window opens again.
#[derive(Clone, Debug, Default)]
struct FixedWindow {
    closes: Time,
    requests: u32,
}

impl FixedWindow {
    /// Returns the window's end and its number of requests. Caps the end at `wall + length`,
    /// because clocks may step back.
    fn state_at(&mut self, wall: Time, length: Time) -> (Time, u32) {
        if self.has_closed(wall) {
            self.requests = 0;
            return (wall + length, 0);
        }
        self.closes = self.closes.min(wall + length);
        (self.closes, self.requests)
    }

    /// Counts a request. The argument is the result of [`Self::state_at`].
    fn count(&mut self, (closes, requests): (Time, u32)) {
        *self = FixedWindow { closes, requests: requests + 1 };
    }

    fn has_closed(&self, wall: Time) -> bool {
        self.closes <= wall
    }
}

#[derive(Clone, Debug, Default)]
struct Key {
    /// The times of the key's 429s in the current minute. The first 429 opens the minute. A 429 at
    /// least `BURST` after the first one is a strike.
    strikes: Vec<Time>,
    /// The latest ban, which is also in the store.
    ban: Option<Ban>,
}

#[derive(Clone, Copy, Debug)]
struct Ban {
    length: Time,
    /// The end on the wall clock, in nanoseconds, rounded down to a whole millisecond.
    wall_end: Time,
    /// The end on the server's monotonic clock. `None` after [`Model::restart`] or
    /// [`Model::clean_up`], until [`Key::ban`] derives the end from `wall_end`.
    end: Option<Time>,
}

impl Key {
    /// Returns the latest ban's end on the monotonic clock, and the ban's length. If `end` is
    /// unknown, derives the end from `wall_end`.
    fn ban(&mut self, now: Time, wall: Time) -> Option<(Time, Time)> {
        let ban = self.ban.as_mut()?;
        let remaining = (ban.wall_end - wall).min(ban.length);
        Some((*ban.end.get_or_insert(now + remaining), ban.length))
    }
}

#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The time on the server's monotonic clock, which measures strikes and bans.
    now: Time,
    minutes: HashMap<i64, FixedWindow>,
    days: HashMap<i64, FixedWindow>,
    keys: HashMap<i64, Key>,
    addresses: HashMap<String, FixedWindow>,
}

impl Model {
    pub fn advance(&mut self, by: Time) {
        self.now += by;
    }

    /// Starts a new process at this wall time. `self` is the model at the last write of the counts
    /// file. `before` is the model of the old process and supplies the bans, because the store
    /// keeps bans.
    pub fn restart(&mut self, before: &Model, wall: Time) {
        *self = self.without_closed_windows(wall);
        self.addresses.clear();
        self.keys.clone_from(&before.keys);
        for key in self.keys.values_mut() {
            key.strikes.clear();
            key.ban.iter_mut().for_each(|ban| ban.end = None);
        }
    }

    /// Returns the model without closed windows, which the counts file does not contain.
    pub fn without_closed_windows(&self, wall: Time) -> Model {
        let mut model = self.clone();
        model.minutes.retain(|_, window| !window.has_closed(wall));
        model.days.retain(|_, window| !window.has_closed(wall));
        model
    }

    fn remove_closed(&mut self, wall: Time) {
        let has_closed = |windows: &HashMap<i64, FixedWindow>, account: &i64| {
            windows.get(account).is_none_or(|window| window.has_closed(wall))
        };
        let accounts = self.minutes.keys().chain(self.days.keys()).copied();
        let closed: Vec<i64> = accounts
            .filter(|account| has_closed(&self.minutes, account) && has_closed(&self.days, account))
            .collect();
        for account in closed {
            self.minutes.remove(&account);
            self.days.remove(&account);
        }
    }

    /// Forgets an account's windows once both have closed, as the server does. Also forgets a ban's
    /// end a day after the ban, unless the key has open strikes. [`Key::ban`] derives the end again
    /// from the store's ban.
    pub fn clean_up(&mut self, wall: Time) {
        self.remove_closed(wall);
        for key in self.keys.values_mut() {
            let is_open = key.strikes.first().is_some_and(|opened| self.now < opened + MINUTE);
            let ends = key.ban.and_then(|ban| ban.end);
            if !is_open && ends.is_none_or(|end| end + DAY <= self.now) {
                key.ban.iter_mut().for_each(|ban| ban.end = None);
            }
        }
    }

    pub fn unban(&mut self, key: i64) {
        self.keys.entry(key).or_default().ban = None;
    }

    pub fn request(&mut self, account: i64, key: i64, plan: PlanLimits, wall: Time) -> Outcome {
        let now = self.now;
        let has_zero_limit = plan.per_minute == 0 || plan.per_day == 0;
        let answer =
            |kind, limit, remaining, end: Time| outcome(kind, limit, remaining, (wall, end), wall);
        let banned = |end: Time| outcome(Kind::Banned, plan.per_minute, 0, (now, end), wall);
        let key_state = self.keys.entry(key).or_default();
        if !has_zero_limit
            && let Some((end, _)) = key_state.ban(now, wall)
            && now < end
        {
            return banned(end);
        }
        let minute = self.minutes.entry(account).or_default().state_at(wall, MINUTE);
        let day = self.days.entry(account).or_default().state_at(wall, DAY);
        let mut full = Vec::new();
        for (kind, (end, counted), limit, length) in [
            (Kind::LimitedByMinute, minute, plan.per_minute, MINUTE),
            (Kind::LimitedByDay, day, plan.per_day, DAY),
        ] {
            if counted >= limit {
                full.push((if limit == 0 { wall + length } else { end }, kind, limit));
            }
        }
        if let Some((end, kind, limit)) = full.into_iter().max_by_key(|(end, ..)| *end) {
            if !has_zero_limit && let Some(end) = key_state.strike(now, wall, plan.per_minute) {
                return banned(end);
            }
            return answer(kind, limit, 0, end);
        }
        self.minutes.get_mut(&account).unwrap().count(minute);
        self.days.get_mut(&account).unwrap().count(day);
        let (left_in_minute, left_in_day) =
            (plan.per_minute - minute.1 - 1, plan.per_day - day.1 - 1);
        if left_in_day < left_in_minute || (left_in_day == left_in_minute && day.0 > minute.0) {
            answer(Kind::Admitted, plan.per_day, left_in_day, day.0)
        } else {
            answer(Kind::Admitted, plan.per_minute, left_in_minute, minute.0)
        }
    }

    pub fn request_unauthenticated(
        &mut self,
        address: &str,
        per_minute: u32,
        wall: Time,
    ) -> Outcome {
        let window = self.addresses.entry(address.to_string()).or_default();
        let (end, counted) = window.state_at(wall, MINUTE);
        if counted >= per_minute {
            return outcome(Kind::LimitedByMinute, per_minute, 0, (wall, end), wall);
        }
        window.count((end, counted));
        outcome(Kind::Admitted, per_minute, per_minute - counted - 1, (wall, end), wall)
    }
}

impl Key {
    /// Records a 429. Returns the end of the ban if this 429 causes one.
    fn strike(&mut self, now: Time, wall: Time, per_minute: u32) -> Option<Time> {
        if self.strikes.first().is_some_and(|opened| opened + MINUTE <= now) {
            self.strikes.clear();
        }
        self.strikes.push(now);
        let burst_ends = self.strikes[0] + BURST;
        let counted = self.strikes.iter().filter(|at| **at >= burst_ends).count();
        if now < burst_ends || counted < per_minute as usize {
            return None;
        }
        self.strikes.clear();
        let length = match self.ban(now, wall) {
            Some((end, length)) if now < end + DAY => (length * 2).min(3_600 * SECOND),
            _ => 300 * SECOND,
        };
        let (wall_end, end) = ((wall + length) / MILLISECOND * MILLISECOND, now + length);
        self.ban = Some(Ban { length, wall_end, end: Some(end) });
        Some(end)
    }
}

fn outcome(
    kind: Kind,
    limit: u32,
    remaining: u32,
    (now, end): (Time, Time),
    wall: Time,
) -> Outcome {
    let until_end = end - now;
    let round_up = |time: Time| u64::try_from((time + SECOND - 1) / SECOND).unwrap();
    Outcome {
        kind,
        limit,
        remaining,
        reset_at: round_up(wall + until_end),
        retry_after: round_up(until_end).max(1),
    }
}
