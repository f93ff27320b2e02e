//! What a request is compared with: bare dropshot and nginx, each serving files as
//! they are.

use crate::machine::Side;
use crate::server::MeasuredServer;
use anyhow::{Context, bail};
use bytes::Bytes;
use dropshot::{
    ApiDescription, ApiEndpoint, ApiEndpointVersions, Body, ConfigDropshot, HandlerTaskMode,
    HttpError, RequestContext, ServerBuilder,
};
use http::{HeaderValue, Method, Response, header};
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testbed::{ChildProcess, free_address, nginx_program};

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

/// Starts bare dropshot; its log goes below `prefix`.
pub fn start_dropshot(prefix: &Path, files: &[PathBuf]) -> anyhow::Result<MeasuredServer> {
    let mut command = Command::new(std::env::current_exe()?);
    MeasuredServer::start(command.arg("bare-dropshot").args(files), &prefix.join("dropshot.log"))
}

/// One process, no log, `sendfile`, descriptors kept open: as little work a
/// request as nginx can do. Connections are not closed after some requests.
fn nginx_configuration(prefix: &Path, port: u16) -> String {
    let prefix = prefix.display();
    format!(
        "daemon off; master_process off; worker_processes 1; pid {prefix}/nginx.pid;
error_log stderr error;
events {{ worker_connections 512; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 4294967295;
  open_file_cache max=100; default_type application/json;
  client_body_temp_path {prefix}/t1; proxy_temp_path {prefix}/t2; fastcgi_temp_path {prefix}/t3;
  uwsgi_temp_path {prefix}/t4; scgi_temp_path {prefix}/t5;
  server {{ listen 127.0.0.1:{port}; location {BASE} {{ alias {prefix}/files/; }} }}
}}
"
    )
}

/// Starts nginx on the served side's core; `prefix` is an empty directory.
pub fn start_nginx(prefix: &Path, files: &[PathBuf]) -> anyhow::Result<MeasuredServer> {
    let program = nginx_program().context("nginx is not installed: apt-get install nginx-light")?;
    let served = prefix.join("files");
    std::fs::create_dir_all(&served)?;
    for file in files {
        let name = file.file_name().context("a file needs a name")?;
        std::fs::hard_link(file, served.join(name))?;
    }
    let address = free_address()?;
    let configuration = prefix.join("nginx.conf");
    std::fs::write(&configuration, nginx_configuration(prefix, address.port()))?;
    let mut command = Command::new(program);
    command.arg("-p").arg(prefix).arg("-c").arg(&configuration).args(["-e", "stderr"]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let begun = Instant::now();
    let child = Side::Served.run(|| command.spawn().context("cannot start nginx"))?;
    let process = ChildProcess::new(child, "nginx");
    while TcpStream::connect(address).is_err() {
        if begun.elapsed() > Duration::from_secs(10) {
            bail!("nginx did not listen on {address} within ten seconds");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(MeasuredServer::silent(process, address))
}
