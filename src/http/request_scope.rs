//! Keeps the state of one request. When the request ends, sets response headers, counts the request
//! and logs it.

use super::inner_router::{DropshotContext, Route};
use crate::clock::Now;
use crate::context::ServerContext;
use crate::key_cache::KnownKey;
use crate::log::{RequestLine, log_failed_request, traceparent};
use crate::metrics::RouteId;
use crate::rate_limiter::RateLimitStatus;
use crate::store::REQUEST_TIMEOUT;
use dropshot::Body;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri, Version, header};
use http_body::Body as _;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use store_orders_api::documents::{Document, V1};
use store_orders_api::{errors, headers};

/// The default `Retry-After` of a 503, in seconds.
const UNAVAILABLE_RETRY_SECONDS: u64 = 5;

/// The status in the log and the metrics if the client disconnects before the response, as in
/// nginx. The server never sends 499.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// `Cache-Control` of responses with an entity tag. Caches must revalidate, or they would show
/// cancelled orders.
const REVALIDATED: &str = "private, no-cache";

/// `Cache-Control` of responses without an entity tag.
const NOT_STORED: &str = "no-store";

pub struct RequestScope {
    server: Arc<ServerContext>,
    started: Instant,
    pub now: Now,
    method: Method,
    version: Version,
    /// `None` if the request log is off, because only the log needs the URI.
    uri: Option<Uri>,
    request_id: String,
    /// The client's address. Behind a trusted proxy, this is the address that the proxy reports,
    /// not the proxy's own.
    pub client: IpAddr,
    /// The rate limit status for the headers, and the time when it was determined. `resets_in`
    /// counts from that time.
    pub limit_status: Option<(RateLimitStatus, Now)>,
    user_agent: Option<HeaderValue>,
    traceparent: Option<HeaderValue>,
    pub key: Option<Arc<KnownKey>>,
    /// The reason why the request was refused, such as `rate_limited`, for the log.
    pub refusal: Option<&'static str>,
    document: &'static Document,
    is_deprecated: bool,
    /// True if the operation always reads the list. Only such operations have an entity tag, on 200
    /// and 304 responses.
    reads_list: bool,
    /// The route under which metrics count the request.
    pub route: RouteId,
    is_finished: bool,
}

impl RequestScope {
    pub fn begin(context: &DropshotContext, client: IpAddr, started: Instant) -> RequestScope {
        let (server, request) = (context.context(), &context.request);
        let is_logged = server.request_log.is_on();
        RequestScope {
            server: Arc::clone(server),
            started,
            now: server.clock.now(),
            method: request.method().clone(),
            version: request.version(),
            uri: is_logged.then(|| request.uri().clone()),
            request_id: context.request_id.clone(),
            client,
            limit_status: None,
            user_agent: request.headers().get(header::USER_AGENT).filter(|_| is_logged).cloned(),
            traceparent: traceparent(request.headers()).filter(|_| is_logged).cloned(),
            key: None,
            refusal: None,
            document: &V1,
            is_deprecated: false,
            reads_list: false,
            route: RouteId::UNKNOWN,
            is_finished: false,
        }
    }

    pub fn server(&self) -> &ServerContext {
        &self.server
    }

    pub fn note_route(&mut self, document: &'static Document, route: &Route<'_>) {
        self.document = document;
        match route {
            Route::Found(operation, _) => {
                self.route = operation.route;
                self.is_deprecated = operation.is_deprecated;
                self.reads_list = route.reads_list();
            }
            Route::OtherMethod { is_deprecated, .. } => self.is_deprecated = *is_deprecated,
            Route::NotFound | Route::SlashAtEnd | Route::OutsideVersions => {}
        }
    }

