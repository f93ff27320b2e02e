//! Assembles the parts of the server, starts the server, drains requests, and stops the server.

mod ban_recorder;
mod listener;
mod tls;

pub use listener::open_connections;
pub use tls::{ReloadableCertificate, TlsFiles};

use crate::admin::{self, AdminContext, GaugeReader};
use crate::blocking::run;
use crate::clock::Clock;
use crate::config::{ListenError, ServerConfig};
use crate::context::ServerContext;
use crate::damage_check::DamageCheck;
use crate::http::{Docs, InnerRouter, Middleware, TrustedProxies, served_documents};
use crate::key_cache::{KeyCache, KeyRefresh};
use crate::log::{LogBuffer, RequestLog};
use crate::metrics::Metrics;
use crate::orders::{OrderList, RunningBatch};
use crate::rate_limiter::RateLimiter;
use crate::store::{ROW_LOOKUPS, Store};
use anyhow::Context;
use ban_recorder::BanRecorder;
use dropshot::{ConfigDropshot, ConfigTls, HandlerTaskMode, HttpServer, ServerBuilder};
use listener::ListeningSocket;
use slog::{Logger, info, warn};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use store_orders_api::BASE_PATH;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

/// The maximum wait for dropshot's accept loop to exit. The listening socket is closed only after
/// this wait. If the socket were closed while the loop runs, the loop would log an error.
const ACCEPT_LOOP_EXIT_TIMEOUT: Duration = Duration::from_millis(10);

/// The last part of the stop delay. In this part, the server ignores new SYN packets, but serves
/// clients whose handshake has begun.
///
/// An ignored client repeats its SYN after a second. The socket is closed by then, so the client is
/// refused immediately.
const LAST_REQUESTS_TIME: Duration = Duration::from_millis(500);

/// The maximum time for closing the admin listener, once the API's listener is closed.
const ADMIN_CLOSE_TIMEOUT: Duration = Duration::from_millis(200);

pub struct Dependencies {
    pub store: Arc<dyn Store>,
    pub rate_limiter: Arc<dyn RateLimiter>,
    pub clock: Arc<dyn Clock>,
    pub log: Logger,
    /// Receives the log's request lines. `None` in tests without a log.
    pub log_buffer: Option<Arc<LogBuffer>>,
}

pub struct Server {
    http: HttpServer<Arc<ServerContext>>,
    /// The socket of the API's listener. `None` if it was not found, as on systems without /proc.
    socket: Option<ListeningSocket>,
    admin: Option<HttpServer<Arc<AdminContext>>>,
    certificate: Option<Arc<ReloadableCertificate>>,
    /// The background tasks, which are aborted when this set is dropped.
    background: JoinSet<()>,
    ban_recorder: BanRecorder,
    _key_refresh: KeyRefresh,
    log: Logger,
    stop_delay: Duration,
    drain_timeout: Duration,
    last_bans_timeout: Duration,
}

impl Server {
    pub async fn start(config: &ServerConfig, parts: Dependencies) -> anyhow::Result<Server> {
        let (log, log_buffer) = (parts.log.clone(), parts.log_buffer.clone());
        let certificate = match TlsFiles::from_config(config) {
            Some(files) => Some(Arc::new(run(|| ReloadableCertificate::open(files)).await?)),
            None => None,
        };
        let router = InnerRouter::new()?;
        let context = Arc::new(open(config, parts, &router).await?);
        let docs = served_documents(&config.document, config.environment)
            .and_then(|documents| Docs::new(&documents))
            .context("the API document cannot be emitted")?;
        let proxies = TrustedProxies::new(config.trusted_proxies.clone());
        let api = Middleware::new(router, docs, proxies).into_api()?;
        let tls = certificate.as_ref().map(ReloadableCertificate::server_config).transpose();
        let tls = tls.context("TLS cannot be set up")?;
        let address = config.listen.resolve("--listen")?;
        let dropshot = ConfigDropshot {
            bind_address: address,
            // In this mode, dropshot drops a handler if the client disconnects. That is safe,
            // because the writer completes a cancellation without the handler.
            default_handler_task_mode: HandlerTaskMode::CancelOnDisconnect,
            ..ConfigDropshot::default()
        };
        let http = ServerBuilder::new(api, Arc::clone(&context), crate::log::for_dropshot(&log))
            .config(dropshot)
            .tls(tls.map(ConfigTls::Dynamic))
            .start()
            .map_err(|error| ListenError::new(address, "--listen", &error))?;
        // Find the socket before more files are opened, because the search inspects every open file
        // of the process.
        let socket = ListeningSocket::find_and_configure(
            http.local_addr(),
            config.client_stall_timeout,
            &log,
        );
        let mut background = JoinSet::new();
        if let Some(live) = &certificate {
            background.spawn(Arc::clone(live).keep_current(log.clone()));
        }
        background.spawn(Arc::clone(&context.orders).keep_following());
        let keys = || Arc::clone(&context.keys);
        background.spawn(keys().keep_looking_up());
        background.spawn(keys().keep_recording_uses(log.clone()));
        let key_refresh = keys().keep_current(log.clone());
        let key_refresh =
            key_refresh.context("the thread that refreshes keys cannot be started")?;
        let (ban_sender, bans) = mpsc::unbounded_channel();
        context.rate_limiter.bans().send_to(Some(ban_sender));
        let ban_recorder = BanRecorder::start(Arc::clone(&context.store), bans, log.clone());
        let address = http.local_addr();
        let open = move || open_connections(address).map_or(f64::NAN, |open| open as f64);
        // If the socket was found in /proc, connections can be counted there too.
        let open = socket.is_some().then(|| Box::new(open) as GaugeReader);
        let live = certificate.clone();
        let ends_at = live.map(|live| Box::new(move || live.ends_at()) as GaugeReader);
        let admin_context = AdminContext::new(context, log_buffer, open, ends_at)?;
        let admin_context = Arc::new(admin_context);
        let admin = admin::listen(&config.admin_listen, &admin_context, &log)?;
        let server = Server {
            http,
            socket,
            admin,
            certificate,
            background,
            ban_recorder,
            _key_refresh: key_refresh,
            log,
            stop_delay: config.stop_delay,
            drain_timeout: config.drain_timeout(),
            last_bans_timeout: config.last_bans_timeout(),
        };
        server.log_start(config);
        Ok(server)
    }

