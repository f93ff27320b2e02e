//! Sends a request, and again where the call's retry policy says so. Every
//! generated method sends through here.

use crate::attempt::Attempt;
use crate::call::{Call, Sent};
use crate::error_kind::ErrorKind;
use crate::response::Head;
use reqwest::{Method, Request, Response, StatusCode};
use tokio::time::{Instant, sleep};

/// Sends with `execute` until the result is final, and records in `call` what
/// the attempts showed.
pub(crate) async fn send<F>(
    call: &Call,
    operation: &'static str,
    mut request: Request,
    execute: impl Fn(Request) -> F,
) -> reqwest::Result<Response>
where
    F: Future<Output = reqwest::Result<Response>>,
{
    let began = Instant::now();
    let mut sent = Sent::default();
    loop {
        let method = request.method().clone();
        // None if the body is streamed: that cannot be sent twice.
        let again = request.try_clone();
        let result = execute(request).await;
        sent.attempts += 1;
        sent.head = result.as_ref().ok().map(head_of);
        let wait = match &again {
            Some(_) if may_succeed_later(&method, &result) => {
                let asked = sent.head.as_ref().and_then(Head::retry_after);
                call.policy.next_wait(sent.attempts, began.elapsed(), asked)
            }
            _ => None,
        };
        call.observer.tell(&Attempt {
            operation,
            number: sent.attempts,
            outcome: result.as_ref().map(Response::status).map_err(ErrorKind::of_sending),
            request_id: sent.head.as_ref().and_then(Head::request_id),
            wait,
        });
        let (Some(wait), Some(again)) = (wait, again) else {
            call.record(sent);
            return result;
        };
        sent.may_be_done |= may_be_done(&result);
        // Releases the connection before the wait.
        drop(result);
        sleep(wait).await;
        request = again;
    }
}

fn head_of(response: &Response) -> Head {
    Head { status: response.status(), headers: response.headers().clone() }
}

fn may_succeed_later(method: &Method, result: &reqwest::Result<Response>) -> bool {
    match result {
        Ok(response) => match response.status() {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => true,
            // From a proxy, which cannot know whether the request was carried out.
            StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => is_idempotent(method),
            _ => false,
        },
        Err(error) => is_idempotent(method) && is_lost_connection(error),
    }
}

/// Whether the server may have carried the request out. A 429 says that it did
/// not, and without a connection it never got it.
fn may_be_done(result: &reqwest::Result<Response>) -> bool {
    match result {
        Ok(response) => response.status().is_server_error(),
        Err(error) => !error.is_connect(),
    }
}

/// RFC 9110, 9.2.2.
fn is_idempotent(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::DELETE)
}

/// No connection, or one that broke or timed out before the response.
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

    /// Answers 429 this many times, then 200. Returns the status, the number of
    /// requests, and the seconds that passed on the paused clock.
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
    async fn waits_as_long_as_told() {
        let (status, sent, seconds) = run(RetryPolicy::default(), 2, Some("42")).await;
        assert_eq!((status, sent), (200, 3));
        assert!((84.0..84.1).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn backs_off_where_nothing_is_told() {
        let (status, sent, seconds) = run(RetryPolicy::default(), 3, None).await;
        assert_eq!((status, sent), (200, 4));
        // Between half and the whole of 0.5 + 1 + 2 seconds.
        assert!((1.75..3.6).contains(&seconds), "{seconds}");
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
        assert!((100.0..100.1).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn does_not_begin_to_wait_for_what_is_too_long() {
        let (status, sent, seconds) = run(RetryPolicy::default(), 1, Some("604800")).await;
        assert_eq!((status, sent, seconds), (429, 1, 0.0));
    }

    #[tokio::test(start_paused = true)]
    async fn sends_once_where_retries_are_switched_off() {
        assert_eq!(run(RetryPolicy::never(), 1, Some("1")).await, (429, 1, 0.0));
    }

    /// Answers this status, then 404. Returns what the attempts showed.
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
    async fn a_proxys_failure_is_tried_again_where_a_repetition_is_harmless() {
        for status in [502, 503, 504] {
            for method in [Method::GET, Method::DELETE] {
                let sent = run_after(method, status).await;
                assert_eq!((sent.attempts, sent.may_be_done), (2, true), "{status}");
            }
        }
        for (status, attempts) in [(502, 1), (503, 2), (504, 1)] {
            assert_eq!(run_after(Method::POST, status).await.attempts, attempts, "{status}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_429_was_not_carried_out() {
        let sent = run_after(Method::DELETE, 429).await;
        assert_eq!((sent.attempts, sent.may_be_done), (2, false));
    }

    #[tokio::test(start_paused = true)]
    async fn other_failures_are_answers() {
        for status in [400, 404, 409, 500, 501, 505] {
            let sent = run_after(Method::DELETE, status).await;
            assert_eq!((sent.attempts, sent.may_be_done), (1, false), "{status}");
            assert_eq!(sent.head.unwrap().status, status);
        }
    }
}
