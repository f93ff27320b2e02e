//! A store, a clock that tests move, and a server on port 0 between them; and
//! the ways to send a request to it. Every response passes the tap of `wire`,
//! which holds it against the document.

pub mod stores;
pub mod wire;

mod captured_log;
pub mod place;
pub mod program;
pub mod said;

pub use captured_log::CapturedLog;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::DateTime;
use http::{HeaderMap, Method, StatusCode};
use slog::{Logger, o};
use store_orders::clock::{Clock, ManualClock};
use store_orders::config::{AdminListen, ServerConfig};
use store_orders::keys::Environment;
use store_orders::limits::{InMemoryLimits, LimitsFile};
use store_orders::log::LogBuffer;
use store_orders::server::{Dependencies, Server};
use store_orders::store::sqlite::SqliteStore;
use store_orders::store::{NewKey, NewOrder, Store};
use store_orders_api::plans::{Plan, PlanLimits};
use store_orders_api::types::Pet;
use store_orders_client::{Client, types};
use tempfile::TempDir;
use wire::Tap;

/// Wall time at which every test begins: 2026-06-15, noon UTC.
pub const NOON: Duration = Duration::from_secs(1_781_524_800);

/// A key that was issued, and its id.
#[derive(Clone)]
pub struct Key {
    pub id: String,
    pub text: String,
}

/// What there is before a server starts.
pub struct World {
    pub directory: TempDir,
    pub store: Arc<SqliteStore>,
    pub clock: Arc<ManualClock>,
    pub limits: Arc<InMemoryLimits>,
    /// Carries the limits over a restart; written when the server stops.
    record: Mutex<Option<LimitsFile>>,
    pub keyless_per_minute: u32,
    pub log: Logger,
    log_buffer: Option<Arc<LogBuffer>>,
    pub config: ServerConfig,
    /// Another store for the server to use, if it is not to use this one's.
    pub served: Option<Arc<dyn Store>>,
}

impl World {
    pub fn new() -> World {
        let directory = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(directory.path()).unwrap());
        let (clock, log) = (Arc::new(ManualClock::at(NOON)), Logger::root(slog::Discard, o!()));
        let limits = Arc::new(InMemoryLimits::new(1_000));
        let record = LimitsFile::open(directory.path(), limits.clone(), clock.clone(), log.clone());
        World {
            directory,
            store,
            clock,
            limits,
            record: Mutex::new(Some(record)),
            keyless_per_minute: 1_000,
            log,
            log_buffer: None,
            config: ServerConfig {
                listen: "127.0.0.1:0".parse().unwrap(),
                admin_listen: AdminListen::Off,
                ..ServerConfig::default()
            },
            served: None,
        }
    }

    /// The same with another bound for callers without a valid key.
    pub fn with_keyless_per_minute(mut self, keyless_per_minute: u32) -> World {
        self.keyless_per_minute = keyless_per_minute;
        self.begin_anew()
    }

    /// The same with a log that can be read.
    pub fn with_log(mut self, log: &CapturedLog) -> World {
        self.log = log.log.clone();
        self.log_buffer = Some(Arc::clone(&log.buffer));
        self.begin_anew()
    }

    /// A new account of this plan with one key.
    pub fn key(&self, plan: Plan) -> Key {
        let name = format!("{}-{}", plan.as_str(), self.store.accounts(0).unwrap().len());
        self.account(&name, plan, None);
        self.another_key(&name)
    }

    /// A new Enterprise account with one key.
    pub fn enterprise_key(&self, per_minute: u32, per_day: u32) -> Key {
        let name = format!("enterprise-{}", self.store.accounts(0).unwrap().len());
        self.account(&name, Plan::Enterprise, Some(PlanLimits { per_minute, per_day }));
        self.another_key(&name)
    }

    pub fn account(&self, name: &str, plan: Plan, own: Option<PlanLimits>) {
        let at = DateTime::from_timestamp_millis(self.clock.now().wall_ms()).unwrap();
        self.store.create_account(name, plan, own, at).unwrap();
    }

    pub fn another_key(&self, account: &str) -> Key {
        self.key_with(account, Environment::Production, None)
    }

    pub fn key_with(
        &self,
        account: &str,
        environment: Environment,
        expires_after: Option<Duration>,
    ) -> Key {
        let new = NewKey { account, environment, expires_after };
        let issued = self.store.issue_key(&new, self.clock.now().wall_ms()).unwrap();
        Key { id: issued.id, text: issued.key.expose().to_string() }
    }

    /// Pending orders of these ids.
    pub fn pending(&self, ids: impl IntoIterator<Item = i64>) -> &World {
        let orders: Vec<_> = ids.into_iter().map(pending_order).collect();
        self.store.import_orders(&orders, false, &|| ()).unwrap();
        self
    }

    /// An order of this id that has shipped.
    pub fn shipped(&self, id: i64) -> &World {
        let order = NewOrder { shipped: true, ..pending_order(id) };
        self.store.import_orders(&[order], false, &|| ()).unwrap();
        self
    }

    pub fn pet(&self, id: i64, name: &str) -> &World {
        self.store.import_pets(&[Pet { id, name: name.to_string() }], false, &|| ()).unwrap();
        self
    }

    /// What a new process begins with: a monotonic clock from zero, and the
    /// limits as the record has them.
    pub fn begin_anew(mut self) -> World {
        self.clock = Arc::new(ManualClock::at(self.clock.now().wall));
        self.limits = Arc::new(InMemoryLimits::new(self.keyless_per_minute));
        let (limits, clock) = (self.limits.clone(), self.clock.clone());
        let record = LimitsFile::open(self.directory.path(), limits, clock, self.log.clone());
        self.record = Mutex::new(Some(record));
        self
    }

    /// Does this with the record: `LimitsFile::write`, as its thread would.
    pub fn record(&self, does: fn(&mut LimitsFile)) {
        does(self.record.lock().unwrap().as_mut().unwrap());
    }

    /// Closes the record's file, for whoever has designs on it.
    pub fn close_record(&self) {
        *self.record.lock().unwrap() = None;
    }

    pub async fn serve(self) -> TestServer {
        let parts = Dependencies {
            store: self.served.clone().unwrap_or_else(|| self.store.clone()),
            limits: self.limits.clone(),
            clock: self.clock.clone(),
            log: self.log.clone(),
            log_buffer: self.log_buffer.clone(),
        };
        let server = Server::start(&self.config, parts).unwrap();
        let http = reqwest::Client::builder().no_gzip().build().unwrap();
        let tap = Tap::before(server.address());
        TestServer { server, tap, http, world: self }
    }
}

