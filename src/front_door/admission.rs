//! Who is it, and is there room: key, account, verdict of the limits.

use super::visit::Visit;
use crate::keys::Refusal;
use crate::limits::{KeyedRequest, Verdict};
use crate::server::App;
use dropshot::{Body, RequestInfo};
use http::{HeaderMap, HeaderValue, Response, header};
use std::sync::Arc;
use store_orders_api::answer::error_response;
use store_orders_api::errors;

/// A caller whose key is valid.
pub struct Caller {
    /// `key_…`.
    pub key_id: Arc<str>,
}

/// Whether a request goes on.
pub enum Admission {
    /// It is counted and goes to its operation.
    Admitted(Caller),
    /// This is its answer.
    Refused(Response<Body>),
}

/// Decides, and leaves in the visit the figures for its headers and what the log
/// is to say of it.
pub async fn admit(app: &App, visit: &mut Visit, arrived: &RequestInfo) -> Admission {
    let (presented, sent) = match bearer(arrived.headers()) {
        Ok(key) => (Ok(key), true),
        Err((refusal, sent)) => (Err(refusal), sent),
    };
    let found = match presented {
        Err(refusal) => Some(Err(refusal)),
        Ok(key) => app.ring.find(key, app.environment, visit.now, |key| {
            let request = KeyedRequest { account: key.account, key: key.row, limits: key.limits };
            (request, Arc::clone(&key.id), key.plan)
        }),
    };
    let (request, key_id, plan) = match found {
        Some(Ok(valid)) => valid,
        Some(Err(refusal)) => return keyless(app, visit, refusal, sent).await,
        None => return unchecked(app, visit).await,
    };
    let verdict = app.limits.admit(request, visit.now).await;
    app.metrics.refusals.count(Some(plan), &verdict);
    visit.figures = Some(verdict.figures());
    visit.key_id = Some(Arc::clone(&key_id));
    match refused(verdict) {
        Some(response) => Admission::Refused(response),
        None => Admission::Admitted(Caller { key_id }),
    }
}

/// 401, or 429 for an address that sends too many of these.
async fn keyless(app: &App, visit: &mut Visit, refusal: Refusal, sent: bool) -> Admission {
    let verdict = app.limits.admit_keyless(visit.client, visit.now).await;
    app.metrics.refusals.count(None, &verdict);
    visit.figures = Some(verdict.figures());
    visit.refusal = Some(refusal);
    Admission::Refused(refused(verdict).unwrap_or_else(|| unauthorized(sent)))
}

/// 503: the store has not been heard, so the key might be revoked.
async fn unchecked(app: &App, visit: &mut Visit) -> Admission {
    let verdict = app.limits.admit_keyless(visit.client, visit.now).await;
    visit.figures = Some(verdict.figures());
    Admission::Refused(error_response(&errors::service_unavailable()))
}

/// 429, if that is the verdict.
fn refused(verdict: Verdict) -> Option<Response<Body>> {
    let seconds = verdict.figures().retry_after();
    let error = match verdict {
        Verdict::Admitted(_) => return None,
        Verdict::Limited(figures, window) => {
            errors::rate_limit_exceeded(figures.limit, window.unit(), seconds)
        }
        Verdict::Banned(_) => errors::key_banned(seconds),
    };
    let mut response = error_response(&error);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    Some(response)
}

/// The challenge says whether a key was sent (RFC 6750, 3); the body does not
/// say what was wrong with it.
fn unauthorized(sent: bool) -> Response<Body> {
    let challenge = if sent {
        "Bearer realm=\"store-orders\", error=\"invalid_token\""
    } else {
        "Bearer realm=\"store-orders\""
    };
    let mut response = error_response(&errors::unauthorized());
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    response
}

/// The key of the one `Authorization` header, or why there is none and whether
/// one was sent all the same.
fn bearer(headers: &HeaderMap) -> Result<&[u8], (Refusal, bool)> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Err((Refusal::NoKey, false)) };
    let key = bearer_token(value.as_bytes());
    let mut others = values.map(|value| bearer_token(value.as_bytes())).peekable();
    if others.peek().is_some() {
        let sent = key.is_some() || others.any(|other| other.is_some());
        return Err((Refusal::SeveralHeaders, sent));
    }
    key.ok_or((Refusal::NoKey, false))
}

/// What follows `Bearer`, in any letter case, and one or more spaces.
fn bearer_token(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = value.split_at_checked("Bearer".len())?;
    let spaces = rest.iter().take_while(|byte| **byte == b' ').count();
    let key = rest.get(spaces..)?;
    (scheme.eq_ignore_ascii_case(b"Bearer") && spaces > 0 && !key.is_empty()).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bearer_header_in_any_letter_case() {
        for (value, key) in [
            ("Bearer k", Some("k")),
            ("bearer k", Some("k")),
            ("BEARER   k", Some("k")),
            ("Bearer k, x", Some("k, x")),
            ("Bearer", None),
            ("Bearer ", None),
            ("Bearer\tk", None),
            ("Bearerk", None),
            ("Basic k", None),
            ("k", None),
            ("", None),
        ] {
            assert_eq!(bearer_token(value.as_bytes()), key.map(str::as_bytes), "{value:?}");
        }
    }
}
