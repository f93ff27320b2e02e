//! Computes when the next request may be sent, from the rate limits in earlier responses. This
//! module sends nothing, does not wait and reads no clock.

use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// The maximum response time of the service. After this time, a request no longer counts as in
/// flight. Otherwise, a call that is no longer polled would count forever.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum random wait after an exhausted rate limit resets. Without random waits, all clients
/// of an account would send at the same instant.
const MAX_JITTER: Duration = Duration::from_secs(1);
/// The longest wait that a `Retry-After` can cause. A longer time could overflow when added to the
/// current instant.
const MAX_HOLD: Duration = Duration::from_secs(366 * 86_400);

/// Whether a request may be sent now, and if not, until when to wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Next {
    Send,
    /// Too many requests are in flight. Check again after the next response, or at this time at the
    /// latest.
    AfterResponse(Instant),
    /// Send at this time and not before, because the rate limit is exhausted until then.
    HeldUntil(Instant),
}

/// The rate limit that a response reports, in `X-RateLimit-*` and `Retry-After`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ReportedLimit {
    pub(crate) remaining: Option<u64>,
    /// The result of [`RateLimit::resets_in`](crate::RateLimit::resets_in). `None` if the response
    /// reports no limit or no usable reset time.
    pub(crate) resets_in: Option<Duration>,
    /// The time for which a 429 forbids requests, from `Retry-After` or else from the retry policy.
    pub(crate) hold: Option<Duration>,
}

/// The known state of a key's rate limit.
///
/// At most half of the remaining requests, rounded up, may be in flight, because other programs may
/// use the same account. If no requests remain, calls wait until the limit resets. Then a single
/// request learns how many remain. If the time of the reset is unknown, this single request is sent
/// immediately.
///
/// The client first assumes that one request remains. Each response without rate limit headers
/// doubles the assumed number, until a response reports the real one. So a server without these
/// headers does not limit the client to one request at a time.
#[derive(Debug)]
pub(crate) struct RateLimitState {
    /// Maps the number of each request without a response to the time at which the request was
    /// sent.
    in_flight: BTreeMap<u64, Instant>,
    sent: u64,
    held_until: Option<Instant>,
    remaining: u64,
    resets_at: Option<Instant>,
    /// The value of `sent` when `learn` last updated `remaining`. `None` while `remaining` is only
    /// assumed.
    learned_after: Option<u64>,
}

impl Default for RateLimitState {
    fn default() -> Self {
        Self {
            in_flight: BTreeMap::new(),
            sent: 0,
            held_until: None,
            remaining: 1,
            resets_at: None,
            learned_after: None,
        }
    }
}

impl RateLimitState {
    pub(crate) fn next(&self, now: Instant) -> Next {
        if let Some(until) = self.held_until.filter(|until| *until > now) {
            return Next::HeldUntil(until);
        }
        let resets_at = self.resets_at.filter(|at| *at > now);
        // If no future reset is known, assume that the server admits at least one request. The
        // response to that request updates `remaining`.
        let remaining = self.remaining.max(u64::from(resets_at.is_none()));
        let times_out_at = self.in_flight.values().map(|sent| *sent + RESPONSE_TIMEOUT);
        let times_out_at = times_out_at.filter(|at| *at > now);
        let in_flight = times_out_at.clone().count() as u64;
        if in_flight < remaining.div_ceil(2) {
            return Next::Send;
        }
        let first = times_out_at.chain(resets_at).min().unwrap_or(now);
        if in_flight > 0 { Next::AfterResponse(first) } else { Next::HeldUntil(first) }
    }

    pub(crate) fn send(&mut self, now: Instant) -> u64 {
        self.sent += 1;
        self.in_flight.insert(self.sent, now);
        self.sent
    }

