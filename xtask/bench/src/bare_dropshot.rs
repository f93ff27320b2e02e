//! Serves a fixed body with bare dropshot in a separate process, as a baseline for the throughput
//! of store-orders.

use crate::machine::on_served_core;
use anyhow::Context;
use bytes::Bytes;
use dropshot::{
    ApiDescription, ApiEndpoint, ApiEndpointVersions, Body, ConfigDropshot, HandlerTaskMode,
    HttpError, RequestContext, ServerBuilder,
};
use http::{HeaderValue, Method, Response, header};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use testbed::ServerProcess;

/// This path has as many segments as the list's path, so that routing takes equally long.
pub const PATH: &str = "/v1/store/body";

/// Starts a process that responds to each request with `body`. The body and the process's log are
/// files in `directory`.
pub fn start(directory: &Path, body: &[u8]) -> anyhow::Result<ServerProcess> {
    let file = directory.join("body");
    std::fs::write(&file, body)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--bare-dropshot").arg(file);
    on_served_core(|| ServerProcess::start(&mut command, &directory.join("dropshot.log")))
}

/// Serves the content of `file` until the process is killed. Uses the same kind of runtime and the
/// same task mode of dropshot as the server. Unlike the server, logs no requests and checks no
/// keys.
pub fn serve(file: &PathBuf, out: &mut dyn Write) -> anyhow::Result<()> {
    let body = Bytes::from(std::fs::read(file)?);
    let mut api = ApiDescription::new();
    api.register(ApiEndpoint::new(
        "body".to_string(),
        move |_: RequestContext<()>| {
            let body = body.clone();
            async { Ok::<_, HttpError>(answer(body)) }
        },
        Method::GET,
        "application/json",
        PATH,
        ApiEndpointVersions::All,
    ))?;
    let config = ConfigDropshot {
        default_handler_task_mode: HandlerTaskMode::CancelOnDisconnect,
        ..ConfigDropshot::default()
    };
    let log = slog::Logger::root(slog::Discard, slog::o!());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = ServerBuilder::new(api, (), log).config(config).start();
        let server = server.context("bare dropshot cannot be started")?;
        writeln!(out, "listening on http://{}", server.local_addr())?;
        out.flush()?;
        server.await.map_err(anyhow::Error::msg)
    })
}

fn answer(body: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::wrap(http_body_util::Full::new(body)));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
