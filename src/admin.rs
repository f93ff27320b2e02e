//! The admin listener: liveness, readiness and metrics. It takes no key and does
//! not encrypt, so it belongs on an address that only operators reach.

mod computed_gauge;
mod exposition;
mod orders_gauge;
#[cfg(target_os = "linux")]
mod process_metrics;
mod prometheus;

pub use computed_gauge::Figure;

use crate::blocking::run_with;
use crate::config::{AdminListen, ListenError};
use crate::context::ServerContext;
use crate::log::{ErrorChain, LogBuffer};
use dropshot::{
    ApiDescription, ApiDescriptionRegisterError, ApiEndpoint, ApiEndpointVersions, Body,
    ConfigDropshot, ErrorStatusCode, HandlerTaskMode, HttpError, HttpResponseOk, HttpServer,
    RequestContext, ServerBuilder,
};
use exposition::Format;
use http::{HeaderValue, Method, Response, header};
use prometheus::registry;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use schemars::JsonSchema;
use serde::Serialize;
use slog::{Logger, info, warn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;

/// A store that takes longer is not ready.
const STORE_CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// The state of the server.
#[derive(Serialize, JsonSchema)]
pub struct State {
    /// `live` or `ready`.
    state: &'static str,
    /// The damage to the store that was found, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    damaged: Option<String>,
}

/// The state of the admin listener.
pub struct AdminContext {
    server: Arc<ServerContext>,
    metrics: Registry,
    is_stopping: AtomicBool,
    /// Held while the store is checked, and while metrics are encoded: of each there is one
    /// at a time.
    checking: Arc<Mutex<()>>,
    encoding: Arc<Mutex<()>>,
}

impl AdminContext {
    /// The state of a server that listens; without a log buffer nothing is logged.
    pub fn new(
        server: Arc<ServerContext>,
        log_buffer: Option<Arc<LogBuffer>>,
        open_connections: Option<Figure>,
        certificate_ends_at: Option<Figure>,
    ) -> AdminContext {
        let log_buffer = log_buffer.as_deref();
        let metrics = registry(&server, log_buffer, open_connections, certificate_ends_at);
        let (is_stopping, checking, encoding) = Default::default();
        AdminContext { server, metrics, is_stopping, checking, encoding }
    }

    /// From now on the server is not ready.
    pub fn begin_stopping(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// `Err` says why the server is not ready.
    async fn readiness(&self) -> Result<(), String> {
        if self.is_stopping.load(Ordering::Relaxed) {
            return Err("the server is stopping".to_string());
        }
        if let Some(damage) = self.server.store_check.refuses() {
            return Err(format!("the store is damaged: {damage}"));
        }
        if let Some(reason) = self.server.limits.unavailable_because() {
            return Err(format!("requests cannot be counted: {reason}"));
        }
        let server = Arc::clone(&self.server);
        let check = move || {
            let reason = |error: &dyn std::error::Error| ErrorChain(error).to_string();
            server.store.check_ready().map_err(|error| reason(&error))?;
            let stored = server.store.poll_versions().map_err(|error| reason(&error))?;
            if stored.versions.generation != server.orders.version().generation {
                server.orders.begin_refresh();
                return Err("the list is being read again".to_string());
            }
            server.orders.check_writes().map_err(|error| reason(&error))
        };
        let checked = async {
            let checking = Arc::clone(&self.checking).lock_owned().await;
            run_with(checking, check).await
        };
        match tokio::time::timeout(STORE_CHECK_TIMEOUT, checked).await {
            Ok(Ok(Ok(()))) if self.server.keys.is_current() => Ok(()),
            Ok(Ok(Ok(()))) => Err("keys cannot be checked".to_string()),
            Ok(Ok(Err(reason))) => Err(reason),
            Ok(Err(_)) => Err("the store panicked".to_string()),
            Err(_) => Err("the store does not answer".to_string()),
        }
    }
}

type Request = RequestContext<Arc<AdminContext>>;

/// Whether the process answers: always 200. Without a response, restart the server.
async fn livez(_: Request) -> Result<HttpResponseOk<State>, HttpError> {
    Ok(HttpResponseOk(State { state: "live", damaged: None }))
}

/// Whether requests should be sent here: 503 while the server stops, while its store cannot be read
/// or written, and while requests are refused because they cannot be counted. The body tells of a
/// damaged store, which is 503 unless the operator has it served all the same.
async fn readyz(context: Request) -> Result<HttpResponseOk<State>, HttpError> {
    match context.context().readiness().await {
        Ok(()) => {
            let server = &context.context().server;
            let damaged = server.store_check.damage().map(str::to_string);
            Ok(HttpResponseOk(State { state: "ready", damaged }))
        }
        Err(reason) => Err(HttpError {
            status_code: ErrorStatusCode::SERVICE_UNAVAILABLE,
            error_code: None,
            internal_message: reason.clone(),
            external_message: reason,
            headers: None,
        }),
    }
}

/// The metrics, as OpenMetrics or in the text format 0.0.4 of Prometheus.
async fn metrics(context: Request) -> Result<Response<Body>, HttpError> {
    let format = Format::accepted(context.request.headers());
    let admin = Arc::clone(context.context());
    // It counts open files and connections.
    let encoding = Arc::clone(&admin.encoding).lock_owned().await;
    let encode = move || {
        let mut text = String::new();
        encode(&mut text, &admin.metrics).map(|()| text)
    };
    let text = run_with(encoding, encode)
        .await
        .map_err(|error| HttpError::for_internal_error(error.to_string()))?
        .map_err(|error| HttpError::for_internal_error(error.to_string()))?;
    let mut response = Response::new(Body::from(format.of(text)));
    let content_type = HeaderValue::from_static(format.content_type());
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

fn api() -> Result<ApiDescription<Arc<AdminContext>>, ApiDescriptionRegisterError> {
    let (json, all) = ("application/json", || ApiEndpointVersions::All);
    let mut api = ApiDescription::new();
    for method in [Method::GET, Method::HEAD] {
        let [live, ready] = ["livez", "readyz"].map(|name| format!("{name}_{method}"));
        api.register(ApiEndpoint::new(live, livez, method.clone(), json, "/livez", all()))?;
        api.register(ApiEndpoint::new(ready, readyz, method, json, "/readyz", all()))?;
    }
    let name = "metrics".to_string();
    api.register(ApiEndpoint::new(name, metrics, Method::GET, json, "/metrics", all()))?;
    Ok(api)
}

/// Opens the listener, if the settings ask for one.
pub fn listen(
    wanted: &AdminListen,
    context: &Arc<AdminContext>,
    log: &Logger,
) -> anyhow::Result<Option<HttpServer<Arc<AdminContext>>>> {
    let Some(address) = wanted.resolve()? else { return Ok(None) };
    let config = ConfigDropshot {
        bind_address: address,
        default_handler_task_mode: HandlerTaskMode::CancelOnDisconnect,
        ..ConfigDropshot::default()
    };
    let listener = ServerBuilder::new(api()?, Arc::clone(context), crate::log::for_dropshot(log))
        .config(config)
        .start()
        .map_err(|error| ListenError::new(address, "--admin-listen", &error))?;
    let address = listener.local_addr();
    info!(log, "admin listener opened"; "address" => %address);
    if !address.ip().is_loopback() {
        warn!(log, "other machines can reach the admin listener, which takes no key";
            "address" => %address, "fix" => "keep this port off public networks");
    }
    Ok(Some(listener))
}
