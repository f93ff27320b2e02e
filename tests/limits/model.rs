//! A model of the limits, written as simply as possible and without the limiter's
//! own code: every request, strike and ban is kept in a list, and everything is
//! recounted each time.

use std::collections::HashMap;
use store_orders_api::plans::PlanLimits;

/// Nanoseconds.
pub type Time = i128;

pub const SECOND: Time = 1_000_000_000;
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
    /// When each ban began, and how long it is.
    bans: Vec<(Time, Time)>,
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

    /// A new process, this long after the limits were last written.
    pub fn restart(&mut self, passed: Time) {
        self.now += passed;
        self.addresses.clear();
    }

    /// The operator lifts the bans of a key.
    pub fn unban(&mut self, key: i64) {
        self.keys.entry(key).or_default().bans.clear();
    }

    pub fn request(&mut self, account: i64, key: i64, plan: PlanLimits, wall: Time) -> Outcome {
        let now = self.now;
        let minute = self.minutes.entry(account).or_default().at(now, MINUTE);
        let day = self.days.entry(account).or_default().at(now, DAY);
        let shut = plan.per_minute == 0 || plan.per_day == 0;
        let answer =
            |kind, limit, remaining, end: Time| outcome(kind, limit, remaining, (now, end), wall);
        let known = self.keys.entry(key).or_default();
        let ban_end = known.bans.last().map(|(began, length)| began + length);
        if let Some(end) = ban_end.filter(|end| now < *end && !shut) {
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
            if !shut && let Some(end) = known.strike(now, plan.per_minute) {
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
    fn strike(&mut self, now: Time, per_minute: u32) -> Option<Time> {
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
        let length = match self.bans.last() {
            Some((began, length)) if now < began + length + DAY => (length * 2).min(3_600 * SECOND),
            _ => 300 * SECOND,
        };
        self.bans.push((now, length));
        Some(now + length)
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
