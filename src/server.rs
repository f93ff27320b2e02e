//! The server as a whole: assembled, started, drained, stopped.

mod exposition;
mod listening_socket;
mod operators;
mod order_counts;
mod tls;

pub use operators::{OperatorsError, OperatorsListen};
pub use tls::{LiveCertificate, TlsError, TlsFiles};

use crate::clock::Clock;
use crate::front_door::{self, TrustedProxies};
use crate::keys::{Environment, LiveRing};
use crate::limits::Limits;
use crate::log::{LogBuffer, RequestLog};
use crate::metrics::Metrics;
use crate::orders::{Arrivals, OpenError, OrderBook};
use crate::public_pages::PublicPages;
use crate::store::{Store, StoreError};
use dropshot::{ConfigDropshot, ConfigTls, HandlerTaskMode, HttpServer, ServerBuilder};
use listening_socket::ListeningSocket;
use operators::Operations;
use slog::{Logger, info, warn};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use store_orders_api::BASE_PATH;
use store_orders_api::document::{self, DocumentError};
use tokio::task::JoinHandle;

/// How long dropshot may take to accept no more connections, once it is told.
const TAKES_LEAVE_WITHIN: Duration = Duration::from_millis(10);

/// How long the operators' listener may take to close, once the other has.
const OPERATORS_CLOSE_WITHIN: Duration = Duration::from_millis(200);

/// How the server is to run.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Whose keys it takes.
    pub environment: Environment,
    /// Whose `X-Forwarded-For` it believes.
    pub proxies: TrustedProxies,
    /// How long requests under way may take to finish when it stops.
    pub drain: Duration,
    /// After how long without taking a byte a client's connection is ended.
    pub stalled_after: Duration,
    /// With which certificate it answers; in the clear without.
    pub tls: Option<TlsFiles>,
    /// Where it listens for operators.
    pub operators: OperatorsListen,
}

/// The parts that a server is made of.
pub struct Parts {
    /// Where orders, pets, accounts and keys are kept.
    pub store: Arc<dyn Store>,
    /// Who counts.
    pub limits: Arc<dyn Limits>,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// Where lines go.
    pub log: Logger,
    /// Where they wait to be written, if any are.
    pub log_buffer: Option<Arc<LogBuffer>>,
}

/// The state of a running server, as the front door and the handlers reach it.
pub struct App {
    /// The list and the writer of cancellations.
    pub book: OrderBook,
    /// How many requests have arrived.
    pub arrivals: Arc<Arrivals>,
    /// For single rows.
    pub store: Arc<dyn Store>,
    /// The keys that are known.
    pub ring: Arc<LiveRing>,
    /// Who counts.
    pub limits: Arc<dyn Limits>,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// Whose keys are taken.
    pub environment: Environment,
    /// Whose `X-Forwarded-For` is believed.
    pub proxies: TrustedProxies,
    /// What is read without a key.
    pub pages: PublicPages,
    /// What is counted of all this.
    pub metrics: Metrics,
    /// Where lines go.
    pub log: Logger,
    /// Where the lines of requests go.
    pub requests_log: RequestLog,
}

