//! A server for the tests of programs that use the client: the feature `testing`.
//!
//! It keeps orders in memory, listens on a loopback port, and answers with the
//! statuses, headers and bodies that the API documents. It does not replace tests in the
//! service's staging environment: it has one key and one limit, of requests a minute, and
//! it bans no key unless told to.
//!
//! ```
//! use store_orders_client::{Client, ErrorCode, Order, testing};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = testing::Server::start([Order::new(1042, 7, 2), Order::new(1043, 7, 1)])?;
//! server.ship(1043);
//! let client = Client::builder(server.base_url(), testing::KEY).without_retries().build()?;
//!
//! client.cancel_order(1042).await?;
//! assert_eq!(server.orders().len(), 1);
//! let error = client.cancel_order(1043).await.unwrap_err();
//! assert_eq!(error.code(), Some(ErrorCode::OrderAlreadyShipped));
//!
//! server.fail_next(ErrorCode::ServiceUnavailable);
//! assert_eq!(client.list_orders().await.unwrap_err().status().unwrap(), 503);
//! # Ok(())
//! # }
//! ```

use crate::error_code::ErrorCode;
use crate::generated::types::{self, Order, OrderId, Pet, PetId};
#[cfg(feature = "v2-beta")]
use chrono::{DateTime, Utc};
#[cfg(feature = "v2-beta")]
use hyper::Method;
use hyper::body::Incoming;
use hyper::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LINK, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// The key that a [`Server`] takes. It answers any other with 401 `unauthorized`.
pub const KEY: &str = "sto_test_0123456789abcdefghijklmnopqrstuvwxyz";

/// Requests a minute, unless [`Server::limit`] sets it: that of the plan Business.
const LIMIT: u64 = 1_000;
const WINDOW_SECONDS: u64 = 60;

/// Paths, without the version before them.
const ORDERS: &str = "/store/orders";
const PETS: &str = "/pets";

const SERVICE_LINK: &str = "</docs>; rel=\"service-doc\", </openapi.json>; rel=\"service-desc\"";
const SERVICE_LINK_V2: &str =
    "</docs/v2>; rel=\"service-doc\", </openapi-v2.json>; rel=\"service-desc\"";
const PET_LINK: &str = "</changelog>; rel=\"deprecation\"";

impl Order {
    /// An order of `quantity` units, not complete and without a ship date: fields to set.
    /// Needs the feature `testing`.
    pub fn new(id: impl Into<OrderId>, pet_id: impl Into<PetId>, quantity: i64) -> Self {
        let (id, pet_id) = (id.into(), pet_id.into());
        Self { id, pet_id, quantity, complete: false, ship_date: None }
    }
}

impl Pet {
    /// A pet. Needs the feature `testing`.
    pub fn new(id: impl Into<PetId>, name: impl Into<String>) -> Self {
        Self { id: id.into(), name: name.into() }
    }
}

/// A server on a port of its own, until it is dropped. Several do not affect each other.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    /// `None` while it is dropped.
    runtime: Option<Runtime>,
}

impl Server {
    /// Starts a server with these orders, all pending.
    ///
    /// It has a thread of its own, so it needs no tokio runtime and serves the blocking
    /// client as well. An error means that the system gives no thread or no port.
    pub fn start(orders: impl IntoIterator<Item = Order>) -> io::Result<Self> {
        let orders = orders.into_iter().map(|order| (order.id, order)).collect();
        let state = Arc::new(Mutex::new(State { orders, limit: LIMIT, ..State::default() }));
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
        format!("http://{}/v1", self.address)
    }

    /// The base URL to give to a client of version 2, with [`KEY`]. Needs the feature `v2-beta`.
    #[cfg(feature = "v2-beta")]
    pub fn v2_base_url(&self) -> String {
        format!("http://{}/v2", self.address)
    }

    /// The orders that are not cancelled, in ascending order of `id`.
    pub fn orders(&self) -> Vec<Order> {
        self.state().orders.values().cloned().collect()
    }

