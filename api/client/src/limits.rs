//! When the next request may be sent, from what responses told of the rate limit. It sends nothing,
//! does not wait and reads no clock.

use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// The service answers within this time. A request without a response for longer keeps no other
/// back: its call may have been left by a program that will not poll it again.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);
/// Spreads the clients of one account, which all wait for the same instant.
const MAX_JITTER: Duration = Duration::from_secs(1);
/// Bounds `Retry-After`, so that the instant exists.
const LONGEST_HOLD: Duration = Duration::from_secs(366 * 86_400);

/// When the next request may be sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Next {
    /// Now.
    Send,
    /// After a response to a request under way; without one, at this time.
    AfterResponse(Instant),
    /// At this time, when the server's limit resets.
    HeldUntil(Instant),
}

/// What a response told.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Told {
    /// Requests that remain.
    pub(crate) remaining: Option<u64>,
    /// When that resets, if it can be told and is near.
    pub(crate) resets_in: Option<Duration>,
    /// How long nothing may be sent: that of a 429.
    pub(crate) hold: Option<Duration>,
}

/// What is known of the limit of one key.
///
/// Until a response tells what remains, one request is under way; each response that does not tell
/// doubles that, for servers without such headers. Then at most half of what remains is under way
/// at once, even if the server has counted none of that yet: other programs of the account take
/// part. Where nothing remains, requests wait until the limit resets, and one goes first.
#[derive(Debug)]
pub(crate) struct Limits {
    /// When each request without a response was sent, by its number.
    under_way: BTreeMap<u64, Instant>,
    /// How many were sent.
    sent: u64,
    held_until: Option<Instant>,
    remaining: u64,
    resets_at: Option<Instant>,
    /// How many were sent when a response told `remaining`; `None` before the first did.
    told_after: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            under_way: BTreeMap::new(),
            sent: 0,
            held_until: None,
            remaining: 1,
            resets_at: None,
            told_after: None,
        }
    }
}

impl Limits {
    pub(crate) fn next(&self, now: Instant) -> Next {
        if let Some(until) = self.held_until.filter(|until| *until > now) {
            return Next::HeldUntil(until);
        }
        let resets_at = self.resets_at.filter(|at| *at > now);
        // One request asks if the limit has reset, or if nobody knows when it does.
        let remaining = self.remaining.max(u64::from(resets_at.is_none()));
        let given_up_at = self.under_way.values().map(|sent| *sent + ANSWERED_WITHIN);
        let given_up_at = given_up_at.filter(|at| *at > now);
        let under_way = given_up_at.clone().count() as u64;
        if under_way < remaining.div_ceil(2) {
            return Next::Send;
        }
        let first = given_up_at.chain(resets_at).min().unwrap_or(now);
        if under_way > 0 { Next::AfterResponse(first) } else { Next::HeldUntil(first) }
    }

    /// Counts a request that is sent now; its number.
    pub(crate) fn send(&mut self, now: Instant) -> u64 {
        self.sent += 1;
        self.under_way.insert(self.sent, now);
        self.sent
    }

    /// What the response to a request told. `chance`, from 0 to 1, decides on the jitter.
    pub(crate) fn answered(&mut self, number: u64, now: Instant, told: Told, chance: f64) {
        let jitter = MAX_JITTER.mul_f64(chance);
        if let Some(hold) = told.hold {
            let until = now + hold.min(LONGEST_HOLD);
            // Others of the same burst tell the same instant.
            let held_until = self.held_until.filter(|held| *held >= until);
            self.held_until = Some(held_until.unwrap_or(until + jitter));
            self.learn(number, now, 0, self.held_until);
        } else if let Some(remaining) = told.remaining {
            let resets_at = told.resets_in.map(|resets_in| now + resets_in + jitter);
            self.learn(number, now, remaining, resets_at);
        } else if self.told_after.is_none() {
            self.remaining = self.remaining.saturating_mul(2);
        } else {
            self.unanswered(number, true);
        }
        self.under_way.remove(&number);
    }

    /// Responses may overtake each other: the lower figure holds, unless the higher one is of a
    /// request that was sent later, or the limit has reset.
    fn learn(&mut self, number: u64, now: Instant, remaining: u64, resets_at: Option<Instant>) {
        let is_later = self.told_after.is_none_or(|told_after| number > told_after);
        let has_reset = self.resets_at.is_some_and(|at| at <= now);
        if is_later || has_reset || remaining < self.remaining {
            self.remaining = remaining;
            self.resets_at = resets_at;
            self.told_after = Some(self.sent);
        }
    }

