//! A queue in which calls wait until the rate limit allows their requests. `rate_limit_state` has
//! the rules.

use crate::rate_limit_state::{Next, RateLimitState, ReportedLimit};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// The queue in which calls wait for the rate limit. All clients that come from one call of
/// `ClientBuilder::build` share the queue.
#[derive(Debug, Default)]
pub(crate) struct CallQueue(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    limit: RateLimitState,
    /// The waiting calls by number. A call keeps its number after a 429, so it goes before calls
    /// that began later.
    waiting: BTreeMap<u64, Waiting>,
    calls: u64,
    /// The time until which the rate limit is exhausted, as last announced to the waiting calls.
    /// `admit_calls` wakes all calls if the time changes.
    held_until: Option<Instant>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// The number of the request that the call may send; `None` while the call must wait. The queue
    /// sets this field. If each call set its own field, a call that the program does not poll would
    /// block later calls.
    request: Option<u64>,
    notify: Arc<Notify>,
}

/// Permission to send one request. The turn ends when the result of the request is recorded. If the
/// turn is dropped earlier, the queue assumes that the server has counted the request.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    queue: &'a CallQueue,
    request: Option<u64>,
}

/// A call's position in the queue. Dropping it removes the call from the queue.
struct QueuePosition<'a> {
    queue: &'a CallQueue,
    call: u64,
}

impl CallQueue {
    /// Returns the number of a new call. Among the waiting calls, the one with the lowest number
    /// sends first.
    pub(crate) fn next_call(&self) -> u64 {
        let mut state = self.state();
        state.calls += 1;
        state.calls
    }

    /// Waits until this call may send a request. Fails at the deadline, or earlier if the rate
    /// limit is known to last beyond the deadline. The error is the remaining time of the rate
    /// limit, or zero at the deadline.
    pub(crate) async fn wait(
        &self,
        call: u64,
        deadline: Option<Instant>,
    ) -> Result<Turn<'_>, Duration> {
        let notify = Arc::new(Notify::new());
        let waiting = Waiting { request: None, notify: notify.clone() };
        self.state().waiting.insert(call, waiting);
        let _position = QueuePosition { queue: self, call };
        let is_too_late = |at: Instant| deadline.is_some_and(|deadline| deadline < at);
        loop {
            let now = Instant::now();
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Err(Duration::ZERO);
            }
            let next = {
                let mut state = self.state();
                let next = state.admit_calls(now);
                if let Some(request) = state.waiting.get(&call).and_then(|call| call.request) {
                    state.waiting.remove(&call);
                    return Ok(Turn { queue: self, request: Some(request) });
                }
                next
            };
            let wake_at = match next {
                Next::HeldUntil(until) if is_too_late(until) => return Err(until - now),
                Next::HeldUntil(until) | Next::AfterResponse(until) => until,
                Next::Send => now,
            };
            let wake_at = deadline.map_or(wake_at, |deadline| wake_at.min(deadline));
            // The result is ignored, because the loop checks again after a notification and after
            // the timeout.
            let _ = timeout_at(wake_at, notify.notified()).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics while it has the lock, so the lock is never poisoned.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Admits and wakes as many waiting calls as the rate limit allows. Returns what the next call
    /// must do.
    ///
    /// If the time of the next allowed request has changed, wakes all waiting calls, because each
    /// call must compare this time with its deadline.
    fn admit_calls(&mut self, now: Instant) -> Next {
        for waiting in self.waiting.values_mut().filter(|waiting| waiting.request.is_none()) {
            if self.limit.next(now) != Next::Send {
                break;
            }
            waiting.request = Some(self.limit.send(now));
            waiting.notify.notify_one();
        }
        let next = self.limit.next(now);
        if let Next::HeldUntil(until) = next
            && self.held_until != Some(until)
        {
            self.held_until = Some(until);
            self.waiting.values().for_each(|waiting| waiting.notify.notify_one());
        }
        next
    }
}

impl Turn<'_> {
    /// Records the rate limit that a response reports. Returns the time for which the rate limit
    /// now forbids requests.
    pub(crate) fn record_response(mut self, limit: ReportedLimit) -> Option<Duration> {
        let (mut state, now) = (self.queue.state(), Instant::now());
        if let Some(request) = self.request.take() {
            state.limit.record_response(request, now, limit, fastrand::f64());
        }
        match state.admit_calls(now) {
            Next::HeldUntil(until) => Some(until - now),
            _ => None,
        }
    }

    /// Records that no connection was opened, so the server has not counted the request.
    pub(crate) fn record_not_sent(mut self) {
        self.end(false);
    }

    fn end(&mut self, may_be_counted: bool) {
        if let Some(request) = self.request.take() {
            let mut state = self.queue.state();
            state.limit.record_no_limit(request, may_be_counted);
            state.admit_calls(Instant::now());
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.end(true);
    }
}

