//! What a request is compared with: bare dropshot, which serves files as they are.

use crate::server::MeasuredServer;
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

/// The path of the files; as many segments as the list's path has.
pub const BASE: &str = "/v1/store/";

/// `bare-dropshot`: the bare endpoint, in a process of its own.
#[derive(Debug, clap::Args)]
pub struct BareDropshotArgs {
    /// Files to serve, each under its name
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// Serves the files with dropshot and nothing else until it is killed: no log,
/// no key, and otherwise set up as the server is.
pub fn serve(arguments: &BareDropshotArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut api = ApiDescription::new();
    for file in &arguments.files {
        let name = file.file_name().context("a file needs a name")?.to_string_lossy().into_owned();
        let body = Bytes::from(std::fs::read(file)?);
        let endpoint = ApiEndpoint::new(
            name.clone(),
            move |_: RequestContext<()>| {
                let body = body.clone();
                async { Ok::<_, HttpError>(answer(body)) }
            },
            Method::GET,
            "application/json",
            &format!("{BASE}{name}"),
            ApiEndpointVersions::All,
        );
        api.register(endpoint)?;
    }
    let config = ConfigDropshot {
        default_handler_task_mode: HandlerTaskMode::CancelOnDisconnect,
        ..ConfigDropshot::default()
    };
    let nothing = slog::Logger::root(slog::Discard, slog::o!());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = ServerBuilder::new(api, (), nothing)
            .config(config)
            .start()
            .context("the bare endpoint cannot be started")?;
        writeln!(out, "listening on http://{}", server.local_addr())?;
        out.flush()?;
        server.await.map_err(anyhow::Error::msg)
    })
}

fn answer(body: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::wrap(http_body_util::Full::new(body)));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Starts it; its log goes below `prefix`.
pub fn start(prefix: &Path, files: &[PathBuf]) -> anyhow::Result<MeasuredServer> {
    let mut command = Command::new(std::env::current_exe()?);
    MeasuredServer::start(command.arg("bare-dropshot").args(files), &prefix.join("dropshot.log"))
}
