//! Sends a request, and again where [`RetryPolicy`] says so. All requests of
//! the generated methods come through here.

use crate::ban::look_for_ban;
use crate::retry_after::retry_after;
use crate::{Client, RetryPolicy};
use progenitor_client::{ClientHooks, OperationInfo};
use reqwest::{Method, Request, Response, StatusCode};
use std::time::Duration;
use tokio::time::{Instant, sleep};

impl ClientHooks<RetryPolicy> for Client {
    async fn exec(&self, request: Request, _: &OperationInfo) -> reqwest::Result<Response> {
        send(self.inner, request, |request| self.client.execute(request)).await
    }
}

/// Sends with `execute` until there is a result to give back.
async fn send<F>(
    policy: RetryPolicy,
    mut request: Request,
    execute: impl Fn(Request) -> F,
) -> reqwest::Result<Response>
where
    F: Future<Output = reqwest::Result<Response>>,
{
    let began = Instant::now();
    let mut attempts_made = 0;
    // What streams its body cannot be sent twice.
    while let Some(again) = request.try_clone() {
        let method = request.method().clone();
        let (result, next) = judged(&method, execute(request).await).await;
        attempts_made += 1;
        let Next::After(asked) = next else { return result };
        let Some(wait) = policy.next_wait(attempts_made, began.elapsed(), asked) else {
            return result;
        };
        // Whoever waits holds no connection.
        drop(result);
        sleep(wait).await;
        request = again;
    }
    execute(request).await
}

/// What a result means for the next attempt.
enum Next {
    /// There is none: this is the result.
    No,
    /// It may come after this time, or after one of the policy's.
    After(Option<Duration>),
}

/// A result, still to be read, and what it means for the next attempt.
async fn judged(
    method: &Method,
    result: reqwest::Result<Response>,
) -> (reqwest::Result<Response>, Next) {
    match result {
        Ok(response) => {
            let asked = retry_after(response.headers());
            match response.status() {
                StatusCode::TOO_MANY_REQUESTS => {
                    let (response, banned) = look_for_ban(response).await;
                    (Ok(response), if banned { Next::No } else { Next::After(asked) })
                }
                StatusCode::SERVICE_UNAVAILABLE => (Ok(response), Next::After(asked)),
                _ => (Ok(response), Next::No),
            }
        }
        Err(error) if may_repeat(method) && is_lost_connection(&error) => {
            (Err(error), Next::After(None))
        }
        Err(error) => (Err(error), Next::No),
    }
}

/// To do these twice comes to the same as to do them once (RFC 9110, 9.2.2).
fn may_repeat(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::DELETE)
}

/// No connection, or one that broke before the answer. A server that is silent
/// for too long is not lost but slow, and a second request would not help it.
fn is_lost_connection(error: &reqwest::Error) -> bool {
    error.is_connect() || (error.is_request() && !error.is_timeout())
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::Url;
    use std::cell::{Cell, RefCell};

    const LIMITED: &str = r#"{"code":"rate_limit_exceeded","message":"Wait.","status":429}"#;
    const BANNED: &str = r#"{"code":"key_banned","message":"Wait.","status":429}"#;

    fn request() -> Request {
        Request::new(Method::GET, Url::parse("http://orders.example/v1/store/orders").unwrap())
    }

    fn answer(status: u16, retry_after: Option<&str>, body: &'static str) -> Response {
        let mut response = http::Response::builder().status(status);
        if let Some(value) = retry_after {
            response = response.header("Retry-After", value);
        }
        Response::from(response.body(body).unwrap())
    }

    /// Answers 429 as told so often, then 200; returns the status, the
    /// requests that it took, and the seconds, of a clock that tests move.
    async fn run(
        policy: RetryPolicy,
        times: usize,
        retry_after: Option<&str>,
    ) -> (u16, usize, f64) {
        let sent = Cell::new(0);
        let began = Instant::now();
        let response = send(policy, request(), |_| async {
            sent.set(sent.get() + 1);
            Ok(if sent.get() > times {
                answer(200, None, "[]")
            } else {
                answer(429, retry_after, LIMITED)
            })
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
    async fn a_ban_ends_it_at_any_attempt() {
        let script = RefCell::new(vec![
            answer(429, Some("60"), BANNED),
            answer(503, Some("1"), "not read"),
            answer(429, Some("1"), LIMITED),
        ]);
        let response = send(RetryPolicy::default(), request(), |_| async {
            Ok(script.borrow_mut().pop().unwrap())
        });
        let response = response.await.unwrap();
        assert_eq!(response.status(), 429);
        assert_eq!(response.text().await.unwrap(), BANNED);
    }

    #[tokio::test(start_paused = true)]
    async fn other_failures_are_answers() {
        let sent = Cell::new(0);
        let response = send(RetryPolicy::default(), request(), |_| async {
            sent.set(sent.get() + 1);
            Ok(answer(500, Some("1"), ""))
        });
        assert_eq!((response.await.unwrap().status().as_u16(), sent.get()), (500, 1));
    }
}
