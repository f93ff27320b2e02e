//! The operators' listener: is the server alive, is it ready, what has it
//! counted. It speaks to whoever reaches it, without a key, and in the clear:
//! it belongs on an address that only operators reach.

use super::App;
use super::exposition::{self, Exposition};
use super::order_counts::LiveOrderCounts;
use crate::log::{LogBuffer, chain};
use dropshot::{
    Body, ConfigDropshot, ErrorStatusCode, HandlerTaskMode, HttpError, HttpResponseOk, HttpServer,
    RequestContext, ServerBuilder,
};
use http::{HeaderValue, Response, header};
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

/// Where the server listens for operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorsListen {
    /// Nowhere.
    Off,
    /// There if the address is free; nobody chose it.
    IfFree(SocketAddr),
    /// There, or the server does not start.
    At(SocketAddr),
}

/// What operators, and the programs that watch for them, may ask.
#[dropshot::api_description]
pub trait OperatorsApi {
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
pub struct Operations {
    app: Arc<App>,
    orders: Arc<LiveOrderCounts>,
    log_buffer: Option<Arc<LogBuffer>>,
    stopping: AtomicBool,
}

impl Operations {
    /// Of a server that is about to listen.
    pub fn new(app: Arc<App>, log_buffer: Option<Arc<LogBuffer>>) -> Operations {
        let orders = Arc::new(LiveOrderCounts::new(Arc::clone(&app.store)));
        Operations { app, orders, log_buffer, stopping: AtomicBool::new(false) }
    }

    /// From now on the server is not ready.
    pub fn stops(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Why requests should not be sent here, if so.
    async fn obstacle(&self) -> Option<String> {
        if self.stopping.load(Ordering::Relaxed) {
            return Some("the server is stopping".to_string());
        }
        let app = Arc::clone(&self.app);
        let asked = tokio::task::spawn_blocking(move || {
            app.store.versions()?;
            app.book.check_writes()
        });
        match tokio::time::timeout(STORE_ANSWERS_WITHIN, asked).await {
            Ok(Ok(Ok(()))) if self.app.ring.is_current() => None,
            Ok(Ok(Ok(()))) => Some("keys cannot be checked".to_string()),
            Ok(Ok(Err(error))) => Some(chain(&error)),
            Ok(Err(_)) => Some("the store panicked".to_string()),
            Err(_) => Some("the store does not answer".to_string()),
        }
    }
}

enum Answers {}

impl OperatorsApi for Answers {
    type Context = Arc<Operations>;

    async fn livez(_: RequestContext<Arc<Operations>>) -> Result<HttpResponseOk<State>, HttpError> {
        Ok(HttpResponseOk(State { state: "live" }))
    }

    async fn readyz(
        context: RequestContext<Arc<Operations>>,
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
        context: RequestContext<Arc<Operations>>,
    ) -> Result<Response<Body>, HttpError> {
        let Operations { app, orders, log_buffer, .. } = &**context.context();
        let orders = orders.get(ORDERS_COUNTED_WITHIN).await;
        let exposition = Exposition { app, log_buffer: log_buffer.as_ref(), orders };
        let text =
            exposition.text().map_err(|error| HttpError::for_internal_error(error.to_string()))?;
        let mut response = Response::new(Body::from(text));
        let kind = HeaderValue::from_static(exposition::CONTENT_TYPE);
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        Ok(response)
    }
}

/// Why the operators' listener was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OperatorsError {
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
    wanted: OperatorsListen,
    operations: &Arc<Operations>,
    log: &Logger,
) -> Result<Option<HttpServer<Arc<Operations>>>, OperatorsError> {
    let address = match wanted {
        OperatorsListen::Off => return Ok(None),
        OperatorsListen::IfFree(address) | OperatorsListen::At(address) => address,
    };
    match listen_at(address, Arc::clone(operations), log) {
        Ok(listener) => {
            info!(log, "listening for operators"; "address" => listener.local_addr().to_string());
            Ok(Some(listener))
        }
        Err(error @ OperatorsError::Listen { .. })
            if matches!(wanted, OperatorsListen::IfFree(_)) =>
        {
            warn!(log, "there is no listener for operators"; "error" => chain(&error));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn listen_at(
    address: SocketAddr,
    operations: Arc<Operations>,
    log: &Logger,
) -> Result<HttpServer<Arc<Operations>>, OperatorsError> {
    let api = operators_api_mod::api_description::<Answers>()
        .map_err(|error| OperatorsError::Trait(error.to_string()))?;
    let config = ConfigDropshot {
        bind_address: address,
        default_handler_task_mode: HandlerTaskMode::CancelOnDisconnect,
        ..ConfigDropshot::default()
    };
    ServerBuilder::new(api, operations, crate::log::for_dropshot(log))
        .config(config)
        .start()
        .map_err(|source| OperatorsError::Listen { address, source })
}
