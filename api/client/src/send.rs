//! Sends the requests of all generated methods, and retries them as the call's retry policy says.

use crate::attempt::Attempt;
use crate::call::{Call, Sent, Stopped};
use crate::call_queue::Turn;
use crate::error_kind::ErrorKind;
use crate::rate_limit_state::ReportedLimit;
use crate::response::Head;
use crate::span::trace_retry;
use reqwest::{Method, Request, Response, StatusCode};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// Sends the request, and retries it as the retry policy of `call` allows. Each run of `execute` is
/// one attempt. Records the attempts in `call`.
///
/// If the rate limit or the call's timeout ends a wait, records the reason in `call` and returns a
/// placeholder error.
pub(crate) async fn send<F>(
    call: &Call,
    operation: &'static str,
    request: Request,
    execute: impl Fn(Request) -> F,
) -> reqwest::Result<Response>
where
    F: Future<Output = reqwest::Result<Response>>,
{
    let ends = call.timeout.and_then(|limit| Some((Instant::now().checked_add(limit)?, limit)));
    let mut attempts = Attempts { call, operation, sent: Sent { ends, ..Sent::default() } };
    let result = attempts.run(request, execute).await;
    attempts.sent.stopped = result.as_ref().err().copied();
    call.record(attempts.sent);
    result.unwrap_or_else(|_| placeholder_error())
}

struct Attempts<'a> {
    call: &'a Call,
    operation: &'static str,
    sent: Sent,
}

impl<'a> Attempts<'a> {
    async fn run<F>(
        &mut self,
        mut request: Request,
        execute: impl Fn(Request) -> F,
    ) -> Result<reqwest::Result<Response>, Stopped>
    where
        F: Future<Output = reqwest::Result<Response>>,
    {
        let permit = self.call.acquire_permit();
        self.in_time("waited for other calls to end (`max_in_flight`)", permit).await?;
        let deadline = self.deadline();
        let number = self.call.queue.next_call();
        loop {
            let turn = self.turn(number, deadline).await?;
            let method = request.method().clone();
            // `again` is `None` if the body of the request is a stream, because a stream cannot be
            // sent twice.
            let again = request.try_clone();
            if let Some((at, _)) = self.sent.ends {
                // This timeout also limits the body of the response.
                *request.timeout_mut() = Some(at - Instant::now());
            }
            let result = execute(request).await;
            self.sent.attempts += 1;
            self.sent.head = result.as_ref().ok().map(head_of);
            let wait = self.next_wait(&result, turn).filter(|wait| {
                let end = Instant::now().checked_add(*wait);
                let is_in_time =
                    deadline.is_none_or(|deadline| end.is_some_and(|end| end < deadline));
                is_in_time && again.is_some() && may_succeed_later(&method, &result)
            });
            self.report(&result, wait);
            let (Some(wait), Some(again)) = (wait, again) else { return Ok(result) };
            self.sent.may_be_done |= may_be_done(&result);
            let is_held = is_limited(&result);
            // Drop the response, so that it does not occupy its connection during the wait.
            drop(result);
            if !is_held {
                sleep(wait).await;
            }
            request = again;
        }
    }

    /// Returns the time after which no attempt begins.
    fn deadline(&self) -> Option<Instant> {
        let by_policy = Instant::now().checked_add(self.call.policy.time_limit());
        by_policy.into_iter().chain(self.sent.ends.map(|(at, _)| at)).min()
    }