    /// No response tells what remains after this request.
    pub(crate) fn unanswered(&mut self, number: u64, may_be_counted: bool) {
        self.under_way.remove(&number);
        if self.told_after.is_some() && may_be_counted && self.remaining > 1 {
            self.remaining -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// What a response tells of which this many remain, for another half a minute.
    fn remaining(remaining: u64) -> Told {
        Told { remaining: Some(remaining), resets_in: Some(30 * SECOND), hold: None }
    }

    fn refused(hold: Duration) -> Told {
        Told { remaining: Some(0), resets_in: None, hold: Some(hold) }
    }

    /// Sends as many as may be sent; their numbers.
    fn send_all(limits: &mut Limits, now: Instant) -> Vec<u64> {
        let mut numbers = Vec::new();
        while limits.next(now) == Next::Send && numbers.len() < 1_000 {
            numbers.push(limits.send(now));
        }
        numbers
    }

    #[test]
    fn one_request_asks_and_then_half_of_what_remains_is_under_way() {
        let (mut limits, now) = (Limits::default(), Instant::now());
        assert_eq!(send_all(&mut limits, now), [1]);
        assert_eq!(limits.next(now), Next::AfterResponse(now + ANSWERED_WITHIN));
        limits.answered(1, now, remaining(59), 0.0);
        assert_eq!(send_all(&mut limits, now).len(), 30);
        // Each response makes room for one while 58 to 30 remain, as if none had been counted.
        limits.answered(2, now, remaining(58), 0.0);
        assert_eq!(send_all(&mut limits, now).len(), 0);
        limits.answered(3, now, remaining(57), 0.0);
        assert_eq!(send_all(&mut limits, now).len(), 1);
    }

    #[test]
    fn no_more_are_sent_than_remain_whatever_the_order_of_the_responses() {
        for seed in 0..50 {
            let mut random = fastrand::Rng::with_seed(seed);
            let (mut limits, now) = (Limits::default(), Instant::now());
            let (mut open, mut left, mut sent) = (Vec::new(), 60, 0);
            loop {
                for number in send_all(&mut limits, now) {
                    sent += 1;
                    left -= 1;
                    assert!(left >= 0, "more than the limit were sent");
                    open.push((number, remaining(left as u64)));
                }
                if open.is_empty() {
                    break;
                }
                let (number, told) = open.swap_remove(random.usize(..open.len()));
                limits.answered(number, now, told, 0.0);
            }
            assert_eq!(sent, 60);
            assert_eq!(limits.next(now), Next::HeldUntil(now + 30 * SECOND));
            assert_eq!(send_all(&mut limits, now + 30 * SECOND).len(), 1);
        }
    }

    #[test]
    fn a_429_holds_all_with_one_jitter_and_then_one_asks() {
        let (mut limits, now) = (Limits::default(), Instant::now());
        limits.send(now);
        limits.answered(1, now, remaining(20), 0.0);
        assert_eq!(send_all(&mut limits, now).len(), 10);
        limits.answered(2, now, refused(42 * SECOND), 0.5);
        let held_until = now + 42 * SECOND + SECOND / 2;
        // A response that was counted before, and the rest of the burst, change nothing.
        limits.answered(3, now, remaining(7), 0.0);
        limits.answered(4, now + SECOND / 3, refused(42 * SECOND), 0.9);
        assert_eq!(limits.next(now), Next::HeldUntil(held_until));
        for number in 5..=11 {
            limits.unanswered(number, true);
        }
        assert_eq!(send_all(&mut limits, held_until), [12]);
        limits.answered(12, held_until, remaining(59), 0.0);
        assert_eq!(send_all(&mut limits, held_until).len(), 30);
    }

    #[test]
    fn a_later_429_lengthens_the_hold_and_any_length_is_taken() {
        let (mut limits, now) = (Limits::default(), Instant::now());
        for (hold, held) in [(9, 9), (5, 9), (300, 300), (u64::MAX, LONGEST_HOLD.as_secs())] {
            let number = limits.send(now);
            limits.answered(number, now, refused(Duration::from_secs(hold)), 0.0);
            assert_eq!(limits.next(now), Next::HeldUntil(now + Duration::from_secs(held)));
        }
    }

    #[test]
    fn the_figures_of_a_request_that_was_sent_later_hold() {
        let (mut limits, now) = (Limits::default(), Instant::now());
        limits.send(now);
        limits.answered(1, now, remaining(4), 0.0);
        assert_eq!(send_all(&mut limits, now), [2, 3]);
        limits.answered(3, now, remaining(2), 0.0);
        limits.answered(2, now, remaining(3), 0.0);
        assert_eq!(send_all(&mut limits, now), [4]);
        // The server's window closed a moment earlier than told, or the plan is another.
        limits.answered(4, now, remaining(300), 0.0);
        assert_eq!(send_all(&mut limits, now).len(), 150);
    }

    #[test]
    fn where_nobody_knows_when_the_limit_resets_one_request_asks() {
        let (mut limits, now) = (Limits::default(), Instant::now());
        limits.send(now);
        let told = Told { remaining: Some(0), ..Told::default() };
        limits.answered(1, now, told, 0.0);
        assert_eq!(send_all(&mut limits, now), [2]);
    }

    #[test]
    fn without_a_limit_in_the_responses_requests_double() {
        let (mut limits, now) = (Limits::default(), Instant::now());
        let mut under_way = Vec::new();
        for _ in 0..5 {
            let numbers = send_all(&mut limits, now);
            under_way.push(numbers.len());
            for number in numbers {
                limits.answered(number, now, Told::default(), 0.0);
            }
        }
        assert_eq!(under_way, [1, 1, 2, 8, 1_000]);
    }

    #[test]
    fn a_lost_response_counts_unless_there_was_no_connection() {
        let (mut limits, now) = (Limits::default(), Instant::now());
        limits.send(now);
        limits.answered(1, now, remaining(7), 0.0);
        for (may_be_counted, sent) in [(false, 4), (true, 4), (true, 3), (true, 3)] {
            let numbers = send_all(&mut limits, now);
            assert_eq!(numbers.len(), sent);
            limits.unanswered(numbers[0], may_be_counted);
            numbers[1..].iter().for_each(|number| limits.unanswered(*number, false));
        }
        // However many are lost, they alone hold nothing.
        for number in 100..200 {
            limits.unanswered(number, true);
        }
        assert_eq!(send_all(&mut limits, now).len(), 1);
    }

    #[test]
    fn a_request_that_is_not_answered_keeps_others_back_for_a_time_only() {
        let (mut limits, now) = (Limits::default(), Instant::now());
        limits.send(now);
        let given_up = now + ANSWERED_WITHIN;
        assert_eq!(limits.next(given_up - SECOND), Next::AfterResponse(given_up));
        assert_eq!(send_all(&mut limits, given_up).len(), 1);
    }
}
