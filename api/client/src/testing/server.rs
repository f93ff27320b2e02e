//! The test server: it listens, counts requests, and answers by the routes.

use super::answers::VERSIONS;
use super::request::Sent;
use super::route::{Answer, Header, Route, Success};
use super::store::{KEY, Store};
use crate::document::ErrorCode;
use crate::document::errors::error_body;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{
    ALLOW, AUTHORIZATION, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, RETRY_AFTER,
};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// Requests a minute, unless [`Server::limit`] sets it.
const LIMIT: u64 = 1_000;
const WINDOW_SECONDS: u64 = 60;

/// A server on a port of its own, until it is dropped. Several do not affect each other.
#[derive(Debug)]
pub struct Server {
    pub(super) address: SocketAddr,
    state: Arc<Mutex<State>>,
    /// `None` while it is dropped.
    runtime: Option<Runtime>,
}

impl Server {
    /// It has a thread of its own, so it needs no tokio runtime and serves the blocking
    /// client as well. An error means that the system gives no thread or no port.
    pub(super) fn with(store: Store) -> io::Result<Self> {
        let state = Arc::new(Mutex::new(State {
            store,
            faults: VecDeque::new(),
            requests: 0,
            limit: LIMIT,
            used: 0,
            resets: 0,
        }));
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build()?;
        let listener = {
            let _entered = runtime.enter();
            TcpListener::from_std(listener)?
        };
        runtime.spawn(serve(listener, state.clone()));
        Ok(Self { address, state, runtime: Some(runtime) })
    }

    /// The base URL to give to a client, with [`KEY`].
    pub fn base_url(&self) -> String {
        format!("http://{}{}", self.address, crate::document::testing::VERSION.base_path)
    }

    /// Admits this many requests in each minute, and begins a new one: 1,000 unless set.
    /// Those above it are answered with 429.
    pub fn limit(&self, requests_per_minute: u64) {
        let mut state = self.state();
        (state.limit, state.used, state.resets) = (requests_per_minute, 0, 0);
    }

    /// Answers the next request with this error, whatever it asks for, and does nothing
    /// that it asks for. Further calls add to the queue. `Retry-After` is 1 second where the
    /// API sends one; an [`Other`](ErrorCode::Other) code comes with status 500.
    pub fn fail_next(&self, code: ErrorCode) {
        self.state().faults.push_back(Fault::Error(code));
    }

    /// Does what the next request asks for, but closes the connection without a response.
    /// Further calls add to the queue.
    pub fn lose_next_response(&self) {
        self.state().faults.push_back(Fault::LostResponse);
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

/// Waits for no connection, so that a server can be dropped in async code, too.
impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[derive(Debug)]
enum Fault {
    Error(ErrorCode),
    LostResponse,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) store: Store,
    faults: VecDeque<Fault>,
    requests: u64,
    limit: u64,
    /// Requests in the current window.
    used: u64,
    /// The end of the current window, in seconds since the Unix epoch.
    resets: u64,
}

/// A test that panicked while it held the lock has failed already.
fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(listener: TcpListener, state: Arc<Mutex<State>>) {
    while let Ok((socket, _)) = listener.accept().await {
        let state = state.clone();
        let answer = service_fn(move |request: Request<Incoming>| {
            let state = state.clone();
            async move {
                let (head, body) = request.into_parts();
                let body = read(body).await?;
                locked(&state).respond(&head, body)
            }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), answer));
    }
}

async fn read(mut body: Incoming) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(frame) =
        std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
    {
        let data = frame.map_err(io::Error::other)?.into_data();
        bytes.extend(data.unwrap_or_else(|_| Bytes::new()));
    }
    Ok(bytes)
}

impl State {
    /// The response to a request. An error has hyper close the connection without one.
    fn respond(&mut self, head: &Parts, body: Vec<u8>) -> io::Result<Response<String>> {
        self.requests += 1;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        match self.faults.pop_front() {
            Some(Fault::Error(code)) => {
                let answer = Err((code, "This error is what the test asked for.".to_string()));
                self.response(head, answer, now)
            }
            Some(Fault::LostResponse) => {
                let _lost = self.answer(head, body, now);
                Err(io::Error::other("the test asked to lose the response"))
            }
            None => {
                let answer = self.answer(head, body, now);
                self.response(head, answer, now)
            }
        }
    }

