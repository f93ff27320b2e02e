//! Identifies the sender of a request by the key in its `Authorization` header, and finds the
//! client's address.

use crate::api_key::{Environment, has_key_form};
use crate::clock::Now;
use crate::context::ServerContext;
use crate::key_cache::{KeyRefusal, KnownKey, ValidKey};
use crate::store::Freshness;
use dropshot::{Body, RequestInfo};
use http::{HeaderMap, HeaderValue, Response, header};
use ipnet::IpNet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;
use store_orders_api::documents::Document;
use store_orders_api::errors::{self, SentCredentials};

/// Query parameters in which other APIs accept a key. If a request has a key only in such a
/// parameter, the 401 recommends `Authorization`.
const KEY_PARAMETERS: [&str; 5] = ["api_key", "apikey", "api-key", "key", "access_token"];

/// The data that the middleware passes to the handler of an authenticated request.
#[derive(Clone, Debug)]
pub struct Caller {
    pub key: Arc<KnownKey>,
    /// The time by which the response is due. The middleware computes it when the request arrives.
    pub deadline: Instant,
    /// The result of the freshness query, or a receiver for it. `None` if the middleware sent no
    /// query or the query failed immediately.
    pub freshness: Option<Freshness>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unauthenticated {
    Refused {
        refusal: KeyRefusal,
        /// True if the request has a bearer token. The `WWW-Authenticate` header of the 401 then
        /// contains `error="invalid_token"`.
        key_sent: bool,
    },
    /// The key may be valid but cannot be checked now, so the response is a 503.
    KeysOutdated,
}

/// Returns the request's key if it is valid. Looks up a key that is not cached, but waits at most
/// until `deadline`.
pub async fn authenticate(
    server: &ServerContext,
    headers: &HeaderMap,
    client: IpAddr,
    now: Now,
    deadline: Instant,
) -> Result<ValidKey, Unauthenticated> {
    let (key, environment) = (bearer(headers)?, server.environment);
    let result = server.keys.authenticate(key, environment, client, now, deadline).await;
    result
        .ok_or(Unauthenticated::KeysOutdated)?
        .map_err(|refusal| Unauthenticated::Refused { refusal, key_sent: true })
}

/// Builds the 401 response (RFC 6750, 3). The message describes the credentials that were sent, but
/// does not reveal whether an invalid key ever existed.
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
        KeyRefusal::OtherEnvironment(other) => {
            errors::key_of_other_environment(other.as_str(), here.as_str(), document)
        }
        KeyRefusal::NoKey => errors::unauthorized(credentials_without_key(request), document),
        KeyRefusal::SeveralHeaders => {
            errors::unauthorized(SentCredentials::SeveralHeaders, document)
        }
        KeyRefusal::Malformed if bearer(request.headers()).is_ok_and(has_key_form) => {
            errors::unauthorized(SentCredentials::WrongCheckDigits, document)
        }
        KeyRefusal::Malformed => errors::unauthorized(SentCredentials::MalformedKey, document),
        KeyRefusal::Unknown | KeyRefusal::Revoked | KeyRefusal::Expired => {
            errors::unauthorized(SentCredentials::InvalidKey, document)
        }
    };
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    response
}

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

/// Returns the bearer token. Refuses several `Authorization` headers, even if only one of them
/// contains a token.
fn bearer(headers: &HeaderMap) -> Result<&[u8], Unauthenticated> {
    let refuse = |refusal, key_sent| Unauthenticated::Refused { refusal, key_sent };
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Err(refuse(KeyRefusal::NoKey, false)) };
    let key = bearer_token(value.as_bytes());
    let mut others = values.map(|value| bearer_token(value.as_bytes())).peekable();
    if others.peek().is_some() {
        let key_sent = key.is_some() || others.any(|other| other.is_some());
        return Err(refuse(KeyRefusal::SeveralHeaders, key_sent));
    }
    key.ok_or(refuse(KeyRefusal::NoKey, false))
}

/// Returns the token of an `Authorization` header (RFC 6750, 2.1). The scheme `Bearer` may be in
/// any letter case (RFC 9110, 11.1). Returns `None` for another scheme or an empty token.
fn bearer_token(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = value.split_at_checked("Bearer".len())?;
    let spaces = rest.iter().take_while(|byte| **byte == b' ').count();
    let key = rest.get(spaces..)?;
    (scheme.eq_ignore_ascii_case(b"Bearer") && spaces > 0 && !key.is_empty()).then_some(key)
}

/// The networks of proxies whose `X-Forwarded-For` is trusted.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    pub fn new(networks: Vec<IpNet>) -> TrustedProxies {
        TrustedProxies(networks)
    }

    /// Returns the client's address: the peer's address, or the address that trusted proxies report
    /// in `X-Forwarded-For`.
    ///
    /// Behind a trusted proxy, the client is the last address in the header that is not a trusted
    /// proxy. This client can forge all earlier entries.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.trusts(peer) {
            return peer;
        }
        let entries: Vec<&[u8]> = headers
            .get_all("x-forwarded-for")
            .iter()
            .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
            .collect();
        let mut client = peer;
        for entry in entries.into_iter().rev() {
            // Each proxy appends the address of its sender. An unreadable entry may hide an
            // untrusted sender, and such a sender can forge all earlier entries. So return the
            // proxy that added the unreadable entry.
            let Some(address) = parse_address(entry.trim_ascii()) else { return client };
            client = address.to_canonical();
            if !self.trusts(client) {
                return client;
            }
        }
        client
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

/// Parses an address as proxies write it: alone, with a port, or in brackets.
fn parse_address(name: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(name).ok()?;
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    if let Ok(socket) = text.parse::<std::net::SocketAddr>() {
        return Some(socket.ip());
    }
    text.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod address_property_tests;
#[cfg(test)]
mod key_property_tests;
