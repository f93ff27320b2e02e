//! The admin listener: liveness, readiness and metrics. It requires no key and does not encrypt, so
//! bind it to an address that only operators can reach.

#[cfg(target_os = "linux")]
mod process_metrics;
mod prometheus;
mod readiness;

pub use prometheus::GaugeReader;

use crate::blocking::spawn_blocking_with_permit;
use crate::config::{AdminListen, ListenError};
use crate::context::ServerContext;
use crate::log::LogBuffer;
use ::prometheus::TextEncoder;
use dropshot::{
    ApiDescription, ApiDescriptionRegisterError, ApiEndpoint, ApiEndpointVersions, Body,
    ConfigDropshot, HandlerTaskMode, HttpError, HttpServer, RequestContext, ServerBuilder,
};
use http::{HeaderValue, Method, Response, StatusCode, header};
use readiness::{Readiness, Unready};
use serde::Serialize;
use slog::{Logger, info, warn};
use std::sync::Arc;
use store_orders_api::operation::json_response;
use tokio::sync::Mutex;

#[derive(Serialize)]
struct AdminState<'a> {
    /// `live`, `ready` or `unready`.
    state: &'static str,
    /// The name of the [`readiness::Reason`]. Absent unless the server is unready.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    /// Describes the damage found in the store. If `serve_damaged` is on, the server may still be
    /// ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    damaged: Option<&'a str>,
}

pub struct AdminContext {
    server: Arc<ServerContext>,
    readiness: Readiness,
    /// Locked while metrics are encoded, so that frequent scrapes do not occupy many blocking
    /// threads.
    encoding: Arc<Mutex<()>>,
}

impl AdminContext {
    /// Registers the metrics that are computed at each scrape. `prometheus::register` describes the
    /// parameters.
    pub fn new(
        server: Arc<ServerContext>,
        log_buffer: Option<Arc<LogBuffer>>,
        open_connections: Option<GaugeReader>,
        certificate_ends_at: Option<GaugeReader>,
    ) -> ::prometheus::Result<AdminContext> {
        let log_buffer = log_buffer.as_deref();
        prometheus::register(&server, log_buffer, open_connections, certificate_ends_at)?;
        let readiness = Readiness::new(Arc::clone(&server))?;
        Ok(AdminContext { server, readiness, encoding: Arc::default() })
    }
}

type AdminRequest = RequestContext<Arc<AdminContext>>;

/// Always responds with 200. So if there is no response, the server hangs and must be restarted.
async fn livez(_: AdminRequest) -> Result<Response<Body>, HttpError> {
    let live = AdminState { state: "live", reason: None, message: None, damaged: None };
    answer(StatusCode::OK, &live)
}

/// Responds with 503 if requests should not be sent to this server. Damage in the store causes a
/// 503 only if `serve_damaged` is off.
async fn readyz(context: AdminRequest) -> Result<Response<Body>, HttpError> {
    let admin = context.context();
    let unready = admin.readiness.unready().await;
    let (status, state) = match &unready {
        None => (StatusCode::OK, "ready"),
        Some(_) => (StatusCode::SERVICE_UNAVAILABLE, "unready"),
    };
    let reason = unready.as_ref().map(|unready| unready.reason.as_str());
    let message = unready.as_ref().map(|Unready { message, .. }| message.as_str());
    let damaged = admin.server.damage_check.damage();
    answer(status, &AdminState { state, reason, message, damaged })
}

fn answer(status: StatusCode, state: &AdminState<'_>) -> Result<Response<Body>, HttpError> {
    let response = json_response(status, state);
    response.map_err(|error| HttpError::for_internal_error(error.to_string()))
}

/// Returns the metrics in the text format of Prometheus, whatever `Accept` says.
async fn metrics(context: AdminRequest) -> Result<Response<Body>, HttpError> {
    let admin = Arc::clone(context.context());
    admin.readiness.observe().await;
    let encoding = Arc::clone(&admin.encoding).lock_owned().await;
    let registry = admin.server.metrics.registry.clone();
    let encode = move || TextEncoder::new().encode_to_string(&registry.gather());
    let text = spawn_blocking_with_permit(encoding, encode)
        .await
        .map_err(|error| HttpError::for_internal_error(error.to_string()))?
        .map_err(|error| HttpError::for_internal_error(error.to_string()))?;
    let mut response = Response::new(Body::from(text));
    let content_type = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
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

pub fn listen(
    setting: &AdminListen,
    context: &Arc<AdminContext>,
    log: &Logger,
) -> anyhow::Result<Option<HttpServer<Arc<AdminContext>>>> {
    let Some(address) = setting.resolve()? else { return Ok(None) };
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
