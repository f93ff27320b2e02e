//! The store, clock, rate limiter and settings of a test's server.

use crate::{CapturedLog, FaultyStore, TestCertificate};
use chrono::DateTime;
use slog::{Logger, o};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store_orders::api_key::{ApiKey, Environment};
use store_orders::clock::{Clock, ManualClock};
use store_orders::config::{AdminListen, ServerConfig};
use store_orders::log::LogBuffer;
use store_orders::rate_limiter::{CountsFile, InMemoryRateLimiter, RateLimiter};
use store_orders::server::{Dependencies, TlsFiles};
use store_orders::store::sqlite::SqliteStore;
use store_orders::store::{
    AccountCommands, KeyCommands, NewKey, OperatorStore, Order, OrderStatus, Records, Store,
};
use store_orders_api::plans::{Plan, PlanLimits};
use store_orders_api::types::Pet;
use tempfile::TempDir;
use testbed::Key;

/// The wall time at which every test begins: 2026-06-15, noon UTC.
pub const NOON: Duration = Duration::from_secs(1_781_524_800);

pub struct TestSetup {
    pub directory: TempDir,
    pub store: SqliteStore,
    /// Both the wall clock and the monotonic clock stand still until the test moves them.
    pub clock: Arc<ManualClock>,
    pub config: ServerConfig,
    rate_limiter: Arc<InMemoryRateLimiter>,
    /// If set, the server uses this limiter instead of `rate_limiter`.
    other_rate_limiter: Option<Arc<dyn RateLimiter>>,
    /// The file that keeps the request counts across restarts. `None` after
    /// [`TestSetup::close_limits_file`].
    counts_file: Mutex<Option<CountsFile>>,
    unauthenticated_per_minute: u32,
    log: Logger,
    log_buffer: Option<Arc<LogBuffer>>,
    pub(super) certificate: Option<TestCertificate>,
    /// If set, the server uses this store instead of `store`.
    faulty_store: Option<Arc<FaultyStore>>,
}

impl TestSetup {
    pub fn new() -> TestSetup {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        let (clock, log) = (Arc::new(ManualClock::new(NOON)), Logger::root(slog::Discard, o!()));
        let rate_limiter = Arc::new(InMemoryRateLimiter::new(1_000, log.clone()));
        let setup = TestSetup {
            directory,
            store,
            clock,
            config: ServerConfig {
                listen: "127.0.0.1:0".parse().unwrap(),
                admin_listen: AdminListen::Off,
                ..ServerConfig::default()
            },
            rate_limiter,
            other_rate_limiter: None,
            counts_file: Mutex::new(None),
            unauthenticated_per_minute: 1_000,
            log,
            log_buffer: None,
            certificate: None,
            faulty_store: None,
        };
        setup.restarted()
    }

    pub fn with_rate_limiter(mut self, rate_limiter: Arc<dyn RateLimiter>) -> TestSetup {
        self.other_rate_limiter = Some(rate_limiter);
        self
    }

    pub fn with_unauthenticated_per_minute(mut self, unauthenticated_per_minute: u32) -> TestSetup {
        self.unauthenticated_per_minute = unauthenticated_per_minute;
        self.restarted()
    }

    /// Replaces the log with one that tests can read.
    pub fn with_log(mut self, log: &CapturedLog) -> TestSetup {
        self.log = log.log.clone();
        self.log_buffer = Some(Arc::clone(&log.buffer));
        self.restarted()
    }

    /// Serves TLS with this certificate. Requests then use HTTP/2.
    pub fn with_certificate(mut self, certificate: TestCertificate) -> TestSetup {
        self.config.tls_cert = Some(self.directory.path().join("cert.pem"));
        self.config.tls_key = Some(self.directory.path().join("key.pem"));
        certificate.install(&TlsFiles::from_config(&self.config).unwrap());
        self.certificate = Some(certificate);
        self
    }

    pub fn add_faulty_store(&mut self) -> Arc<FaultyStore> {
        let faulty = FaultyStore::new(&self.store);
        self.faulty_store = Some(Arc::clone(&faulty));
        faulty
    }

