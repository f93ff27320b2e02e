//! One request from its arrival to its answer: what is known of it, the headers
//! that its answer is stamped with, and its line in the log.

use crate::clock::Now;
use crate::keys::Refusal;
use crate::limits::Figures;
use crate::log::RequestLine;
use crate::metrics::RouteId;
use crate::server::App;
use dropshot::{Body, RequestContext};
use http::{HeaderValue, Method, Response, StatusCode, Uri, header};
use slog::error;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders_api::answer::error_response;
use store_orders_api::{errors, headers};

/// When a 503 is worth trying again, in seconds.
const UNAVAILABLE_FOR: u64 = 5;

/// The longest part of a path that is logged.
const LOGGED_PATH: usize = 200;

/// So many letters and digits on end may be a key, or the part of one that
/// matters; the longest order id has 19.
const LIKE_A_KEY: usize = 20;

/// A request under way.
pub struct Visit {
    app: Arc<App>,
    started: Instant,
    /// When it arrived.
    pub now: Now,
    method: Method,
    uri: Uri,
    request_id: String,
    /// The address of the client, behind any trusted proxy.
    pub client: IpAddr,
    /// What the limits say; every answer carries it.
    pub figures: Option<Figures>,
    /// The valid key it came with.
    pub key_id: Option<Arc<str>>,
    /// Why its key was refused.
    pub refusal: Option<Refusal>,
    /// Its path belongs to a deprecated operation.
    pub deprecated: bool,
    /// Where it is counted.
    pub route: RouteId,
}

impl Visit {
    /// Notes the arrival.
    pub fn begin(app: &Arc<App>, context: &RequestContext<Arc<App>>) -> Visit {
        let request = &context.request;
        app.arrivals.count();
        Visit {
            app: Arc::clone(app),
            started: Instant::now(),
            now: app.clock.now(),
            method: request.method().clone(),
            uri: request.uri().clone(),
            request_id: context.request_id.clone(),
            client: app.proxies.client(request.remote_addr().ip(), request.headers()),
            figures: None,
            key_id: None,
            refusal: None,
            deprecated: false,
            route: RouteId::UNKNOWN,
        }
    }

    /// The answer to a request whose handler panicked.
    pub fn panicked(&self) -> Response<Body> {
        error!(self.app.log, "an operation panicked"; "req_id" => &self.request_id);
        error_response(&errors::internal_error())
    }

    /// Stamps the answer, drops its body for HEAD, and writes the log line.
    pub fn end(self, mut response: Response<Body>) -> Response<Body> {
        let stamps = response.headers_mut();
        // These, the request's id and the date: one allocation for all.
        stamps.reserve(8);
        if let Some(figures) = self.figures {
            stamps.insert(&headers::LIMIT.wire, HeaderValue::from(figures.limit));
            stamps.insert(&headers::REMAINING.wire, HeaderValue::from(figures.remaining));
            stamps.insert(&headers::RESET.wire, HeaderValue::from(figures.reset_at(self.now)));
        }
        if self.deprecated {
            for header in headers::ON_DEPRECATED {
                stamps.insert(&header.wire, HeaderValue::from_static(header.example));
            }
        }
        if response.status() == StatusCode::SERVICE_UNAVAILABLE {
            let stamps = response.headers_mut();
            stamps.insert(header::RETRY_AFTER, HeaderValue::from(UNAVAILABLE_FOR));
        }
        self.end_uncounted(response)
    }

    /// The same without the stamps: for what counts against no limit.
    pub fn end_uncounted(self, response: Response<Body>) -> Response<Body> {
        let latency = self.started.elapsed();
        self.app.metrics.requests.count(self.route, &self.method, response.status(), latency);
        self.log(response.status(), latency);
        if self.method == Method::HEAD { without_body(response) } else { response }
    }

    fn log(&self, status: StatusCode, latency: Duration) {
        self.app.requests_log.write(self.now.wall.saturating_add(latency), || RequestLine {
            req_id: &self.request_id,
            method: self.method.as_str(),
            path: logged_path(self.uri.path()),
            status: status.as_u16(),
            key_id: self.key_id.as_deref(),
            refusal: self.refusal.map(Refusal::as_str),
            client: self.client,
            latency,
        });
    }
}

/// The path as the log may hold it: short, and without what looks like a key.
fn logged_path(path: &str) -> &str {
    let end = path.char_indices().nth(LOGGED_PATH).map_or(path.len(), |(end, _)| end);
    let short = path.get(..end).unwrap_or_default();
    let mut run = 0;
    let may_be_part_of_one = short.bytes().any(|byte| {
        run = if byte.is_ascii_alphanumeric() { run + 1 } else { 0 };
        byte == b'%' || run >= LIKE_A_KEY
    });
    let begins_a_key = short.as_bytes().windows(4).any(|four| four == b"sto_");
    if may_be_part_of_one || begins_a_key { "[withheld: it may hold a key]" } else { short }
}

/// The same response without its body, whose length it still tells: over HTTP/2
/// a body would be a protocol error (RFC 9110, 9.3.2). 204 and 304 have no body
/// to tell of.
fn without_body(mut response: Response<Body>) -> Response<Body> {
    use http_body::Body as _;
    let length = response.body().size_hint().exact();
    let bare = matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if let Some(length) = length.filter(|_| !bare) {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    response.map(|_| Body::empty())
}

#[cfg(test)]
mod tests {
    use super::logged_path;

    #[test]
    fn a_path_that_may_hold_a_key_is_not_logged() {
        assert_eq!(logged_path("/v1/store/orders"), "/v1/store/orders");
        let order = "/v1/store/orders/-9223372036854775808";
        assert_eq!(logged_path(order), order);
        assert!(!logged_path("/v1/01234567890123456789").contains('9'));
        assert!(!logged_path("/v1/store/sto_live_abc").contains("sto_"));
        assert!(!logged_path("/v1/s%74o_live_abc").contains("_live_"));
        assert_eq!(logged_path(&"/é".repeat(500)).chars().count(), 200);
    }
}