    /// Waits until the rate limit allows this call to send. If retries are switched off, returns
    /// `None` immediately.
    async fn turn(
        &self,
        number: u64,
        deadline: Option<Instant>,
    ) -> Result<Option<Turn<'a>>, Stopped> {
        if self.call.policy.is_never() {
            return Ok(None);
        }
        let turn = self.call.queue.wait(number, deadline);
        let turn = self.in_time("waited for the rate limit", turn).await?;
        turn.map(Some).map_err(|holds_for| Stopped::RateLimit { holds_for })
    }

    /// Tells the queue the result of an attempt, so that other calls also wait after a 429. Returns
    /// the wait before the next attempt, or `None` if no attempts remain.
    fn next_wait(
        &self,
        result: &reqwest::Result<Response>,
        turn: Option<Turn<'_>>,
    ) -> Option<Duration> {
        let retry_after = self.sent.head.as_ref().and_then(Head::retry_after);
        let wait = self.call.policy.next_wait(self.sent.attempts, retry_after);
        let hold = if is_limited(result) { wait.or(retry_after) } else { None };
        let held_for = match (turn, &self.sent.head) {
            (Some(turn), Some(head)) => turn.record_response(reported_limit(head, hold)),
            (Some(turn), None) if result.as_ref().is_err_and(reqwest::Error::is_connect) => {
                turn.record_not_sent();
                None
            }
            _ => None,
        };
        wait.map(|wait| wait.max(hold.and(held_for).unwrap_or_default()))
    }

    fn report(&self, result: &reqwest::Result<Response>, wait: Option<Duration>) {
        let attempt = Attempt {
            operation: self.operation,
            number: self.sent.attempts,
            outcome: result.as_ref().map(Response::status).map_err(ErrorKind::from_send_error),
            request_id: self.sent.head.as_ref().and_then(Head::request_id),
            wait,
        };
        trace_retry(&attempt);
        self.call.observer.notify(&attempt);
    }

    /// Awaits the future, but fails if `call_timeout` expires first. `while_it` says what the call
    /// was doing, for the message.
    async fn in_time<T>(
        &self,
        while_it: &'static str,
        future: impl Future<Output = T>,
    ) -> Result<T, Stopped> {
        let Some((at, limit)) = self.sent.ends else { return Ok(future.await) };
        let in_time = timeout_at(at, future).await.ok();
        let in_time = in_time.filter(|_| Instant::now() < at);
        in_time.ok_or(Stopped::CallTimeout { limit, while_it })
    }
}

/// Returns the error that progenitor gets if the client itself ends a call. Programs cannot
/// construct errors of reqwest, so this function converts a made-up response. The error is never
/// shown.
fn placeholder_error() -> reqwest::Result<Response> {
    let mut response = http::Response::new("");
    *response.status_mut() = StatusCode::REQUEST_TIMEOUT;
    Response::from(response).error_for_status()
}

fn reported_limit(head: &Head, hold: Option<Duration>) -> ReportedLimit {
    let limit = head.rate_limit();
    let resets_in = limit.and_then(|limit| limit.resets_in(&head.headers));
    ReportedLimit { remaining: limit.map(|limit| limit.remaining), resets_in, hold }
}

fn is_limited(result: &reqwest::Result<Response>) -> bool {
    matches!(result, Ok(response) if response.status() == StatusCode::TOO_MANY_REQUESTS)
}

fn head_of(response: &Response) -> Head {
    Head { status: response.status(), headers: response.headers().clone() }
}

fn may_succeed_later(method: &Method, result: &reqwest::Result<Response>) -> bool {
    match result {
        Ok(response) => match response.status() {
            StatusCode::TOO_MANY_REQUESTS => true,
            // The service or a proxy may send these statuses after the request was executed, so
            // only idempotent requests are repeated.
            StatusCode::INTERNAL_SERVER_ERROR
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => method.is_idempotent(),
            _ => false,
        },
        Err(error) => method.is_idempotent() && is_lost_connection(error),
    }
}

/// True if the server may have executed the failed attempt.
fn may_be_done(result: &reqwest::Result<Response>) -> bool {
    match result {
        Ok(response) => response.status().is_server_error(),
        Err(error) => !error.is_connect(),
    }
}

