//! Whether to try again, and how long to wait before. It sends nothing and
//! does not wait itself.

use std::time::Duration;

/// When a request is sent again, and when no longer.
///
/// Sent again are requests answered with 429 or 503, after the time that
/// `Retry-After` says, or after a time that doubles, with jitter, where it
/// says none; and `GET` and `DELETE` requests whose connection was lost. Never
/// one whose key is banned, because only waiting ends a ban.
///
/// Where the number of attempts or the total time is exhausted, or where
/// `Retry-After` asks for more time than is left, the last answer comes back
/// at once, as the error that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    attempts: u32,
    total: Duration,
    first_wait: Duration,
    longest_wait: Duration,
}

impl Default for RetryPolicy {
    /// At most 5 attempts within 2 minutes, which leaves room to wait for the
    /// next minute window; waits of half a second, doubling up to 30 seconds.
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
    /// Every request is sent once.
    pub fn never() -> Self {
        Self { attempts: 1, ..Self::default() }
    }

    /// How often a request is sent at most, the first time included.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// How long a request may take with all attempts and waits before none is
    /// added any more.
    pub fn total(mut self, total: Duration) -> Self {
        self.total = total;
        self
    }

    /// The wait before the second attempt, where the server names none.
    pub fn first_wait(mut self, wait: Duration) -> Self {
        self.first_wait = wait;
        self
    }

    /// What the doubling waits grow to. What the server asks for may be longer.
    pub fn longest_wait(mut self, wait: Duration) -> Self {
        self.longest_wait = wait;
        self
    }

    pub(crate) fn is_never(&self) -> bool {
        self.attempts <= 1
    }

    /// How long to wait before the next attempt, after so many, begun so long
    /// ago, the last of which was told to wait for `asked`; `None` if there is
    /// to be no further attempt.
    pub(crate) fn next_wait(
        &self,
        attempts_made: u32,
        since_first: Duration,
        asked: Option<Duration>,
    ) -> Option<Duration> {
        if attempts_made >= self.attempts {
            return None;
        }
        // Being asked to wait for no time at all is no reason to press.
        let wait = asked
            .filter(|asked| !asked.is_zero())
            .unwrap_or_else(|| self.back_off(attempts_made, fastrand::f64()));
        let room = self.total.checked_sub(since_first)?;
        (wait <= room).then_some(wait)
    }

    /// A time that doubles with each attempt. `chance`, from 0 to 1, takes up
    /// to half of it away, so that clients stopped together do not come back
    /// together.
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
    fn the_server_is_believed() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.next_wait(1, Duration::ZERO, Some(42 * SECOND)), Some(42 * SECOND));
        assert_eq!(policy.next_wait(1, 78 * SECOND, Some(42 * SECOND)), Some(42 * SECOND));
    }

    #[test]
    fn attempts_and_time_are_bounded() {
        let policy = RetryPolicy::default();
        assert!(policy.next_wait(4, Duration::ZERO, None).is_some());
        assert_eq!(policy.next_wait(5, Duration::ZERO, None), None);
        assert_eq!(policy.next_wait(1, 79 * SECOND, Some(42 * SECOND)), None);
        assert_eq!(policy.next_wait(1, Duration::ZERO, Some(Duration::MAX)), None);
        assert_eq!(policy.next_wait(1, 121 * SECOND, None), None);
        assert_eq!(RetryPolicy::never().next_wait(1, Duration::ZERO, Some(SECOND)), None);
        assert_eq!(RetryPolicy::default().attempts(0).next_wait(1, Duration::ZERO, None), None);
    }

    #[test]
    fn waits_double_up_to_the_longest_with_jitter_of_half() {
        let policy = RetryPolicy::default().attempts(u32::MAX);
        let waits = [1, 2, 3, 7, 40, u32::MAX - 1].map(|made| policy.back_off(made, 0.0));
        let expected = [500, 1_000, 2_000, 30_000, 30_000, 30_000].map(Duration::from_millis);
        assert_eq!(waits, expected);
        assert_eq!(policy.back_off(2, 1.0), Duration::from_millis(500));
        let wait = policy.next_wait(1, Duration::ZERO, Some(Duration::ZERO)).unwrap();
        assert!((250..=500).contains(&wait.as_millis()), "{wait:?}");
    }
}
