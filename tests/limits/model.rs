//! A model of the limits, written as simply as possible and without the limiter's
//! own code: every request, strike and ban is kept in a list, and everything is
//! recounted each time.

use std::collections::HashMap;
use store_orders_api::plans::PlanLimits;

/// Nanoseconds.
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

/// What a response shows of the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub kind: Kind,
    pub limit: u32,
    pub remaining: u32,
    pub reset_at: u64,
    pub retry_after: u64,
}

/// When each request was counted, since the window was opened by the first.
#[derive(Clone, Debug, Default)]
struct FixedWindow(Vec<Time>);

impl FixedWindow {
    /// The end of the window, and how many requests are in it.
    fn at(&mut self, now: Time, length: Time) -> (Time, u32) {
        if self.0.first().is_some_and(|opened| opened + length <= now) {
            self.0.clear();
        }
        (self.0.first().copied().unwrap_or(now) + length, self.0.len() as u32)
    }
}

#[derive(Clone, Debug, Default)]
struct Key {
    /// The rejections in the strike minute. The first opened it, and those soon after are no
    /// strikes.
    strikes: Vec<Time>,
    /// The latest ban, which the store keeps.
    ban: Option<Ban>,
}

#[derive(Clone, Copy, Debug)]
struct Ban {
    length: Time,
    /// In whole milliseconds.
    wall_end: Time,
    /// By the server's clock; none until the server has seen the ban in the store.
    end: Option<Time>,
}

impl Key {
    /// The end of the latest ban, and its length. A server that finds it in the store goes by the
    /// wall clock.
    fn ban(&mut self, now: Time, wall: Time) -> Option<(Time, Time)> {
        let ban = self.ban.as_mut()?;
        let left = (ban.wall_end - wall).min(ban.length);
        Some((*ban.end.get_or_insert(now + left), ban.length))
    }
}

#[derive(Clone, Debug, Default)]
pub struct Model {
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

    /// A new process, this long after the limits were last written. Strikes are forgotten; the
    /// store has the bans of the process before.
    pub fn restart(&mut self, passed: Time, before: &Model) {
        self.now += passed;
        self.addresses.clear();
        self.keys.clone_from(&before.keys);
        for key in self.keys.values_mut() {
            key.strikes.clear();
            key.ban.iter_mut().for_each(|ban| ban.end = None);
        }
    }

    /// The server removes from its memory what has no effect any more.
    pub fn clean_up(&mut self) {
        for key in self.keys.values_mut() {
            let is_open = key.strikes.first().is_some_and(|opened| self.now < opened + MINUTE);
            let ends = key.ban.and_then(|ban| ban.end);
            if !is_open && ends.is_none_or(|end| end + DAY <= self.now) {
                key.ban.iter_mut().for_each(|ban| ban.end = None);
            }
        }
    }

    /// The operator lifts the ban of a key.
    pub fn unban(&mut self, key: i64) {
        self.keys.entry(key).or_default().ban = None;
    }

    pub fn request(&mut self, account: i64, key: i64, plan: PlanLimits, wall: Time) -> Outcome {
        let now = self.now;
        let minute = self.minutes.entry(account).or_default().at(now, MINUTE);
        let day = self.days.entry(account).or_default().at(now, DAY);
        let shut = plan.per_minute == 0 || plan.per_day == 0;
        let answer =
            |kind, limit, remaining, end: Time| outcome(kind, limit, remaining, (now, end), wall);
        let known = self.keys.entry(key).or_default();
        if !shut
            && let Some((end, _)) = known.ban(now, wall)
            && now < end
        {
            return answer(Kind::Banned, plan.per_minute, 0, end);
        }
        let mut full = Vec::new();
        for (kind, (end, counted), limit, length) in [
            (Kind::LimitedByMinute, minute, plan.per_minute, MINUTE),
            (Kind::LimitedByDay, day, plan.per_day, DAY),
        ] {
            if counted >= limit {
                full.push((if limit == 0 { now + length } else { end }, kind, limit));
            }
        }
        if let Some((end, kind, limit)) = full.into_iter().max_by_key(|(end, ..)| *end) {
            if !shut && let Some(end) = known.strike(now, wall, plan.per_minute) {
                return answer(Kind::Banned, plan.per_minute, 0, end);
            }
            return answer(kind, limit, 0, end);
        }
        self.minutes.get_mut(&account).unwrap().0.push(now);
        self.days.get_mut(&account).unwrap().0.push(now);
        let (of_minute, of_day) = (plan.per_minute - minute.1 - 1, plan.per_day - day.1 - 1);
        if of_day < of_minute || (of_day == of_minute && day.0 > minute.0) {
            answer(Kind::Admitted, plan.per_day, of_day, day.0)
        } else {
            answer(Kind::Admitted, plan.per_minute, of_minute, minute.0)
        }
    }

    pub fn keyless(&mut self, address: &str, per_minute: u32, wall: Time) -> Outcome {
        let now = self.now;
        let window = self.addresses.entry(address.to_string()).or_default();
        let (end, counted) = window.at(now, MINUTE);
        if counted >= per_minute {
            return outcome(Kind::LimitedByMinute, per_minute, 0, (now, end), wall);
        }
        window.0.push(now);
        outcome(Kind::Admitted, per_minute, per_minute - counted - 1, (now, end), wall)
    }
}

impl Key {
    /// Counts a rejection; the end of the ban, if it brings one about.
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
    let left = end - now;
    let rounded_up = |time: Time| u64::try_from((time + SECOND - 1) / SECOND).unwrap();
    Outcome {
        kind,
        limit,
        remaining,
        reset_at: rounded_up(wall + left),
        retry_after: rounded_up(left).max(1),
    }
}