impl Drop for QueuePosition<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        let request = state.waiting.remove(&self.call).and_then(|waiting| waiting.request);
        if let Some(request) = request {
            state.limit.record_no_limit(request, false);
            state.admit_calls(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{SECOND, refused, remaining};
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn poll<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Poll<T> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    /// Returns a queue whose rate limit is exhausted for `hold`, plus up to a second of jitter.
    async fn held_queue(hold: Duration) -> CallQueue {
        let queue = CallQueue::default();
        queue.wait(queue.next_call(), None).await.unwrap().record_response(refused(hold)).unwrap();
        queue
    }

    #[tokio::test(start_paused = true)]
    async fn calls_leave_in_the_order_of_their_numbers() {
        let queue = Arc::new(held_queue(42 * SECOND).await);
        let finished = Arc::new(Mutex::new(Vec::new()));
        let calls: Vec<_> = (0..20).map(|_| queue.next_call()).collect();
        let began = Instant::now();
        // The calls enter the queue in reverse order. In practice, a call that retries after a 429
        // can enter the queue after calls with higher numbers.
        let tasks = calls.iter().rev().map(|call| {
            let (queue, finished, call) = (queue.clone(), finished.clone(), *call);
            tokio::spawn(async move {
                let turn = queue.wait(call, None).await.unwrap();
                finished.lock().unwrap().push(call);
                tokio::time::sleep(SECOND / 10).await;
                turn.record_response(remaining(1));
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        assert_eq!(*finished.lock().unwrap(), calls);
        let seconds = began.elapsed().as_secs_f64();
        assert!((44.0..45.1).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_hold_beyond_the_deadline_fails_waiting_and_new_calls_at_once() {
        let queue = Arc::new(CallQueue::default());
        let first = queue.wait(queue.next_call(), None).await.unwrap();
        let began = Instant::now();
        let wait = |seconds: u32| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let call = queue.next_call();
                queue.wait(call, Some(began + seconds * SECOND)).await.map(drop)
            })
        };
        let waiting = [wait(10), wait(200)];
        tokio::task::yield_now().await;
        first.record_response(refused(100 * SECOND));
        let [short, long] = waiting;
        let hold = short.await.unwrap().unwrap_err();
        assert!((100 * SECOND..101 * SECOND).contains(&hold), "{hold:?}");
        assert_eq!(wait(10).await.unwrap().unwrap_err(), hold);
        assert_eq!(began.elapsed(), Duration::ZERO);
        long.await.unwrap().unwrap();
        assert!(began.elapsed() >= 100 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_that_passes_while_other_calls_go_first_is_an_error() {
        let queue = CallQueue::default();
        let _first = queue.wait(queue.next_call(), None).await.unwrap();
        let deadline = Some(Instant::now() + SECOND);
        let error = queue.wait(queue.next_call(), deadline).await.unwrap_err();
        assert_eq!(error, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_dropped_or_not_polled_does_not_block_others() {
        let queue = held_queue(42 * SECOND).await;
        let began = Instant::now();
        let mut unpolled = pin!(queue.wait(queue.next_call(), None));
        assert!(poll(unpolled.as_mut()).is_pending());
        {
            let mut dropped = pin!(queue.wait(queue.next_call(), None));
            assert!(poll(dropped.as_mut()).is_pending());
        }
        // After 42 seconds, the unpolled call may send, but does not. The next call waits
        // `RESPONSE_TIMEOUT` (5 seconds) for it, and then sends.
        queue.wait(queue.next_call(), None).await.unwrap().record_response(remaining(59));
        let seconds = began.elapsed().as_secs_f64();
        assert!((47.0..48.1).contains(&seconds), "{seconds}");
        assert!(poll(unpolled.as_mut()).is_ready());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_ends_without_a_response_frees_its_slot_at_once() {
        let queue = CallQueue::default();
        let began = Instant::now();
        for _ in 0..3 {
            queue.wait(queue.next_call(), None).await.unwrap().record_not_sent();
            drop(queue.wait(queue.next_call(), None).await.unwrap());
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(queue.state().waiting.is_empty());
    }
}