    /// Marks an order as shipped: it can no longer be cancelled. Its fields are unchanged.
    pub fn ship(&self, order_id: impl Into<OrderId>) {
        self.state().shipped.insert(order_id.into());
    }

    /// Adds a pet, or replaces the one with its id.
    pub fn add_pet(&self, pet: Pet) {
        self.state().pets.insert(pet.id, pet);
    }

    /// Admits this many requests in each minute, and begins a new one: 1,000 unless set.
    /// Those above it are answered with 429 `rate_limit_exceeded`.
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

    fn state(&self) -> MutexGuard<'_, State> {
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

#[derive(Debug, Default)]
struct State {
    orders: BTreeMap<OrderId, Order>,
    shipped: BTreeSet<OrderId>,
    /// Cancelled orders, and when.
    #[cfg(feature = "v2-beta")]
    cancelled: BTreeMap<OrderId, (Order, DateTime<Utc>)>,
    pets: BTreeMap<PetId, Pet>,
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
        let answer = service_fn(move |request| {
            let response = locked(&state).respond(&request);
            async move { response }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), answer));
    }
}

/// A success, or the code and the message of an error.
type Answer = Result<Success, (ErrorCode, String)>;

/// The body and the `Link` of a success, if it has them.
#[derive(Default)]
struct Success {
    body: Option<String>,
    link: Option<String>,
}

impl Success {
    fn json(value: &impl Serialize) -> Self {
        Self { body: Some(json(value)), link: None }
    }
}

impl State {
    /// The response to a request. An error has hyper close the connection without one.
    fn respond(&mut self, request: &Request<Incoming>) -> io::Result<Response<String>> {
        self.requests += 1;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        match self.faults.pop_front() {
            Some(Fault::Error(code)) => {
                let answer = Err((code, "This error is what the test asked for.".to_string()));
                self.response(request, answer, now)
            }
            Some(Fault::LostResponse) => {
                let _lost = self.answer(request, now);
                Err(io::Error::other("the test asked to lose the response"))
            }
            None => {
                let answer = self.answer(request, now);
                self.response(request, answer, now)
            }
        }
    }

    fn answer(&mut self, request: &Request<Incoming>, now: u64) -> Answer {
        let authorization = request.headers().get(AUTHORIZATION);
        if authorization.is_none_or(|sent| sent.as_bytes() != format!("Bearer {KEY}").as_bytes()) {
            return Err((ErrorCode::Unauthorized, "No valid API key was sent.".to_string()));
        }
        self.count(now)?;
        let path = request.uri().path();
        let Some(allowed) = allowed_methods(path) else {
            return Err((ErrorCode::NotFound, "There is no such path.".to_string()));
        };
        if !allowed.split(", ").any(|method| method == request.method().as_str()) {
            return Err((ErrorCode::MethodNotAllowed, format!("This path has {allowed}.")));
        }
        match versioned(path).1.rsplit_once('/') {
            Some((PETS, id)) => self.pet(integer(id, "petId")?),
            #[cfg(feature = "v2-beta")]
            Some((ORDERS, id)) if request.method() != Method::DELETE => {
                self.order(integer(id, "orderId")?.into())
            }
            Some((ORDERS, id)) => self.cancel(integer(id, "orderId")?.into()),
            #[cfg(feature = "v2-beta")]
            _ if versioned(path).0 => {
                let query = request.uri().query().unwrap_or_default();
                let page = crate::v2::test_pages::page(&self.orders, &self.shipped, query);
                let page = page.map_err(|message| (ErrorCode::InvalidParameter, message));
                page.map(|(page, link)| Success { body: Some(json(&page)), link })
            }
            _ => Ok(Success::json(&self.orders.values().collect::<Vec<_>>())),
        }
    }

    /// Counts a request, unless there were too many in this minute.
    fn count(&mut self, now: u64) -> Result<(), (ErrorCode, String)> {
        if self.resets <= now {
            // The end of the second in which the window ends.
            (self.used, self.resets) = (0, now + WINDOW_SECONDS + 1);
        }
        if self.used >= self.limit {
            let message = format!("The limit of {} requests a minute is exhausted.", self.limit);
            return Err((ErrorCode::RateLimitExceeded, message));
        }
        self.used += 1;
        Ok(())
    }