    fn answer(&mut self, head: &Parts, body: Vec<u8>, now: u64) -> Answer {
        let refuse = |status, message: &str| Err((code_of(status), message.to_string()));
        let authorization = head.headers.get(AUTHORIZATION);
        if authorization.is_none_or(|sent| sent.as_bytes() != format!("Bearer {KEY}").as_bytes()) {
            return refuse(StatusCode::UNAUTHORIZED, "No valid API key was sent.");
        }
        self.count(now)?;
        let methods = allowed_methods(head.uri.path());
        if methods.is_empty() {
            return refuse(StatusCode::NOT_FOUND, "There is no such path.");
        }
        let Some((route, path)) = route(head) else {
            let message = format!("This path has {}.", methods.join(", "));
            return refuse(StatusCode::METHOD_NOT_ALLOWED, &message);
        };
        let sent = Sent::read(route.parameters, path, head.uri.query().unwrap_or_default(), body);
        (route.answer)(&mut self.store, &sent.map_err(|message| (invalid(), message))?)
    }

    /// Counts a request, unless there were too many in this minute.
    fn count(&mut self, now: u64) -> Result<(), (ErrorCode, String)> {
        if self.resets <= now {
            // The end of the second in which the window ends.
            (self.used, self.resets) = (0, now + WINDOW_SECONDS + 1);
        }
        if self.used >= self.limit {
            let message = format!("The limit of {} requests a minute is exhausted.", self.limit);
            return Err((code_of(StatusCode::TOO_MANY_REQUESTS), message));
        }
        self.used += 1;
        Ok(())
    }

    /// An answer with all headers that the API documents for it.
    fn response(&self, head: &Parts, answer: Answer, now: u64) -> io::Result<Response<String>> {
        let answer = answer.unwrap_or_else(|(code, message)| {
            let status = code.status();
            Success::example(status, &error_body(code.as_str(), &message, status))
        });
        let tag = answer.body.as_deref().map(tag).unwrap_or_default();
        let answer = match is_tagged(head, answer.status) && is_known(head, &tag) {
            true => Success::empty(StatusCode::NOT_MODIFIED.as_u16()),
            false => answer,
        };
        let status = StatusCode::from_u16(answer.status).map_err(io::Error::other)?;
        let mut response = Response::new(answer.body.clone().unwrap_or_default());
        *response.status_mut() = status;
        for (name, value) in self.headers(head, status, now) {
            let value = if name.eq_ignore_ascii_case(ETAG.as_str()) { tag.clone() } else { value };
            insert(&mut response, name, &value)?;
        }
        for (name, value) in answer.headers {
            insert(&mut response, name, &value)?;
        }
        if answer.body.is_some() {
            insert(&mut response, CONTENT_TYPE.as_str(), "application/json")?;
        }
        Ok(response)
    }

    fn headers(&self, head: &Parts, status: StatusCode, now: u64) -> Vec<(&'static str, String)> {
        let is_limited = status == StatusCode::TOO_MANY_REQUESTS;
        let is_exhausted = is_limited && self.used >= self.limit;
        let retry_at = if is_exhausted { self.resets } else { now + 1 };
        let (remaining, resets) = match self.resets {
            _ if is_limited => (0, retry_at),
            resets if resets > now => (self.limit.saturating_sub(self.used), resets),
            _ => (self.limit, now + WINDOW_SECONDS),
        };
        let mut headers = vec![
            ("x-ratelimit-limit", self.limit.to_string()),
            ("x-ratelimit-remaining", remaining.to_string()),
            ("x-ratelimit-reset", resets.to_string()),
            ("x-request-id", format!("00000000-0000-4000-8000-{:012x}", self.requests)),
        ];
        if status == StatusCode::METHOD_NOT_ALLOWED {
            headers.push((ALLOW.as_str(), allowed_methods(head.uri.path()).join(", ")));
        }
        for (name, example) in documented(head, status) {
            match name {
                name if name.eq_ignore_ascii_case(RETRY_AFTER.as_str()) => {
                    if is_limited || status == StatusCode::SERVICE_UNAVAILABLE {
                        headers.push((RETRY_AFTER.as_str(), (retry_at - now).to_string()));
                    }
                }
                name => headers.push((name, example.to_string())),
            }
        }
        headers
    }
}

fn insert(response: &mut Response<String>, name: &'static str, value: &str) -> io::Result<()> {
    let value = HeaderValue::from_str(value).map_err(io::Error::other)?;
    let name = hyper::header::HeaderName::try_from(name).map_err(io::Error::other)?;
    response.headers_mut().insert(name, value);
    Ok(())
}