    fn log_start(&self, config: &ServerConfig) {
        info!(self.log, "listening"; "url" => self.url(),
            "environment" => config.environment.as_str());
        let address = self.address();
        let is_plain = self.certificate.is_none() && !address.ip().to_canonical().is_loopback();
        if is_plain && config.trusted_proxies.is_empty() {
            warn!(self.log, "keys travel unencrypted";
                "address" => address.to_string(),
                "fix" => "set tls_cert and tls_key, listen on a loopback address, or name the \
                    proxy that terminates TLS as a trusted proxy");
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.http.local_addr()
    }

    pub fn url(&self) -> String {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}{BASE_PATH}", self.address())
    }

    /// `None` if the admin listener is turned off.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(HttpServer::local_addr)
    }

    /// `None` if the server does not use TLS.
    pub fn certificate(&self) -> Option<&ReloadableCertificate> {
        self.certificate.as_deref()
    }

    pub fn running_batch(&self) -> &RunningBatch {
        self.http.app_private().orders.running_batch()
    }

    /// Stops the server in these steps:
    ///
    /// 1. The server keeps serving for the stop delay. In the last part of the delay, at most
    ///    [`LAST_REQUESTS_TIME`], the server ignores new connections.
    /// 2. The server refuses new connections and waits for running requests, at most for the drain
    ///    timeout.
    /// 3. The server stores the last bans.
    ///
    /// From step 1 on, `/readyz` responds with 503, and responses over HTTP/1.1 close their
    /// connections. HTTP/2 clients get GOAWAY only in step 2, when dropshot stops accepting
    /// connections.
    pub async fn stop(self) {
        info!(self.log, "stopping");
        let context = Arc::clone(self.http.app_private());
        context.is_stopping.store(true, Ordering::Relaxed);
        context.damage_check.stop();
        let last_requests_time = self.stop_delay.min(LAST_REQUESTS_TIME);
        tokio::time::sleep(self.stop_delay.saturating_sub(last_requests_time)).await;
        if let Some(socket) = self.socket.as_ref().filter(|_| !last_requests_time.is_zero()) {
            socket.ignore_new_connections(&self.log);
        }
        tokio::time::sleep(last_requests_time).await;
        let bans_deadline = Instant::now() + self.last_bans_timeout;
        if tokio::time::timeout(self.drain_timeout, drain(self.http, self.socket)).await.is_err() {
            warn!(self.log, "requests under way did not finish in time";
                "seconds" => self.drain_timeout.as_secs_f64());
        }
        let close_admin = async {
            if let Some(admin) = self.admin {
                // `close` waits for running requests, such as a slow scrape, so a timeout is
                // normal.
                let _ = tokio::time::timeout(ADMIN_CLOSE_TIMEOUT, admin.close()).await;
            }
        };
        // `send_to(None)` drops the sender of new bans. So the recorder ends after it has written
        // the last bans.
        context.rate_limiter.bans().send_to(None);
        tokio::join!(close_admin, self.ban_recorder.finish(bans_deadline));
        drop(self.background);
    }
}

async fn open(
    config: &ServerConfig,
    parts: Dependencies,
    router: &InnerRouter,
) -> anyhow::Result<ServerContext> {
    let Dependencies { store, rate_limiter, clock, log, log_buffer } = parts;
    let metrics = Metrics::new(router.route_names().map(ToString::to_string).collect())?;
    let outdated_bytes = config.outdated_lists_bytes();
    let batches = metrics.batches.clone();
    let orders = OrderList::open(Arc::clone(&store), batches, outdated_bytes, &log).await;
    let orders = orders.context("the orders cannot be read")?;
    // Start the damage check after the orders are read. If reading the orders finds damage, no
    // check is needed.
    let damage_check = DamageCheck::start(Arc::clone(&store), config.serve_damaged, &log);
    // Open the key cache last, because it refuses all keys if its last query is more than a second
    // old. Opening the other parts may take longer than a second.
    let keys = KeyCache::open(Arc::clone(&store)).await.context("the keys cannot be read")?;
    Ok(ServerContext {
        keys: Arc::new(keys),
        orders: Arc::new(orders),
        store,
        row_lookups: Arc::new(Semaphore::new(ROW_LOOKUPS as usize)),
        damage_check,
        rate_limiter,
        clock,
        environment: config.environment,
        metrics,
        request_log: RequestLog::new(log_buffer, &log),
        is_stopping: AtomicBool::new(false),
        log,
    })
}

/// Refuses new connections, and waits until all requests are answered.
async fn drain(http: HttpServer<Arc<ServerContext>>, socket: Option<ListeningSocket>) {
    let closing = http.close();
    tokio::pin!(closing);
    // Give the accept loop time to exit, because it logs an error if its socket is closed first.
    if tokio::time::timeout(ACCEPT_LOOP_EXIT_TIMEOUT, &mut closing).await.is_ok() {
        return;
    }
    if let Some(socket) = socket {
        // Ignore an error, because it means that the socket is already closed.
        let _ = socket.close();
    }
    let _ = closing.await;
}
