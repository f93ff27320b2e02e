//! Calls wait here for the rate limit, in turn. The rules are those of `limits`.

use crate::limits::{Limits, Next, Told};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// The calls of a client and of its clones.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    limits: Limits,
    /// By the number of the call, so that an attempt that was refused is the next one again.
    waiting: BTreeMap<u64, Waiting>,
    calls: u64,
    /// The end of the hold that all who wait know of.
    held_until: Option<Instant>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// The number of the request that it may send. Given to it by whichever call makes room, so
    /// that a call which is not polled keeps none behind it waiting.
    request: Option<u64>,
    notify: Arc<Notify>,
}

/// A request under way.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    request: Option<u64>,
}

/// Leaves the queue when it is dropped.
struct Place<'a> {
    turns: &'a Turns,
    call: u64,
}

impl Turns {
    /// The number of a new call, which decides on its turn.
    pub(crate) fn next_call(&self) -> u64 {
        let mut state = self.state();
        state.calls += 1;
        state.calls
    }

    /// Waits until this call may send a request. An error is how long the limit holds, if that is
    /// beyond the deadline; zero, if the deadline passes while others have their turns.
    pub(crate) async fn wait(
        &self,
        call: u64,
        deadline: Option<Instant>,
    ) -> Result<Turn<'_>, Duration> {
        let notify = Arc::new(Notify::new());
        let waiting = Waiting { request: None, notify: notify.clone() };
        self.state().waiting.insert(call, waiting);
        let _place = Place { turns: self, call };
        let is_too_late = |at: Instant| deadline.is_some_and(|deadline| deadline < at);
        loop {
            let now = Instant::now();
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Err(Duration::ZERO);
            }
            let next = {
                let mut state = self.state();
                let next = state.give_turns(now);
                if let Some(request) = state.waiting.get(&call).and_then(|of| of.request) {
                    state.waiting.remove(&call);
                    return Ok(Turn { turns: self, request: Some(request) });
                }
                next
            };
            let wake_at = match next {
                Next::HeldUntil(until) if is_too_late(until) => return Err(until - now),
                Next::HeldUntil(until) | Next::AfterResponse(until) => until,
                Next::Send => now,
            };
            let wake_at = deadline.map_or(wake_at, |deadline| wake_at.min(deadline));
            // Either way there is something new.
            let _ = timeout_at(wake_at, notify.notified()).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code under the lock panics half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Gives those who wait their turns, as far as the limits allow; when the next one has its.
    fn give_turns(&mut self, now: Instant) -> Next {
        for waiting in self.waiting.values_mut().filter(|waiting| waiting.request.is_none()) {
            if self.limits.next(now) != Next::Send {
                break;
            }
            waiting.request = Some(self.limits.send(now));
            waiting.notify.notify_one();
        }
        let next = self.limits.next(now);
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
    /// Tells what the response told; how long the limit holds now.
    pub(crate) fn answered(mut self, told: Told) -> Option<Duration> {
        let (mut state, now) = (self.turns.state(), Instant::now());
        if let Some(request) = self.request.take() {
            state.limits.answered(request, now, told, fastrand::f64());
        }
        match state.give_turns(now) {
            Next::HeldUntil(until) => Some(until - now),
            _ => None,
        }
    }

    /// There was no connection, so the server has not counted the request.
    pub(crate) fn not_sent(mut self) {
        self.end(false);
    }

    fn end(&mut self, may_be_counted: bool) {
        if let Some(request) = self.request.take() {
            let mut state = self.turns.state();
            state.limits.unanswered(request, may_be_counted);
            state.give_turns(Instant::now());
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.end(true);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.state();
        let request = state.waiting.remove(&self.call).and_then(|waiting| waiting.request);
        if let Some(request) = request {
            state.limits.unanswered(request, false);
            state.give_turns(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    const SECOND: Duration = Duration::from_secs(1);

    fn told(remaining: u64) -> Told {
        Told { remaining: Some(remaining), resets_in: Some(30 * SECOND), hold: None }
    }

    fn refused(hold: Duration) -> Told {
        Told { hold: Some(hold), ..Told::default() }
    }

    /// Polls once.
    fn poll<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Poll<T> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    /// Turns of a limit that is exhausted for so long.
    async fn held(hold: Duration) -> Turns {
        let turns = Turns::default();
        turns.wait(turns.next_call(), None).await.unwrap().answered(refused(hold)).unwrap();
        turns
    }

    #[tokio::test(start_paused = true)]
    async fn calls_leave_in_the_order_of_their_numbers() {
        let turns = Arc::new(held(42 * SECOND).await);
        let left = Arc::new(Mutex::new(Vec::new()));
        let calls: Vec<_> = (0..20).map(|_| turns.next_call()).collect();
        let began = Instant::now();
        // The last call waits first, as one whose attempt was refused does.
        let tasks = calls.iter().rev().map(|call| {
            let (turns, left, call) = (turns.clone(), left.clone(), *call);
            tokio::spawn(async move {
                let turn = turns.wait(call, None).await.unwrap();
                left.lock().unwrap().push(call);
                tokio::time::sleep(SECOND / 10).await;
                turn.answered(told(1));
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        assert_eq!(*left.lock().unwrap(), calls);
        let seconds = began.elapsed().as_secs_f64();
        assert!((44.0..45.1).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_hold_beyond_the_deadline_is_an_error_at_once_also_for_those_who_wait() {
        let turns = Arc::new(Turns::default());
        let first = turns.wait(turns.next_call(), None).await.unwrap();
        let began = Instant::now();
        let wait = |seconds: u32| {
            let turns = turns.clone();
            tokio::spawn(async move {
                let call = turns.next_call();
                turns.wait(call, Some(began + seconds * SECOND)).await.map(drop)
            })
        };
        let waiting = [wait(10), wait(200)];
        tokio::task::yield_now().await;
        first.answered(refused(100 * SECOND));
        let [short, long] = waiting;
        let told = short.await.unwrap().unwrap_err();
        assert!((100 * SECOND..101 * SECOND).contains(&told), "{told:?}");
        assert_eq!(wait(10).await.unwrap().unwrap_err(), told);
        assert_eq!(began.elapsed(), Duration::ZERO);
        long.await.unwrap().unwrap();
        assert!(began.elapsed() >= 100 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_that_passes_while_others_have_their_turns_is_an_error() {
        let turns = Turns::default();
        let _first = turns.wait(turns.next_call(), None).await.unwrap();
        let deadline = Some(Instant::now() + SECOND);
        let error = turns.wait(turns.next_call(), deadline).await.unwrap_err();
        assert_eq!(error, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_dropped_or_never_polled_again_does_not_keep_others_waiting() {
        let turns = held(42 * SECOND).await;
        let began = Instant::now();
        let mut left = pin!(turns.wait(turns.next_call(), None));
        assert!(poll(left.as_mut()).is_pending());
        {
            let mut dropped = pin!(turns.wait(turns.next_call(), None));
            assert!(poll(dropped.as_mut()).is_pending());
        }
        // It is the turn of the call that nobody polls, for the time of one response.
        turns.wait(turns.next_call(), None).await.unwrap().answered(told(59));
        let seconds = began.elapsed().as_secs_f64();
        assert!((47.0..48.1).contains(&seconds), "{seconds}");
        assert!(poll(left.as_mut()).is_ready());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_ends_without_a_response_makes_room_at_once() {
        let turns = Turns::default();
        let began = Instant::now();
        for _ in 0..3 {
            turns.wait(turns.next_call(), None).await.unwrap().not_sent();
            drop(turns.wait(turns.next_call(), None).await.unwrap());
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(turns.state().waiting.is_empty());
    }
}