/// The entity tag of a body.
fn tag(body: &str) -> String {
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    format!("W/\"{:016x}\"", hasher.finish())
}

/// Whether the operation has an entity tag on its responses of this status.
fn is_tagged(head: &Parts, status: u16) -> bool {
    let status = StatusCode::from_u16(status).unwrap_or_default();
    let headers = route(head).and_then(|(route, _)| headers_of(route, status)).unwrap_or_default();
    headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(ETAG.as_str()))
}

/// Whether `If-None-Match` names this tag.
fn is_known(head: &Parts, tag: &str) -> bool {
    let values = head.headers.get_all(IF_NONE_MATCH).iter();
    let mut tags = values.filter_map(|value| value.to_str().ok()).flat_map(|tags| tags.split(','));
    tags.any(|named| named.trim() == tag || named.trim() == "*")
}

/// The headers of a response: those of the operation, or else those of all errors and of all
/// responses of the path.
fn documented(head: &Parts, status: StatusCode) -> Vec<Header> {
    let path = head.uri.path();
    if let Some(own) = route(head).and_then(|(route, _)| headers_of(route, status)) {
        return own.to_vec();
    }
    let versions = VERSIONS.iter().filter(|of| path.starts_with(of.base_path));
    let all = versions.flat_map(|of| of.routes).flat_map(|route| route.headers);
    let errors = all.filter(|(status, _)| status.starts_with(['4', '5']));
    let of_path = routes(path).next().map_or(&[][..], |(route, _)| route.headers);
    let of_path = of_path.iter().map(|(_, headers)| *headers);
    [common(errors.map(|(_, headers)| *headers)), common(of_path)].concat()
}

/// The headers of this status, or of its class such as `5XX`.
fn headers_of(route: &Route, status: StatusCode) -> Option<&'static [Header]> {
    let (own, class) = (status.as_str(), format!("{}XX", status.as_u16() / 100));
    let of = |name: &str| route.headers.iter().find(|(of, _)| *of == name);
    of(own).or_else(|| of(&class)).or_else(|| of("default")).map(|(_, headers)| *headers)
}

fn common(mut lists: impl Iterator<Item = &'static [Header]>) -> Vec<Header> {
    let first = lists.next().unwrap_or_default().to_vec();
    lists.fold(first, |mut common, list| {
        common.retain(|header| list.contains(header));
        common
    })
}

/// Each operation of a path with its variables.
fn routes(path: &str) -> impl Iterator<Item = (&'static Route, Vec<(&'static str, String)>)> {
    VERSIONS.iter().flat_map(move |version| {
        let below = path.strip_prefix(version.base_path).unwrap_or_default();
        version.routes.iter().filter_map(|route| Some((route, variables(route.path, below)?)))
    })
}

/// The operation of a request. `HEAD` is answered as `GET`; hyper leaves the body out.
fn route(head: &Parts) -> Option<(&'static Route, Vec<(&'static str, String)>)> {
    let method = if head.method == hyper::Method::HEAD { "GET" } else { head.method.as_str() };
    routes(head.uri.path()).find(|(route, _)| route.method == method)
}

/// What a path has for the variables of this template; `None` if it is another path.
fn variables(template: &'static str, path: &str) -> Option<Vec<(&'static str, String)>> {
    let (names, values) = (template.split('/'), path.split('/'));
    if names.clone().count() != values.clone().count() {
        return None;
    }
    let mut variables = Vec::new();
    for (name, value) in names.zip(values) {
        match name.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) if !value.is_empty() => variables.push((name, value.to_string())),
            _ if name == value => {}
            _ => return None,
        }
    }
    Some(variables)
}

/// As `Allow` has them; none if there is no such path.
fn allowed_methods(path: &str) -> Vec<&'static str> {
    let mut methods: Vec<_> = routes(path).map(|(route, _)| route.method).collect();
    if methods.contains(&"GET") {
        methods.push("HEAD");
    }
    methods
}

fn invalid() -> ErrorCode {
    code_of(StatusCode::BAD_REQUEST)
}

/// The code that is called like the reason of a status, or else the first one of that status.
fn code_of(status: StatusCode) -> ErrorCode {
    let reason = status.canonical_reason().unwrap_or_default();
    let name = reason.to_lowercase().replace([' ', '-'], "_");
    let named = ErrorCode::from(name.as_str());
    let first = || ErrorCode::ALL.iter().find(|code| code.status() == status.as_u16()).cloned();
    if ErrorCode::ALL.contains(&named) { named } else { first().unwrap_or(named) }
}