    /// The document of the requested API version, or of v1 if the path is outside all versions.
    pub fn document(&self) -> &'static Document {
        self.document
    }

    /// True if the method is safe (RFC 9110, section 9.2.1).
    pub fn is_read(&self) -> bool {
        self.method.is_safe()
    }

    /// Builds a 503, and logs the reason, which the response does not contain.
    pub fn log_unavailable(&self, why: &dyn fmt::Display) -> Response<Body> {
        log_failed_request(
            &self.server.log,
            &self.request_id,
            StatusCode::SERVICE_UNAVAILABLE,
            why,
        );
        errors::service_unavailable(self.document())
    }

    pub fn log_timeout(&self) -> Response<Body> {
        let seconds = REQUEST_TIMEOUT.as_secs();
        self.log_unavailable(&format_args!("the store gave no answer within {seconds} s"))
    }

    /// Logs a panic and builds a 500, which does not repeat the panic's message.
    pub fn log_panic(&self, why: &str) -> Response<Body> {
        let why = format_args!("panic: {why}");
        log_failed_request(
            &self.server.log,
            &self.request_id,
            StatusCode::INTERNAL_SERVER_ERROR,
            &why,
        );
        errors::internal_error(self.document())
    }

    /// Completes the response, and records the request in the metrics and the log. A public page
    /// does not get the headers of the API.
    pub fn finish(mut self, mut response: Response<Body>) -> Response<Body> {
        if self.route != RouteId::PUBLIC {
            self.set_headers(response.status(), response.headers_mut());
        }
        // Announce that the connection closes. Without this header, the client could send a request
        // at the moment when the server closes the idle connection, and the request could be lost.
        // HTTP/2 does not have this header.
        if self.version == Version::HTTP_11 && self.server.is_stopping.load(Ordering::Relaxed) {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
        self.is_finished = true;
        let is_head = self.method == Method::HEAD;
        let bytes = if is_head { Some(0) } else { response.body().size_hint().exact() };
        self.record(response.status(), bytes);
        if is_head { without_body(response) } else { response }
    }

    fn set_headers(&self, status: StatusCode, set: &mut HeaderMap) {
        // Allocate once for the usual headers, which include the request id and the date. Only
        // deprecated operations need more.
        set.reserve(8);
        let has_tag = matches!(status, StatusCode::OK | StatusCode::NOT_MODIFIED);
        let cached = if self.reads_list && has_tag {
            // `Vary` is also required in uncompressed responses and on a 304 (RFC 9110, 15.4.5).
            set.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
            REVALIDATED
        } else {
            NOT_STORED
        };
        set.insert(header::CACHE_CONTROL, HeaderValue::from_static(cached));
        if let Some((status, decided_at)) = self.limit_status {
            set.insert(&headers::LIMIT, HeaderValue::from(status.limit));
            set.insert(&headers::REMAINING, HeaderValue::from(status.remaining));
            set.insert(&headers::RESET, HeaderValue::from(status.reset_at(decided_at)));
        }
        if self.is_deprecated {
            for (header, date) in &headers::ON_DEPRECATED {
                set.insert(header, HeaderValue::from_static(date));
            }
            // All links are merged into one `Link`, because some clients read only one.
            let links = set.get(header::LINK).and_then(|link| link.to_str().ok());
            let links = links.map(|others| format!("{}, {others}", headers::DEPRECATION_LINK));
            let link = links.and_then(|links| HeaderValue::try_from(links).ok());
            let link = link.unwrap_or(HeaderValue::from_static(headers::DEPRECATION_LINK));
            set.insert(header::LINK, link);
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            let after = set.entry(header::RETRY_AFTER);
            after.or_insert(HeaderValue::from(UNAVAILABLE_RETRY_SECONDS));
        }
    }

    fn record(&self, status: StatusCode, bytes: Option<u64>) {
        let latency = self.started.elapsed();
        self.server.metrics.requests.count(self.route, &self.method, status, latency);
        let log = &self.server.request_log;
        let key = self.key.as_ref();
        log.write(self.now.wall.saturating_add(latency), || RequestLine {
            request_id: &self.request_id,
            method: self.method.as_str(),
            path: self.uri.as_ref().map_or("", Uri::path),
            status: status.as_u16(),
            bytes,
            account: key.map(|key| key.account.id),
            account_name: key.map(|key| &*key.account.name),
            key_id: key.map(|key| &*key.id),
            refusal: self.refusal,
            client: self.client,
            user_agent: self.user_agent.as_ref(),
            traceparent: self.traceparent.as_ref(),
            latency,
        });
    }
}

/// Records an unfinished request too, because an unfinished `DELETE` may have cancelled its order.
impl Drop for RequestScope {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        if std::thread::panicking() {
            let response = self.log_panic("after the response had begun");
            self.record(response.status(), None);
        } else if let Ok(status) = StatusCode::from_u16(CLIENT_CLOSED_REQUEST) {
            self.record(status, None);
        }
    }
}

/// Converts the response to GET into the response to HEAD (RFC 9110, 9.3.2). Keeps the length of
/// the dropped body, except for a 204 and a 304.
fn without_body(mut response: Response<Body>) -> Response<Body> {
    let has_no_length =
        matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let length = response.body().size_hint().exact().filter(|_| !has_no_length);
    if let Some(length) = length {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    response.map(|_| Body::empty())
}
