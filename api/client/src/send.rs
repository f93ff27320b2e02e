//! Sends a request, and again where [`RetryPolicy`] says so. Every generated
//! method sends through here.

use crate::generated::Client;
use crate::retry::RetryPolicy;
use crate::retry_after::retry_after;
use progenitor_client::{ClientHooks, OperationInfo};
use reqwest::{Method, Request, Response, StatusCode};
use tokio::time::{Instant, sleep};

impl ClientHooks<RetryPolicy> for Client {
    async fn exec(&self, request: Request, _: &OperationInfo) -> reqwest::Result<Response> {
        send(self.inner, request, |request| self.client.execute(request)).await
    }
}

/// Sends with `execute` until the result is final.
async fn send<F>(
    policy: RetryPolicy,
    mut request: Request,
    execute: impl Fn(Request) -> F,
) -> reqwest::Result<Response>
where
    F: Future<Output = reqwest::Result<Response>>,
{
    let began = Instant::now();
    let mut attempts = 0;
    // A request with a streamed body cannot be sent twice.
    while let Some(again) = request.try_clone() {
        let method = request.method().clone();
        let result = execute(request).await;
        attempts += 1;
        if !may_succeed_later(&method, &result) {
            return result;
        }
        let asked = result.as_ref().ok().and_then(|response| retry_after(response.headers()));
        let Some(wait) = policy.next_wait(attempts, began.elapsed(), asked) else {
            return result;
        };
        // Releases the connection before the wait.
        drop(result);
        sleep(wait).await;
        request = again;
    }
    execute(request).await
}

fn may_succeed_later(method: &Method, result: &reqwest::Result<Response>) -> bool {
    match result {
        Ok(response) => matches!(
            response.status(),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        ),
        Err(error) => is_idempotent(method) && is_lost_connection(error),
    }
}

/// RFC 9110, 9.2.2.
fn is_idempotent(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::DELETE)
}

/// No connection, or one that broke before the response. A time-out is not
/// one: the server is slow, and a second request would not help it.
fn is_lost_connection(error: &reqwest::Error) -> bool {
    error.is_connect() || (error.is_request() && !error.is_timeout())
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::Url;
    use std::cell::Cell;

    fn request() -> Request {
        Request::new(Method::GET, Url::parse("http://orders.example/v1/store/orders").unwrap())
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
        let response = send(policy, request(), |_| async {
            sent.set(sent.get() + 1);
            Ok(if sent.get() > times { answer(200, None) } else { answer(429, retry_after) })
        });
        let status = response.await.unwrap().status().as_u16();
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

    #[tokio::test(start_paused = true)]
    async fn other_failures_are_answers() {
        let sent = Cell::new(0);
        let response = send(RetryPolicy::default(), request(), |_| async {
            sent.set(sent.get() + 1);
            Ok(answer(500, Some("1")))
        });
        assert_eq!((response.await.unwrap().status().as_u16(), sent.get()), (500, 1));
    }
}