    fn pet(&self, id: i64) -> Answer {
        let pet = self.pets.get(&id.into()).map(Success::json);
        pet.ok_or_else(|| (ErrorCode::PetNotFound, format!("There is no pet {id}.")))
    }

    fn cancel(&mut self, id: OrderId) -> Answer {
        if self.orders.contains_key(&id) && self.shipped.contains(&id) {
            let message = format!("Order {id} has already shipped and cannot be cancelled.");
            return Err((ErrorCode::OrderAlreadyShipped, message));
        }
        let missing = || format!("There is no order {id}, or it is already cancelled.");
        let cancelled = self.orders.remove(&id);
        #[cfg(feature = "v2-beta")]
        if let Some(order) = &cancelled {
            let now = SystemTime::now().into();
            self.cancelled.insert(id, (order.clone(), now));
        }
        let success = cancelled.map(|_| Success::default());
        success.ok_or_else(|| (ErrorCode::OrderNotFound, missing()))
    }

    #[cfg(feature = "v2-beta")]
    fn order(&self, id: OrderId) -> Answer {
        use crate::v2::test_pages::as_v2;
        let listed = self.orders.get(&id).map(|of| as_v2(of, self.shipped.contains(&id), None));
        let cancelled = || self.cancelled.get(&id).map(|(of, at)| as_v2(of, false, Some(*at)));
        let found = listed.or_else(cancelled).map(|order| Success::json(&order));
        found.ok_or_else(|| (ErrorCode::OrderNotFound, format!("There is no order {id}.")))
    }

    /// An answer with all headers that the API documents for it.
    fn response(
        &self,
        request: &Request<Incoming>,
        answer: Answer,
        now: u64,
    ) -> io::Result<Response<String>> {
        let path = request.uri().path();
        let code = answer.as_ref().err().map(|(code, _)| code);
        let is_limited = matches!(code, Some(ErrorCode::RateLimitExceeded | ErrorCode::KeyBanned));
        let is_exhausted = is_limited && self.used >= self.limit;
        let retry_at = if is_exhausted { self.resets } else { now + 1 };
        let (remaining, resets) = match self.resets {
            _ if is_limited => (0, retry_at),
            resets if resets > now => (self.limit.saturating_sub(self.used), resets),
            _ => (self.limit, now + WINDOW_SECONDS),
        };
        let mut head = Response::builder()
            .header("x-ratelimit-limit", self.limit)
            .header("x-ratelimit-remaining", remaining)
            .header("x-ratelimit-reset", resets)
            .header("x-request-id", format!("00000000-0000-4000-8000-{:012x}", self.requests));
        if is_limited || code == Some(&ErrorCode::ServiceUnavailable) {
            head = head.header(RETRY_AFTER, retry_at - now);
        }
        if code == Some(&ErrorCode::MethodNotAllowed) {
            head = head.header(ALLOW, allowed_methods(path).unwrap_or_default());
        }
        if code == Some(&ErrorCode::Unauthorized) {
            let was_sent = request.headers().contains_key(AUTHORIZATION);
            let error = if was_sent { ", error=\"invalid_token\"" } else { "" };
            head = head.header(WWW_AUTHENTICATE, format!("Bearer realm=\"store-orders\"{error}"));
        }
        let tag = answer.as_ref().ok().and_then(|success| success.body.as_deref()).map(tag);
        let (is_v2, path) = versioned(path);
        let is_pet = !is_v2 && path.rsplit_once('/').is_some_and(|(parent, _)| parent == PETS);
        if is_pet {
            head = head.header("deprecation", "@1796083200");
            head = head.header("sunset", "Wed, 01 Dec 2027 00:00:00 GMT");
        }
        let status = match (&answer, code) {
            (_, Some(code)) => status_of(code),
            (Ok(Success { body: None, .. }), _) => StatusCode::NO_CONTENT,
            _ if tag.as_deref().is_some_and(|tag| !is_pet && is_known(request, tag)) => {
                StatusCode::NOT_MODIFIED
            }
            _ => StatusCode::OK,
        };
        head = match tag.filter(|_| !is_pet) {
            Some(tag) => head.header(CACHE_CONTROL, "private, no-cache").header(ETAG, tag),
            None => head.header(CACHE_CONTROL, "no-store"),
        };
        let service_link = if is_v2 { SERVICE_LINK_V2 } else { SERVICE_LINK };
        let next = answer.as_ref().ok().and_then(|success| success.link.as_deref());
        let next = next.filter(|_| status != StatusCode::NOT_MODIFIED);
        let links = [next, is_pet.then_some(PET_LINK), code.map(|_| service_link)];
        let links: Vec<_> = links.into_iter().flatten().collect();
        if !links.is_empty() {
            head = head.header(LINK, links.join(", "));
        }
        let body = answer.map_or_else(
            |(code, message)| {
                let (code, status) = (code.to_string(), status.as_u16().into());
                Some(json(&types::Error { code, message, status }))
            },
            |success| success.body.filter(|_| status != StatusCode::NOT_MODIFIED),
        );
        if body.is_some() {
            head = head.header(CONTENT_TYPE, "application/json");
        }
        head.status(status).body(body.unwrap_or_default()).map_err(io::Error::other)
    }
}