    /// Records the response to a request. `chance`, from 0 to 1, scales the jitter.
    pub(crate) fn record_response(
        &mut self,
        number: u64,
        now: Instant,
        limit: ReportedLimit,
        chance: f64,
    ) {
        let jitter = MAX_JITTER.mul_f64(chance);
        if let Some(hold) = limit.hold {
            let until = now + hold.min(MAX_HOLD);
            // Keep `held_until` unless a 429 reports a later time, so that a burst of 429s gets
            // only one jitter.
            let held_until = self.held_until.filter(|held| *held >= until);
            self.held_until = Some(held_until.unwrap_or(until + jitter));
            self.learn(number, now, 0, self.held_until);
        } else if let Some(remaining) = limit.remaining {
            let resets_at = limit.resets_in.map(|resets_in| now + resets_in + jitter);
            self.learn(number, now, remaining, resets_at);
        } else if self.learned_after.is_none() {
            self.remaining = self.remaining.saturating_mul(2);
        } else {
            self.record_no_limit(number, true);
        }
        self.in_flight.remove(&number);
    }

    /// Updates the number of remaining requests. Until the limit resets, a response can raise the
    /// number only if its request was sent after the last update. The reason is that responses may
    /// arrive out of order.
    fn learn(&mut self, number: u64, now: Instant, remaining: u64, resets_at: Option<Instant>) {
        let is_later = self.learned_after.is_none_or(|sent| number > sent);
        let has_reset = self.resets_at.is_some_and(|at| at <= now);
        if is_later || has_reset || remaining < self.remaining {
            self.remaining = remaining;
            self.resets_at = resets_at;
            self.learned_after = Some(self.sent);
        }
    }

