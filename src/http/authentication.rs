//! Authentication: from the `Authorization` header to a valid key, or to a 401.

use super::request_scope::RequestScope;
use crate::key_cache::{KeyRefusal, KnownKey, ValidKey};
use crate::keys::Environment;
use crate::store::Freshness;
use dropshot::{Body, RequestInfo};
use http::{HeaderMap, HeaderValue, Response, header};
use std::sync::Arc;
use std::time::Instant;
use store_orders_api::documents::Document;
use store_orders_api::errors::{self, SentCredentials};

/// Query parameters that other APIs read a key from.
const KEY_PARAMETERS: [&str; 5] = ["api_key", "apikey", "api-key", "key", "access_token"];

/// Who sent a request with a valid key, as handlers see it.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The key, and its account.
    pub key: Arc<KnownKey>,
    /// When the request must have been answered.
    pub deadline: Instant,
    /// What the list must reflect, if the operation reads it and the store could be asked.
    pub freshness: Option<Freshness>,
}

/// Why a request has no valid key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unauthenticated {
    /// 401.
    Refused {
        /// The reason.
        refusal: KeyRefusal,
        /// Whether a key was sent at all.
        key_sent: bool,
    },
    /// 503: the keys are out of date, so any of them may be revoked, or the store could not
    /// say whether an unknown one was issued a moment ago.
    KeysOutdated,
}

/// The request's key. The store is asked for one that is not in the cache, until the deadline.
pub async fn authenticate(
    scope: &RequestScope,
    headers: &HeaderMap,
) -> Result<ValidKey, Unauthenticated> {
    let (server, key) = (scope.server(), bearer(headers)?);
    let (now, deadline) = (scope.now, scope.deadline());
    let found = server.keys.find(key, server.environment, scope.client, now, deadline).await;
    found
        .ok_or(Unauthenticated::KeysOutdated)?
        .map_err(|refusal| Unauthenticated::Refused { refusal, key_sent: true })
}

/// The 401. Its challenge says whether a key was sent (RFC 6750, 3). Its message says how the
/// request's credentials differ from a key in the right place, and nothing that a look-up found.
pub fn unauthorized(
    refusal: KeyRefusal,
    key_sent: bool,
    request: &RequestInfo,
    here: Environment,
    document: &Document,
) -> Response<Body> {
    let challenge = if key_sent {
        "Bearer realm=\"store-orders\", error=\"invalid_token\""
    } else {
        "Bearer realm=\"store-orders\""
    };
    let mut response = match refusal {
        KeyRefusal::OtherEnvironment(its) => {
            errors::key_of_other_environment(its.as_str(), here.as_str(), document)
        }
        KeyRefusal::NoKey => errors::unauthorized(credentials_without_key(request), document),
        KeyRefusal::SeveralHeaders => {
            errors::unauthorized(SentCredentials::SeveralHeaders, document)
        }
        KeyRefusal::Malformed => errors::unauthorized(SentCredentials::MalformedKey, document),
        KeyRefusal::Unknown | KeyRefusal::Revoked | KeyRefusal::Expired => {
            errors::unauthorized(SentCredentials::InvalidKey, document)
        }
    };
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    response
}

/// What a request has in place of a bearer token.
fn credentials_without_key(request: &RequestInfo) -> SentCredentials {
    if let Some(value) = request.headers().get(header::AUTHORIZATION) {
        let scheme = value.as_bytes().split(u8::is_ascii_whitespace).next().unwrap_or_default();
        return match scheme.to_ascii_lowercase().as_slice() {
            b"bearer" => SentCredentials::SchemeAlone,
            b"basic" => SentCredentials::Basic,
            _ => SentCredentials::OtherScheme,
        };
    }
    let mut parameters = request.uri().query().unwrap_or_default().split('&');
    let names_key = |parameter: &str| {
        let name = parameter.split('=').next().unwrap_or_default();
        KEY_PARAMETERS.iter().any(|known| name.eq_ignore_ascii_case(known))
    };
    if request.headers().contains_key("x-api-key") {
        SentCredentials::ApiKeyHeader
    } else if parameters.any(names_key) {
        SentCredentials::QueryParameter
    } else {
        SentCredentials::Nothing
    }
}

/// The key of the one `Authorization` header.
fn bearer(headers: &HeaderMap) -> Result<&[u8], Unauthenticated> {
    let refused = |refusal, key_sent| Unauthenticated::Refused { refusal, key_sent };
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Err(refused(KeyRefusal::NoKey, false)) };
    let key = bearer_token(value.as_bytes());
    let mut others = values.map(|value| bearer_token(value.as_bytes())).peekable();
    if others.peek().is_some() {
        let key_sent = key.is_some() || others.any(|other| other.is_some());
        return Err(refused(KeyRefusal::SeveralHeaders, key_sent));
    }
    key.ok_or(refused(KeyRefusal::NoKey, false))
}

/// What follows `Bearer`, in any letter case, and one or more spaces.
fn bearer_token(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = value.split_at_checked("Bearer".len())?;
    let spaces = rest.iter().take_while(|byte| **byte == b' ').count();
    let key = rest.get(spaces..)?;
    (scheme.eq_ignore_ascii_case(b"Bearer") && spaces > 0 && !key.is_empty()).then_some(key)
}

#[cfg(test)]
mod property_tests;

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
