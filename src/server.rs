//! The server as a whole: assembled, started, drained, stopped.

use crate::clock::Clock;
use crate::front_door::{self, TrustedProxies};
use crate::keys::{Environment, LiveRing};
use crate::limits::Limits;
use crate::orders::{OpenError, OrderBook};
use crate::store::{Store, StoreError};
use bytes::Bytes;
use dropshot::{ConfigDropshot, HandlerTaskMode, HttpServer, ServerBuilder};
use slog::{Logger, info};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use store_orders_api::document::{self, DocumentError};
use tokio::task::JoinHandle;

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
}

/// The state of a running server, as the front door and the handlers reach it.
pub struct App {
    /// The list and the writer of cancellations.
    pub book: OrderBook,
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
    /// The emitted document.
    pub document: Bytes,
    /// Where lines go.
    pub log: Logger,
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
    background: Vec<JoinHandle<()>>,
    log: Logger,
    drain: Duration,
}

impl Server {
    /// Reads the store and starts to listen. Blocks while it reads; needs a
    /// tokio runtime around it.
    pub fn start(config: &ServerConfig, parts: Parts) -> Result<Server, StartError> {
        let Parts { store, limits, clock, log } = parts;
        let ring = Arc::new(LiveRing::open(Arc::clone(&store))?);
        let app = Arc::new(App {
            book: OrderBook::open(Arc::clone(&store), &log)?,
            store,
            ring: Arc::clone(&ring),
            limits,
            clock,
            environment: config.environment,
            proxies: config.proxies.clone(),
            document: Bytes::from(document::emitted_text()?),
            log: log.clone(),
        });
        let dropshot = ConfigDropshot {
            bind_address: config.listen,
            // The writer, not the handler, owns a cancellation, so a handler may
            // be dropped; it saves a task for each request.
            default_handler_task_mode: HandlerTaskMode::CancelOnDisconnect,
            ..ConfigDropshot::default()
        };
        let http = ServerBuilder::new(front_door::build()?, app, crate::log::for_dropshot(&log))
            .config(dropshot)
            .start()
            .map_err(|source| StartError::Listen { address: config.listen, source })?;
        let background = vec![tokio::spawn(ring.keep_current(log.clone()))];
        info!(log, "listening"; "address" => http.local_addr().to_string(),
            "environment" => config.environment.name());
        Ok(Server { http, background, log, drain: config.drain })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.http.local_addr()
    }

    /// Stops accepting, lets requests under way finish for as long as was
    /// configured, and returns.
    pub async fn stop(self) {
        info!(self.log, "stopping");
        if tokio::time::timeout(self.drain, self.http.close()).await.is_err() {
            slog::warn!(self.log, "requests under way did not finish in time";
                "seconds" => self.drain.as_secs());
        }
        for task in self.background {
            task.abort();
        }
        info!(self.log, "stopped");
    }
}