/// As `Allow` has them; `None` if there is no such path.
fn allowed_methods(path: &str) -> Option<&'static str> {
    let (is_v2, path) = versioned(path);
    match path.rsplit_once('/')? {
        _ if path == ORDERS => Some("GET, HEAD"),
        (PETS, id) if !is_v2 && !id.is_empty() => Some("GET, HEAD"),
        (ORDERS, id) if !id.is_empty() && is_v2 => Some("GET, DELETE, HEAD"),
        (ORDERS, id) if !id.is_empty() => Some("DELETE"),
        _ => None,
    }
}

/// Whether a path is one of version 2, and what follows the version; nothing, if it has none.
fn versioned(path: &str) -> (bool, &str) {
    match path.strip_prefix("/v2") {
        Some(rest) if cfg!(feature = "v2-beta") => (true, rest),
        _ => (false, path.strip_prefix("/v1").unwrap_or_default()),
    }
}

/// A 64-bit integer in plain decimal.
fn integer(text: &str, name: &str) -> Result<i64, (ErrorCode, String)> {
    let number = text.parse::<i64>().ok().filter(|number| number.to_string() == text);
    let wrong = || format!("The path parameter {name} must be a 64-bit integer in plain decimal.");
    number.ok_or_else(|| (ErrorCode::InvalidParameter, wrong()))
}

fn json(value: &impl Serialize) -> String {
    // Records and their lists are always JSON.
    serde_json::to_string(value).unwrap_or_default()
}

/// The entity tag of a body.
fn tag(body: &str) -> String {
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    format!("W/\"{:016x}\"", hasher.finish())
}

/// Whether `If-None-Match` names this tag.
fn is_known(request: &Request<Incoming>, tag: &str) -> bool {
    let values = request.headers().get_all(IF_NONE_MATCH).iter();
    let mut tags = values.filter_map(|value| value.to_str().ok()).flat_map(|tags| tags.split(','));
    tags.any(|named| named.trim() == tag || named.trim() == "*")
}

fn status_of(code: &ErrorCode) -> StatusCode {
    match code {
        ErrorCode::InvalidParameter | ErrorCode::InvalidRequest => StatusCode::BAD_REQUEST,
        ErrorCode::Unauthorized => StatusCode::UNAUTHORIZED,
        ErrorCode::OrderNotFound | ErrorCode::PetNotFound | ErrorCode::NotFound => {
            StatusCode::NOT_FOUND
        }
        ErrorCode::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        ErrorCode::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
        ErrorCode::OrderAlreadyShipped => StatusCode::CONFLICT,
        ErrorCode::RequestTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::UriTooLong => StatusCode::URI_TOO_LONG,
        ErrorCode::RateLimitExceeded | ErrorCode::KeyBanned => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::ServiceUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::InternalError | ErrorCode::Other(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
