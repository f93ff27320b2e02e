//! The admin listener: liveness, readiness and metrics. It needs no key and does
//! not encrypt: it belongs on an address that only operators reach.

mod order_counts;
mod prometheus;

use crate::config::AdminListen;
use crate::context::ServerContext;
use crate::log::{LogBuffer, chain};
use dropshot::{
    Body, ConfigDropshot, ErrorStatusCode, HandlerTaskMode, HttpError, HttpResponseOk, HttpServer,
    RequestContext, ServerBuilder,
};
use http::{HeaderValue, Response, header};
use order_counts::LiveOrderCounts;
use prometheus::Exposition;
use schemars::JsonSchema;
use serde::Serialize;
use slog::{Logger, info, warn};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long the store may take to say that it works.
const STORE_ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// How long a scrape waits for the orders to be counted.
const ORDERS_COUNTED_WITHIN: Duration = Duration::from_secs(2);

/// What operators, and the programs that watch for them, may ask.
#[dropshot::api_description]
pub trait AdminApi {
    /// What the answers are made of.
    type Context;

    /// Whether the process answers
    ///
    /// Always 200: whoever gets no answer should start the server anew.
    #[endpoint { method = GET, path = "/livez" }]
    async fn livez(
        context: RequestContext<Self::Context>,
    ) -> Result<HttpResponseOk<State>, HttpError>;

    /// Whether requests should be sent here
    ///
    /// 503 while the server stops, and while its store cannot be read or written.
    #[endpoint { method = GET, path = "/readyz" }]
    async fn readyz(
        context: RequestContext<Self::Context>,
    ) -> Result<HttpResponseOk<State>, HttpError>;

    /// What the server has counted, in the text format of OpenMetrics
    #[endpoint { method = GET, path = "/metrics" }]
    async fn metrics(context: RequestContext<Self::Context>) -> Result<Response<Body>, HttpError>;
}

/// How the server is.
#[derive(Serialize, JsonSchema)]
pub struct State {
    /// `live` or `ready`.
    state: &'static str,
}

/// What the operators' listener knows of the server.
pub struct AdminContext {
    server: Arc<ServerContext>,
    orders: Arc<LiveOrderCounts>,
    log_buffer: Option<Arc<LogBuffer>>,
    stopping: AtomicBool,
}

impl AdminContext {
    /// Of a server that is about to listen.
    pub fn new(server: Arc<ServerContext>, log_buffer: Option<Arc<LogBuffer>>) -> AdminContext {
        let orders = Arc::new(LiveOrderCounts::new(Arc::clone(&server.store)));
        AdminContext { server, orders, log_buffer, stopping: AtomicBool::new(false) }
    }

    /// From now on the server is not ready.
    pub fn begin_stopping(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Why requests should not be sent here, if so.
    async fn obstacle(&self) -> Option<String> {
        if self.stopping.load(Ordering::Relaxed) {
            return Some("the server is stopping".to_string());
        }
        let server = Arc::clone(&self.server);
        let asked = tokio::task::spawn_blocking(move || {
            server.store.versions()?;
            server.orders.check_writes()
        });
        match tokio::time::timeout(STORE_ANSWERS_WITHIN, asked).await {
            Ok(Ok(Ok(()))) if self.server.keys.is_current() => None,
            Ok(Ok(Ok(()))) => Some("keys cannot be checked".to_string()),
            Ok(Ok(Err(error))) => Some(chain(&error)),
            Ok(Err(_)) => Some("the store panicked".to_string()),
            Err(_) => Some("the store does not answer".to_string()),
        }
    }
}

enum Answers {}

impl AdminApi for Answers {
    type Context = Arc<AdminContext>;

    async fn livez(
        _: RequestContext<Arc<AdminContext>>,
    ) -> Result<HttpResponseOk<State>, HttpError> {
        Ok(HttpResponseOk(State { state: "live" }))
    }

    async fn readyz(
        context: RequestContext<Arc<AdminContext>>,
    ) -> Result<HttpResponseOk<State>, HttpError> {
        match context.context().obstacle().await {
            None => Ok(HttpResponseOk(State { state: "ready" })),
            Some(obstacle) => Err(HttpError {
                status_code: ErrorStatusCode::SERVICE_UNAVAILABLE,
                error_code: None,
                internal_message: obstacle.clone(),
                external_message: obstacle,
                headers: None,
            }),
        }
    }

    async fn metrics(
        context: RequestContext<Arc<AdminContext>>,
    ) -> Result<Response<Body>, HttpError> {
        let AdminContext { server, orders, log_buffer, .. } = &**context.context();
        let orders = orders.get(ORDERS_COUNTED_WITHIN).await;
        let exposition = Exposition { server, log_buffer: log_buffer.as_ref(), orders };
        let text =
            exposition.text().map_err(|error| HttpError::for_internal_error(error.to_string()))?;
        let mut response = Response::new(Body::from(text));
        let kind = HeaderValue::from_static(prometheus::CONTENT_TYPE);
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        Ok(response)
    }
}

/// Why the operators' listener was not opened.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// Dropshot refuses the trait.
    #[error("dropshot refuses the operators' API trait: {0}")]
    Trait(String),
    /// The address could not be listened on.
    #[error("cannot listen on {address} for operators")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What dropshot says.
        source: dropshot::BuildError,
    },
}

/// Opens the listener, if there is to be one. That an address is taken which
/// nobody chose is no reason not to serve.
pub fn listen(
    wanted: AdminListen,
    operations: &Arc<AdminContext>,
    log: &Logger,
) -> Result<Option<HttpServer<Arc<AdminContext>>>, AdminError> {
    let address = match wanted {
        AdminListen::Off => return Ok(None),
        AdminListen::IfFree(address) | AdminListen::At(address) => address,
    };
    match listen_at(address, Arc::clone(operations), log) {
        Ok(listener) => {
            info!(log, "listening for operators"; "address" => listener.local_addr().to_string());
            Ok(Some(listener))
        }
        Err(error @ AdminError::Listen { .. }) if matches!(wanted, AdminListen::IfFree(_)) => {
            warn!(log, "there is no listener for operators"; "error" => chain(&error));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn listen_at(
    address: SocketAddr,
    operations: Arc<AdminContext>,
    log: &Logger,
) -> Result<HttpServer<Arc<AdminContext>>, AdminError> {
    let api = admin_api_mod::api_description::<Answers>()
        .map_err(|error| AdminError::Trait(error.to_string()))?;
    let config = ConfigDropshot {
        bind_address: address,
        default_handler_task_mode: HandlerTaskMode::CancelOnDisconnect,
        ..ConfigDropshot::default()
    };
    ServerBuilder::new(api, operations, crate::log::for_dropshot(log))
        .config(config)
        .start()
        .map_err(|source| AdminError::Listen { address, source })
}