impl App {
    /// Reads the store. Blocks.
    fn open(config: &ServerConfig, parts: Parts, metrics: Metrics) -> Result<App, StartError> {
        let Parts { store, limits, clock, log, log_buffer } = parts;
        let ring = Arc::new(LiveRing::open(Arc::clone(&store))?);
        Ok(App {
            book: OrderBook::open(Arc::clone(&store), Arc::clone(&metrics.batches), &log)?,
            arrivals: Arc::default(),
            store,
            ring,
            limits,
            clock,
            environment: config.environment,
            proxies: config.proxies.clone(),
            pages: PublicPages::of(document::emitted_text()?),
            metrics,
            requests_log: RequestLog::new(log_buffer, &log),
            log,
        })
    }
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The order book could not be opened.
    #[error(transparent)]
    Orders(#[from] OpenError),
    /// The keys could not be read.
    #[error("the keys cannot be read")]
    Keys(#[from] StoreError),
    /// The document could not be emitted.
    #[error("the API document cannot be emitted")]
    Document(#[from] DocumentError),
    /// The front door could not be built.
    #[error(transparent)]
    FrontDoor(#[from] front_door::BuildError),
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// There is no TLS configuration to be had.
    #[error("TLS cannot be set up")]
    Rustls(#[from] rustls::Error),
    /// The operators' listener could not be opened.
    #[error(transparent)]
    Operators(#[from] OperatorsError),
    /// The address could not be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What dropshot says.
        source: dropshot::BuildError,
    },
}

/// A running server.
pub struct Server {
    http: HttpServer<Arc<App>>,
    /// None where the system does not allow it.
    socket: Option<ListeningSocket>,
    operators: Option<HttpServer<Arc<Operations>>>,
    operations: Arc<Operations>,
    certificate: Option<Arc<LiveCertificate>>,
    background: Vec<JoinHandle<()>>,
    log: Logger,
    drain: Duration,
}

impl Server {
    /// Reads the store and starts to listen. Blocks while it reads; needs a
    /// tokio runtime around it.
    pub fn start(config: &ServerConfig, parts: Parts) -> Result<Server, StartError> {
        let (log, log_buffer) = (parts.log.clone(), parts.log_buffer.clone());
        let files = config.tls.clone();
        let certificate = files.map(LiveCertificate::open).transpose()?.map(Arc::new);
        let (api, operations) = front_door::build()?;
        let app = Arc::new(App::open(config, parts, Metrics::new(operations))?);
        let tls = certificate.as_ref().map(LiveCertificate::server_config).transpose()?;
        let dropshot = ConfigDropshot {
            bind_address: config.listen,
            // The writer, not the handler, owns a cancellation, so a handler may
            // be dropped; it saves a task for each request.
            default_handler_task_mode: HandlerTaskMode::CancelOnDisconnect,
            ..ConfigDropshot::default()
        };
        let http = ServerBuilder::new(api, Arc::clone(&app), crate::log::for_dropshot(&log))
            .config(dropshot)
            .tls(tls.map(ConfigTls::Dynamic))
            .start()
            .map_err(|source| StartError::Listen { address: config.listen, source })?;
        let mut background = vec![tokio::spawn(Arc::clone(&app.ring).keep_current(log.clone()))];
        let kept = certificate.iter().map(|live| Arc::clone(live).keep_current(log.clone()));
        background.extend(kept.map(tokio::spawn));
        let operations = Arc::new(Operations::new(app, log_buffer));
        let operators = operators::listen(config.operators, &operations, &log)?;
        let socket = ListeningSocket::prepared(http.local_addr(), config.stalled_after, &log);
        let drain = config.drain;
        let server =
            Server { http, socket, operators, operations, certificate, background, log, drain };
        server.introduce(config);
        Ok(server)
    }

    fn introduce(&self, config: &ServerConfig) {
        info!(self.log, "listening"; "url" => self.url(),
            "environment" => config.environment.name());
        let address = self.address();
        let in_the_clear = self.certificate.is_none() && !address.ip().to_canonical().is_loopback();
        if in_the_clear && config.proxies.is_empty() {
            warn!(self.log, "keys travel in the clear: give this listener a certificate, or let \
                it listen on a loopback address, or name the proxy that ends TLS before it as a \
                trusted proxy"; "address" => address.to_string());
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.http.local_addr()
    }

    /// The base address of the API.
    pub fn url(&self) -> String {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}{BASE_PATH}", self.address())
    }

    /// Where it listens for operators, if it does.
    pub fn operators_address(&self) -> Option<SocketAddr> {
        self.operators.as_ref().map(HttpServer::local_addr)
    }

    /// What certificate it answers with, if it does.
    pub fn certificate(&self) -> Option<&Arc<LiveCertificate>> {
        self.certificate.as_ref()
    }

    /// Stops accepting, lets requests under way finish for as long as was
    /// configured, and returns. Operators hear until then that it stops.
    pub async fn stop(self) {
        info!(self.log, "stopping");
        self.operations.stops();
        if tokio::time::timeout(self.drain, drained(self.http, self.socket)).await.is_err() {
            warn!(self.log, "requests under way did not finish in time";
                "seconds" => self.drain.as_secs_f64());
        }
        if let Some(operators) = self.operators {
            // Whoever watches may ask again at any time; nobody waits for that.
            let _ = tokio::time::timeout(OPERATORS_CLOSE_WITHIN, operators.close()).await;
        }
        for task in self.background {
            task.abort();
        }
        info!(self.log, "stopped");
    }
}

/// Waits until the last request is done; new ones find nobody.
async fn drained(http: HttpServer<Arc<App>>, socket: Option<ListeningSocket>) {
    let closing = http.close();
    tokio::pin!(closing);
    // First dropshot takes leave of the socket: otherwise it would log an error.
    if tokio::time::timeout(TAKES_LEAVE_WITHIN, &mut closing).await.is_ok() {
        return;
    }
    if let Some(socket) = socket {
        // It can be closed already, which is as good.
        let _ = socket.close();
    }
    let _ = closing.await;
}