/// True if the connection could not be opened, or if it broke or timed out before the response.
fn is_lost_connection(error: &reqwest::Error) -> bool {
    error.is_connect() || error.is_request()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::Observer;
    use crate::retry::RetryPolicy;
    use reqwest::Url;
    use std::cell::Cell;

    fn request(method: Method) -> Request {
        Request::new(method, Url::parse("http://orders.example/v1/store/orders").unwrap())
    }

    fn answer(status: u16, retry_after: Option<&str>) -> Response {
        let mut response = http::Response::builder().status(status);
        if let Some(value) = retry_after {
            response = response.header("Retry-After", value);
        }
        Response::from(response.body("").unwrap())
    }

    /// Runs a call that gets 429 for the first `times` requests, and then 200. Returns the status,
    /// the number of requests, and the seconds on the paused clock.
    async fn run(
        policy: RetryPolicy,
        times: usize,
        retry_after: Option<&str>,
    ) -> (u16, usize, f64) {
        let sent = Cell::new(0);
        let began = Instant::now();
        let call = Call::new(policy, Observer::default());
        let response = send(&call, "list_orders", request(Method::GET), |_| async {
            sent.set(sent.get() + 1);
            Ok(if sent.get() > times { answer(200, None) } else { answer(429, retry_after) })
        });
        let status = response.await.unwrap().status().as_u16();
        assert_eq!(call.sent().attempts as usize, sent.get());
        (status, sent.get(), began.elapsed().as_secs_f64())
    }

    #[tokio::test(start_paused = true)]
    async fn waits_for_retry_after() {
        let (status, sent, seconds) = run(RetryPolicy::default(), 2, Some("42")).await;
        assert_eq!((status, sent), (200, 3));
        // Two waits of 42 seconds, each with up to a second of jitter.
        assert!((84.0..86.1).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn backs_off_without_retry_after() {
        let (status, sent, seconds) = run(RetryPolicy::default(), 3, None).await;
        assert_eq!((status, sent), (200, 4));
        // The waits are 0.5, 1 and 2 seconds. Jitter shortens each wait by at most half. After each
        // 429, the rate limit adds a jitter of at most one second.
        assert!((1.75..6.6).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn gives_up_after_the_last_attempt() {
        let (status, sent, _) = run(RetryPolicy::default(), usize::MAX, None).await;
        assert_eq!((status, sent), (429, 5));
    }

    #[tokio::test(start_paused = true)]
    async fn gives_up_when_the_time_is_over() {
        let (status, sent, seconds) = run(RetryPolicy::default(), usize::MAX, Some("50")).await;
        assert_eq!((status, sent), (429, 3));
        assert!((100.0..102.1).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn does_not_begin_a_wait_that_is_too_long() {
        let (status, sent, seconds) = run(RetryPolicy::default(), 1, Some("604800")).await;
        assert_eq!((status, sent, seconds), (429, 1, 0.0));
    }

    #[tokio::test(start_paused = true)]
    async fn sends_once_if_retries_are_switched_off() {
        assert_eq!(run(RetryPolicy::never(), 1, Some("1")).await, (429, 1, 0.0));
    }

    /// Sends a request that first gets this status, and then a 404. Returns the record of the
    /// attempts.
    async fn run_after(method: Method, status: u16) -> Sent {
        let sent = Cell::new(0);
        let call = Call::new(RetryPolicy::default(), Observer::default());
        let response = send(&call, "cancel_order", request(method), |_| async {
            sent.set(sent.get() + 1);
            Ok(answer(if sent.get() == 1 { status } else { 404 }, None))
        });
        let _ = response.await.unwrap();
        call.sent()
    }

    #[tokio::test(start_paused = true)]
    async fn idempotent_requests_are_retried_after_a_5xx() {
        for status in [500, 502, 503, 504] {
            for method in [Method::GET, Method::PUT, Method::DELETE] {
                let sent = run_after(method, status).await;
                assert_eq!((sent.attempts, sent.may_be_done), (2, true), "{status}");
            }
            assert_eq!(run_after(Method::POST, status).await.attempts, 1, "{status}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_429_was_not_executed() {
        let sent = run_after(Method::DELETE, 429).await;
        assert_eq!((sent.attempts, sent.may_be_done), (2, false));
    }

    #[tokio::test(start_paused = true)]
    async fn other_errors_are_not_retried() {
        for status in [400, 404, 409, 412, 501, 505] {
            let sent = run_after(Method::DELETE, status).await;
            assert_eq!((sent.attempts, sent.may_be_done), (1, false), "{status}");
            assert_eq!(sent.head.unwrap().status, status);
        }
    }
}