    /// Records a request without a response, or with a response that reports no limit. If the
    /// server may have counted the request, lowers the known number of remaining requests by 1.
    /// Does not lower the number from 1 to 0, because at 0 all calls would wait for the reset.
    pub(crate) fn record_no_limit(&mut self, number: u64, may_be_counted: bool) {
        self.in_flight.remove(&number);
        if self.learned_after.is_some() && may_be_counted && self.remaining > 1 {
            self.remaining -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{SECOND, refused, remaining};

    fn send_all(state: &mut RateLimitState, now: Instant) -> Vec<u64> {
        let mut numbers = Vec::new();
        while state.next(now) == Next::Send && numbers.len() < 1_000 {
            numbers.push(state.send(now));
        }
        numbers
    }

    #[test]
    fn one_request_goes_first_and_then_half_of_the_remaining_ones() {
        let (mut state, now) = (RateLimitState::default(), Instant::now());
        assert_eq!(send_all(&mut state, now), [1]);
        assert_eq!(state.next(now), Next::AfterResponse(now + RESPONSE_TIMEOUT));
        state.record_response(1, now, remaining(59), 0.0);
        assert_eq!(send_all(&mut state, now).len(), 30);
        // At most half of the remaining requests, rounded up, may be in flight: 29 of 58, then 29
        // of 57. Response 2 leaves 29 in flight. Response 3 leaves 28, so one more may be sent.
        state.record_response(2, now, remaining(58), 0.0);
        assert_eq!(send_all(&mut state, now).len(), 0);
        state.record_response(3, now, remaining(57), 0.0);
        assert_eq!(send_all(&mut state, now).len(), 1);
    }

    #[test]
    fn the_limit_is_kept_in_any_order_of_the_responses() {
        for seed in 0..50 {
            let mut random = fastrand::Rng::with_seed(seed);
            let (mut state, now) = (RateLimitState::default(), Instant::now());
            let (mut open, mut quota, mut sent) = (Vec::new(), 60, 0);
            loop {
                for number in send_all(&mut state, now) {
                    sent += 1;
                    quota -= 1;
                    assert!(quota >= 0, "more requests than the limit were sent");
                    open.push((number, remaining(quota as u64)));
                }
                if open.is_empty() {
                    break;
                }
                let (number, limit) = open.swap_remove(random.usize(..open.len()));
                state.record_response(number, now, limit, 0.0);
            }
            assert_eq!(sent, 60);
            assert_eq!(state.next(now), Next::HeldUntil(now + 30 * SECOND));
            assert_eq!(send_all(&mut state, now + 30 * SECOND).len(), 1);
        }
    }

    #[test]
    fn a_429_holds_all_requests_with_one_jitter_and_then_one_goes_first() {
        let (mut state, now) = (RateLimitState::default(), Instant::now());
        state.send(now);
        state.record_response(1, now, remaining(20), 0.0);
        assert_eq!(send_all(&mut state, now).len(), 10);
        state.record_response(2, now, refused(42 * SECOND), 0.5);
        let held_until = now + 42 * SECOND + SECOND / 2;
        // Responses to requests that were sent before the 429, and other 429s of the same burst,
        // change nothing.
        state.record_response(3, now, remaining(7), 0.0);
        state.record_response(4, now + SECOND / 3, refused(42 * SECOND), 0.9);
        assert_eq!(state.next(now), Next::HeldUntil(held_until));
        for number in 5..=11 {
            state.record_no_limit(number, true);
        }
        assert_eq!(send_all(&mut state, held_until), [12]);
        state.record_response(12, held_until, remaining(59), 0.0);
        assert_eq!(send_all(&mut state, held_until).len(), 30);
    }

    #[test]
    fn a_later_429_extends_the_hold_to_at_most_the_maximum() {
        let (mut state, now) = (RateLimitState::default(), Instant::now());
        for (hold, expected) in [(9, 9), (5, 9), (300, 300), (u64::MAX, MAX_HOLD.as_secs())] {
            let number = state.send(now);
            state.record_response(number, now, refused(Duration::from_secs(hold)), 0.0);
            assert_eq!(state.next(now), Next::HeldUntil(now + Duration::from_secs(expected)));
        }
    }

    #[test]
    fn the_response_to_a_later_request_wins() {
        let (mut state, now) = (RateLimitState::default(), Instant::now());
        state.send(now);
        state.record_response(1, now, remaining(4), 0.0);
        assert_eq!(send_all(&mut state, now), [2, 3]);
        state.record_response(3, now, remaining(2), 0.0);
        state.record_response(2, now, remaining(3), 0.0);
        assert_eq!(send_all(&mut state, now), [4]);
        // A later response may report more remaining requests, for example if the plan has changed.
        state.record_response(4, now, remaining(300), 0.0);
        assert_eq!(send_all(&mut state, now).len(), 150);
    }

    #[test]
    fn one_request_goes_if_the_reset_time_is_unknown() {
        let (mut state, now) = (RateLimitState::default(), Instant::now());
        state.send(now);
        let limit = ReportedLimit { remaining: Some(0), ..ReportedLimit::default() };
        state.record_response(1, now, limit, 0.0);
        assert_eq!(send_all(&mut state, now), [2]);
    }

    #[test]
    fn the_number_of_requests_doubles_if_responses_report_no_limit() {
        let (mut state, now) = (RateLimitState::default(), Instant::now());
        let mut in_flight = Vec::new();
        for _ in 0..5 {
            let numbers = send_all(&mut state, now);
            in_flight.push(numbers.len());
            for number in numbers {
                state.record_response(number, now, ReportedLimit::default(), 0.0);
            }
        }
        assert_eq!(in_flight, [1, 1, 2, 8, 1_000]);
    }

    #[test]
    fn a_lost_response_counts_unless_there_was_no_connection() {
        let (mut state, now) = (RateLimitState::default(), Instant::now());
        state.send(now);
        state.record_response(1, now, remaining(7), 0.0);
        for (may_be_counted, sent) in [(false, 4), (true, 4), (true, 3), (true, 3)] {
            let numbers = send_all(&mut state, now);
            assert_eq!(numbers.len(), sent);
            state.record_no_limit(numbers[0], may_be_counted);
            numbers[1..].iter().for_each(|number| state.record_no_limit(*number, false));
        }
        // Lost responses never reduce the remaining requests below 1.
        for number in 100..200 {
            state.record_no_limit(number, true);
        }
        assert_eq!(send_all(&mut state, now).len(), 1);
    }

    #[test]
    fn a_request_without_a_response_blocks_others_only_until_the_timeout() {
        let (mut state, now) = (RateLimitState::default(), Instant::now());
        state.send(now);
        let times_out_at = now + RESPONSE_TIMEOUT;
        assert_eq!(state.next(times_out_at - SECOND), Next::AfterResponse(times_out_at));
        assert_eq!(send_all(&mut state, times_out_at).len(), 1);
    }
}