    pub fn key(&self, plan: Plan) -> Key {
        let name = format!("{}-{}", plan.as_str(), self.store.accounts(0).unwrap().len());
        self.account(&name, plan, None);
        self.another_key(&name)
    }

    pub fn enterprise_key(&self, per_minute: u32, per_day: u32) -> Key {
        let name = format!("enterprise-{}", self.store.accounts(0).unwrap().len());
        self.account(&name, Plan::Enterprise, Some(PlanLimits { per_minute, per_day }));
        self.another_key(&name)
    }

    pub fn account(&self, name: &str, plan: Plan, limits: Option<PlanLimits>) {
        let now = DateTime::from_timestamp_millis(self.clock.now().wall_ms()).unwrap();
        self.store.create_account(name, plan, limits, now).unwrap();
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
        let new = NewKey { account, environment, expires_after, label: None };
        let issued = self.store.issue_key(&new, self.clock.now().wall_ms()).unwrap();
        Key { id: issued.id, text: issued.key.expose().to_string() }
    }

    pub fn pending(&self, ids: impl IntoIterator<Item = i64>) -> &TestSetup {
        let orders: Vec<_> = ids.into_iter().map(pending_order).collect();
        self.store.import(Records::Orders(&orders), false).unwrap();
        self
    }

    pub fn shipped(&self, id: i64) -> &TestSetup {
        let order = Order { status: OrderStatus::Shipped, ..pending_order(id) };
        self.store.import(Records::Orders(&[order]), false).unwrap();
        self
    }

    pub fn pet(&self, id: i64, name: &str) -> &TestSetup {
        self.store.import(Records::Pets(&[Pet { id, name: name.to_string() }]), false).unwrap();
        self
    }

    /// Returns the setup as a restarted server would find it. The monotonic clock starts at zero,
    /// and the counts come from their file.
    pub fn restarted(mut self) -> TestSetup {
        self.clock = Arc::new(self.clock.restarted());
        self.rate_limiter =
            Arc::new(InMemoryRateLimiter::new(self.unauthenticated_per_minute, self.log.clone()));
        let (rate_limiter, clock) = (self.rate_limiter.clone(), self.clock.clone());
        let file = CountsFile::open(
            self.directory.path(),
            self.store.id().unwrap(),
            rate_limiter,
            clock,
            self.log.clone(),
        );
        self.counts_file = Mutex::new(Some(file));
        self
    }

    /// Calls `write` with the counts file. A test server has no thread that writes the file, so
    /// tests must write the file themselves.
    pub fn with_counts_file(&self, write: fn(&mut CountsFile) -> bool) {
        write(self.counts_file.lock().unwrap().as_mut().unwrap());
    }

    pub fn write_counts(&self) {
        self.with_counts_file(CountsFile::write);
    }

    /// Closes the counts file, so that a test can change it.
    pub fn close_limits_file(&self) {
        *self.counts_file.lock().unwrap() = None;
    }

    pub(super) fn dependencies(&self) -> Dependencies {
        let store: Arc<dyn Store> = match &self.faulty_store {
            Some(faulty) => faulty.clone(),
            None => Arc::new(self.store.clone()),
        };
        let rate_limiter: Arc<dyn RateLimiter> = match &self.other_rate_limiter {
            Some(other) => other.clone(),
            None => self.rate_limiter.clone(),
        };
        Dependencies {
            store,
            rate_limiter,
            clock: self.clock.clone(),
            log: self.log.clone(),
            log_buffer: self.log_buffer.clone(),
        }
    }
}

pub fn unknown_key() -> Key {
    let key = ApiKey::generate(Environment::Production);
    Key { id: String::new(), text: key.expose().to_string() }
}

/// Returns a pending order of pet 7 with this id. Only orders with an even id have a ship date, so
/// lists contain both kinds.
pub fn pending_order(id: i64) -> Order {
    Order {
        ship_date: (id % 2 == 0).then(|| "2026-06-21T00:00:00Z".parse().unwrap()),
        ..Order::new(id, 7, 1)
    }
}
