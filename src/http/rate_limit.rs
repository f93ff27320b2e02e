//! Rate limiting: turns the rate limiter's refusals into a 429, or a 503 if the limiter cannot
//! count requests.

use super::request_scope::RequestScope;
use crate::clock::Now;
use crate::key_cache::KnownKey;
use crate::limits::Decision;
use dropshot::Body;
use http::{HeaderValue, Response, header};
use std::ops::ControlFlow;
use store_orders_api::errors;

/// Records the decision on a request with a valid key. Breaks with a 429 or 503 if the request is
/// refused.
pub fn by_account(
    scope: &mut RequestScope,
    key: &KnownKey,
    (decision, decided_at): (Decision, Now),
) -> ControlFlow<Response<Body>> {
    scope.refusal = match decision {
        Decision::Admitted(_) => None,
        Decision::Limited(..) => Some("rate_limited"),
        Decision::Banned { .. } => Some("banned"),
        Decision::Unavailable(_) => Some("limits_unavailable"),
    };
    scope.server().metrics.rate_limited.count(Some(key.row.account.plan), &decision);
    scope.limit_status = Some((decision.status(), decided_at));
    refusal(decision, scope)
}

/// Counts a request without a valid key against its address. Breaks with a 429 above the limit.
pub async fn by_address(scope: &mut RequestScope) -> ControlFlow<Response<Body>> {
    let now = scope.server().clock.now();
    let decision = scope.server().limits.admit_unauthenticated(scope.client, now).await;
    scope.limit_status = Some((decision.status(), now));
    scope.server().metrics.rate_limited.count(None, &decision);
    if let Decision::Limited(status, _) = decision {
        scope.server().keys.shed(scope.client, status.resets_in);
    }
    refusal(decision, scope)
}

/// Sets the rate limit headers of a request that is refused without being counted: they show the
/// status of its address.
pub fn show_status_of_address(scope: &mut RequestScope) {
    let now = scope.server().clock.now();
    let status = scope.server().limits.unauthenticated_status(scope.client, now);
    scope.limit_status = Some((status, now));
}

fn refusal(decision: Decision, scope: &RequestScope) -> ControlFlow<Response<Body>> {
    let document = scope.document();
    let seconds = decision.status().retry_after();
    let mut response = match decision {
        Decision::Admitted(_) => return ControlFlow::Continue(()),
        Decision::Limited(status, window) => {
            errors::rate_limit_exceeded(status.limit, window.unit(), seconds, document)
        }
        Decision::Banned { .. } => errors::key_banned(seconds, document),
        Decision::Unavailable(_) => {
            let why = scope.server().limits.unavailable_because();
            let why = why.as_deref().unwrap_or("no answer in time");
            scope.unavailable(&format_args!("the request cannot be counted: {why}"))
        }
    };
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    ControlFlow::Break(response)
}
