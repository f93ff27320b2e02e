//! The state of one request, and what becomes of it at its end: response headers,
//! metrics, and the line in the log.

use super::inner_router::{DropshotContext, Route};
use super::redaction;
use super::responses::without_body;
use super::trace_context::{TraceContext, traceparent};
use crate::clock::Now;
use crate::context::ServerContext;
use crate::key_cache::KnownKey;
use crate::limits::RateLimitStatus;
use crate::log::{RequestLine, log_failed_request};
use crate::metrics::RouteId;
use crate::store::REQUEST_TIMEOUT;
use dropshot::Body;
use http::{HeaderValue, Method, Response, StatusCode, Uri, header};
use http_body::Body as _;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;
use store_orders_api::documents::{Document, V1};
use store_orders_api::{errors, headers};

/// `Retry-After` of a 503, in seconds, unless what refused the request named another.
const UNAVAILABLE_RETRY_SECONDS: u64 = 5;

/// The status that log and metrics give to a request whose client went away. It is
/// nginx's, and no client sees it.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// `Cache-Control` of what has an entity tag: no cache may show an order after its cancellation.
const REVALIDATED: &str = "private, no-cache";

/// `Cache-Control` of every other response.
const NOT_STORED: &str = "no-store";

/// A request under way.
pub struct RequestScope {
    server: Arc<ServerContext>,
    started: Instant,
    /// When it arrived.
    pub now: Now,
    method: Method,
    /// For the request line; none if those are off.
    uri: Option<Uri>,
    request_id: String,
    /// The address of the client, behind any trusted proxy.
    pub client: IpAddr,
    /// What the rate limit headers say, and the time from which the reset counts.
    pub limit_status: Option<(RateLimitStatus, Now)>,
    user_agent: Option<HeaderValue>,
    traceparent: Option<HeaderValue>,
    /// Its valid key.
    pub key: Option<Arc<KnownKey>>,
    /// Why it was refused, for the log.
    pub refusal: Option<&'static str>,
    document: &'static Document,
    is_deprecated: bool,
    /// The operation reads the list: what it answers has an entity tag.
    reads_list: bool,
    /// Under which route it is counted.
    pub route: RouteId,
    is_finished: bool,
}

impl RequestScope {
    /// Begins with the arrival of the request.
    pub fn begin(context: &DropshotContext, client: IpAddr) -> RequestScope {
        let (server, request) = (context.context(), &context.request);
        let is_logged = server.request_log.is_on();
        RequestScope {
            server: Arc::clone(server),
            started: Instant::now(),
            now: server.clock.now(),
            method: request.method().clone(),
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

    /// The server that the request reached.
    pub fn server(&self) -> &ServerContext {
        &self.server
    }

    /// Notes where the request goes.
    pub fn note_route(&mut self, document: &'static Document, route: &Route<'_>) {
        self.document = document;
        match route {
            Route::Found(operation, _) => {
                self.route = operation.route;
                self.is_deprecated = operation.is_deprecated;
                self.reads_list = route.reads_list();
            }
            Route::OtherMethod { is_deprecated, .. } => self.is_deprecated = *is_deprecated,
            Route::NotFound | Route::OutsideVersions => {}
        }
    }

    /// The document of the version that it asks for.
    pub fn document(&self) -> &'static Document {
        self.document
    }

    /// When the store must have answered.
    pub fn deadline(&self) -> Instant {
        self.started + REQUEST_TIMEOUT
    }

    /// Whether the request changes nothing.
    pub fn is_read(&self) -> bool {
        self.method.is_safe()
    }

    /// The response to a request that cannot be carried out at the moment; the log has the reason.
    pub fn unavailable(&self, why: &dyn fmt::Display) -> Response<Body> {
        log_failed_request(
            &self.server.log,
            &self.request_id,
            StatusCode::SERVICE_UNAVAILABLE,
            why,
        );
        errors::service_unavailable(self.document())
    }

    /// The response to a request for which the store had no answer at its deadline.
    pub fn timed_out(&self) -> Response<Body> {
        let seconds = REQUEST_TIMEOUT.as_secs();
        self.unavailable(&format_args!("the store gave no answer within {seconds} s"))
    }

    /// The response to a request whose handling panicked.
    pub fn panicked(&self, why: &str) -> Response<Body> {
        let why = format_args!("panic: {why}");
        log_failed_request(
            &self.server.log,
            &self.request_id,
            StatusCode::INTERNAL_SERVER_ERROR,
            &why,
        );
        errors::internal_error(self.document())
    }

    /// Sets the headers of the contract, then finishes as
    /// [`RequestScope::finish_unlimited`] does.
    pub fn finish(self, mut response: Response<Body>) -> Response<Body> {
        let status = response.status();
        let set = response.headers_mut();
        // These, the request's id and the date: one allocation for all.
        set.reserve(8);
        let has_tag = matches!(status, StatusCode::OK | StatusCode::NOT_MODIFIED);
        let cached = if self.reads_list && has_tag {
            // In each encoding, and on a 304 too (RFC 9110, 15.4.5).
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
            // One field: not every client reads several.
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
        self.finish_unlimited(response)
    }

    /// Counts and logs the request, and drops the body for HEAD. For responses
    /// outside the limits: no header is set.
    pub fn finish_unlimited(mut self, response: Response<Body>) -> Response<Body> {
        self.is_finished = true;
        let is_head = self.method == Method::HEAD;
        let bytes = if is_head { Some(0) } else { response.body().size_hint().exact() };
        self.record(response.status(), bytes);
        if is_head { without_body(response) } else { response }
    }

    /// Counts and logs the request.
    fn record(&self, status: StatusCode, bytes: Option<u64>) {
        let latency = self.started.elapsed();
        self.server.metrics.requests.count(self.route, &self.method, status, latency);
        let log = &self.server.request_log;
        let sent = || self.user_agent.as_ref().map(HeaderValue::as_bytes);
        let user_agent = sent().map(redaction::user_agent);
        let trace = self.traceparent.as_ref().and_then(TraceContext::of);
        let key = self.key.as_ref().map(|key| &key.row);
        log.write(self.now.wall.saturating_add(latency), || RequestLine {
            request_id: &self.request_id,
            method: self.method.as_str(),
            path: redaction::path(self.uri.as_ref().map_or("", Uri::path)),
            status: status.as_u16(),
            bytes,
            account: key.map(|key| key.account.id),
            account_name: key.map(|key| &*key.account.name),
            key_id: key.map(|key| &*key.id),
            refusal: self.refusal,
            client: self.client,
            user_agent: user_agent.as_deref(),
            trace_id: trace.map(|trace| trace.trace_id),
            span_id: trace.map(|trace| trace.span_id),
            latency,
        });
    }
}

/// A request without a response is recorded too: its client disconnected, perhaps after the change
/// was made, or it panicked after the response had begun.
impl Drop for RequestScope {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        if std::thread::panicking() {
            let response = self.panicked("after the response had begun");
            self.record(response.status(), None);
        } else if let Ok(status) = StatusCode::from_u16(CLIENT_CLOSED_REQUEST) {
            self.record(status, None);
        }
    }
}
