//! The policy for retries. Computes the wait before the next attempt, but does not wait and sends
//! nothing.

use std::time::Duration;

/// Decides when a request is retried, and how long a call waits for the rate limit.
///
/// A request is retried after 429, 500, 502, 503 or 504. It is also retried if the connection is
/// lost or silent for too long before the response begins. Retries are safe, because this API has
/// only `GET` and `DELETE` requests. Before a retry, the call waits for the time in `Retry-After`.
/// Without this header, the wait doubles with each attempt and has jitter.
///
/// A call fails with the error of its last attempt if no attempts remain, or if the next attempt
/// would begin after [`total`](Self::total). A call that waits for the rate limit fails with
/// [`ErrorKind::RateLimit`](crate::ErrorKind::RateLimit) if the limit lasts longer than the rest of
/// `total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    attempts: u32,
    total: Duration,
    first_wait: Duration,
    longest_wait: Duration,
}

impl Default for RetryPolicy {
    /// At most 5 attempts within 2 minutes, which is enough to wait for the next minute window.
    ///
    /// Without `Retry-After`, the waits double from 0.5 seconds, to at most 30 seconds. Jitter
    /// shortens each of these waits by up to half. It does not shorten a wait from `Retry-After`.
    fn default() -> Self {
        Self {
            attempts: 5,
            total: Duration::from_secs(120),
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(30),
        }
    }
}

impl RetryPolicy {
    /// Returns a policy that sends every request once, without waiting for the rate limit.
    pub fn never() -> Self {
        Self { attempts: 1, ..Self::default() }
    }

    /// Sets the maximum number of attempts, including the first. With 1 or 0, a call is sent once
    /// and does not wait for the rate limit.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Sets the period in which attempts may begin. The period starts with the first wait for the
    /// rate limit, or with the first attempt if there is no wait.
    ///
    /// The period includes all waits for the rate limit, so numerous concurrent calls need a longer
    /// period. On a plan of 60 requests per minute, 200 calls need a little more than three
    /// minutes.
    pub fn total(mut self, total: Duration) -> Self {
        self.total = total;
        self
    }

    /// Sets the wait before the second attempt, if there is no `Retry-After`. Jitter shortens this
    /// wait and the later ones by up to half.
    pub fn first_wait(mut self, wait: Duration) -> Self {
        self.first_wait = wait;
        self
    }

    /// Sets the maximum of the waits that double with each attempt. A wait from `Retry-After` may
    /// be longer.
    pub fn longest_wait(mut self, wait: Duration) -> Self {
        self.longest_wait = wait;
        self
    }

    pub(crate) fn is_never(&self) -> bool {
        self.attempts <= 1
    }

    pub(crate) fn time_limit(&self) -> Duration {
        self.total
    }

    pub(crate) fn next_wait(
        &self,
        attempts_made: u32,
        retry_after: Option<Duration>,
    ) -> Option<Duration> {
        // `Retry-After: 0` is ignored, so that the wait still doubles.
        let retry_after = retry_after.filter(|wait| !wait.is_zero());
        let wait = || retry_after.unwrap_or_else(|| self.back_off(attempts_made, fastrand::f64()));
        (attempts_made < self.attempts).then(wait)
    }

    /// The wait doubles with each attempt, up to `longest_wait`. `chance`, from 0 to 1, shortens
    /// the wait by up to half, so that clients do not all retry at the same moment.
    fn back_off(&self, attempts_made: u32, chance: f64) -> Duration {
        let doublings = attempts_made.saturating_sub(1).min(31);
        let full = self.first_wait.saturating_mul(1 << doublings).min(self.longest_wait);
        full.mul_f64(1.0 - chance / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn retry_after_is_used_as_the_wait() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.next_wait(1, Some(42 * SECOND)), Some(42 * SECOND));
        assert_eq!(policy.next_wait(4, Some(Duration::MAX)), Some(Duration::MAX));
    }

    #[test]
    fn attempts_are_bounded() {
        let policy = RetryPolicy::default();
        assert!(policy.next_wait(4, None).is_some());
        assert_eq!(policy.next_wait(5, None), None);
        assert_eq!(RetryPolicy::never().next_wait(1, Some(SECOND)), None);
        assert_eq!(RetryPolicy::default().attempts(0).next_wait(1, None), None);
    }

    #[test]
    fn waits_double_up_to_the_longest_with_jitter_of_half() {
        let policy = RetryPolicy::default().attempts(u32::MAX);
        let waits = [1, 2, 3, 7, 40, u32::MAX - 1].map(|made| policy.back_off(made, 0.0));
        let expected = [500, 1_000, 2_000, 30_000, 30_000, 30_000].map(Duration::from_millis);
        assert_eq!(waits, expected);
        assert_eq!(policy.back_off(2, 1.0), Duration::from_millis(500));
        let wait = policy.next_wait(1, Some(Duration::ZERO)).unwrap();
        assert!((250..=500).contains(&wait.as_millis()), "{wait:?}");
    }
}