pub fn pending_order(id: i64) -> NewOrder {
    let ship_date = (id % 2 == 0).then(|| DateTime::from_timestamp(1_782_000_000, 0).unwrap());
    NewOrder { id, pet_id: 7, quantity: 1, ship_date, complete: false, shipped: false }
}

/// A running server and the world it runs in.
pub struct TestServer {
    server: Server,
    tap: Tap,
    http: reqwest::Client,
    pub world: World,
}

/// An answer as it came over the wire.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl TestServer {
    /// Where to send requests, without a path.
    pub fn origin(&self) -> String {
        format!("http://{}", self.tap.address())
    }

    /// The same as an address, for what no HTTP client sends.
    pub fn address(&self) -> std::net::SocketAddr {
        self.tap.address()
    }

    /// Where the server itself listens, past the tap: for bytes that are no HTTP.
    pub fn untapped_address(&self) -> std::net::SocketAddr {
        self.server.address()
    }

    /// Where it listens for operators, if it does.
    pub fn operators_address(&self) -> Option<std::net::SocketAddr> {
        self.server.admin_address()
    }

    /// What of the document its responses have shown so far.
    pub fn seen(&self) -> BTreeSet<String> {
        self.tap.seen()
    }

    /// The generated client, which sends each request once.
    pub fn client(&self, key: &Key) -> Client {
        Client::builder(format!("{}/v1", self.origin()), &key.text)
            .unwrap()
            .without_retries()
            .build()
            .unwrap()
    }

    /// A request that the generated client cannot send.
    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = self.http.request(method, format!("{}{path}", self.origin()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.unwrap();
        Answer {
            status: response.status(),
            headers: response.headers().clone(),
            body: response.bytes().await.unwrap().to_vec(),
        }
    }

    /// The same with a key.
    pub async fn send_with(&self, key: &Key, method: &str, path: &str) -> Answer {
        self.send(method, path, &[("authorization", &format!("Bearer {}", key.text))]).await
    }

    /// The same, for the list.
    pub async fn list_with(&self, key: &Key) -> Answer {
        self.send_with(key, "GET", "/v1/store/orders").await
    }

    /// Stops the server and returns its world as the next process finds it.
    pub async fn stop(self) -> World {
        self.server.stop().await;
        self.world.record(LimitsFile::finish);
        self.world.begin_anew()
    }

    /// The same without the last write of the limits: a crash.
    pub async fn crash(self) -> World {
        self.server.stop().await;
        self.world.begin_anew()
    }
}

impl Answer {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn text(&self, header: &str) -> &str {
        self.headers
            .get(header)
            .unwrap_or_else(|| panic!("{header} is missing in {self:?}"))
            .to_str()
            .unwrap()
    }

    pub fn number(&self, header: &str) -> u64 {
        self.text(header).parse().unwrap()
    }

    /// Asserts the one shape of errors and returns its message.
    pub fn assert_error(&self, status: u16, code: &str) -> String {
        let body = self.json();
        assert_eq!((self.status.as_u16(), body["code"].as_str()), (status, Some(code)), "{body}");
        assert_eq!(self.text("content-type"), "application/json");
        let error: types::Error = serde_json::from_value(body.clone()).unwrap();
        assert_eq!(error.status, i64::from(status));
        assert_eq!(body.as_object().unwrap().len(), 3, "{body}");
        self.assert_stamped();
        error.message
    }

    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining`, and `X-RateLimit-Reset` in
    /// seconds after [`NOON`].
    pub fn figures(&self) -> (u64, u64, u64) {
        (
            self.number("x-ratelimit-limit"),
            self.number("x-ratelimit-remaining"),
            self.number("x-ratelimit-reset").checked_sub(NOON.as_secs()).unwrap(),
        )
    }

    /// Asserts a 429 of this code and returns its `Retry-After`.
    pub fn assert_refused(&self, code: &str) -> u64 {
        self.assert_error(429, code);
        assert_eq!(self.number("x-ratelimit-remaining"), 0);
        self.number("retry-after")
    }

    /// Asserts the headers that every response has.
    pub fn assert_stamped(&self) {
        let (limit, remaining) =
            (self.number("x-ratelimit-limit"), self.number("x-ratelimit-remaining"));
        assert!(remaining <= limit, "{remaining} of {limit}");
        assert!(self.number("x-ratelimit-reset") >= NOON.as_secs() / 2);
        assert_eq!(self.text("x-request-id").len(), 36);
    }
}

/// The status and the code of a client's error.
pub fn refused<T: std::fmt::Debug>(
    result: Result<store_orders_client::ResponseValue<T>, store_orders_client::Error<types::Error>>,
) -> (u16, String) {
    match result {
        Err(store_orders_client::Error::ErrorResponse(response)) => {
            (response.status().as_u16(), response.into_inner().code)
        }
        other => panic!("expected an error response, got {other:?}"),
    }
}
