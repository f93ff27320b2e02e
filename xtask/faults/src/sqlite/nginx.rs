//! nginx with the configuration that `nginx-conf` prints.

use anyhow::{Context, bail};
use reqwest::Client;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use testbed::{ChildProcess, Program, free_address, wait_blocking};

/// nginx with the printed configuration: its paths and addresses are replaced, and
/// nothing else.
pub struct Nginx {
    /// Where it listens for TLS.
    pub address: SocketAddr,
    /// Where that server block listens without TLS, for requests that are not whole.
    pub plain: SocketAddr,
    /// How long it keeps an idle connection to a server, if the configuration says so.
    pub upstream_keepalive: Option<Duration>,
    access_log: PathBuf,
    process: Option<ChildProcess>,
}

/// SIGTERM, because the workers would go on without a master that was killed.
impl Drop for Nginx {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            // It has ended if it cannot be stopped.
            let _ = process.stop();
        }
    }
}

impl Nginx {
    /// Starts it before these servers, with its files in this directory.
    pub fn start(
        program: &Program,
        prefix: &Path,
        servers: &[SocketAddr],
    ) -> anyhow::Result<Nginx> {
        std::fs::create_dir_all(prefix)?;
        let made = rcgen::generate_simple_self_signed(["localhost".to_string()])?;
        std::fs::write(prefix.join("cert.pem"), made.cert.pem())?;
        std::fs::write(prefix.join("key.pem"), made.signing_key.serialize_pem())?;
        let (address, plain) = (free_address()?, free_address()?);
        let mut configuration = program.run(&["nginx-conf"])?.success()?;
        let path = prefix.display();
        let upstream: String = servers
            .iter()
            .map(|server| format!("server {server} max_fails=1 fail_timeout=2s;\n"))
            .collect();
        for (printed, own) in [
            ("/etc/ssl/store-orders", format!("{path}")),
            ("/var/log/nginx", format!("{path}")),
            ("/run/nginx.pid", format!("{path}/pid")),
            ("        listen [::]:443 ssl http2;\n", String::new()),
            ("listen 443 ssl", format!("listen {plain};\n        listen {address} ssl")),
            ("server 127.0.0.1:8080 max_fails=1 fail_timeout=2s;", upstream),
            ("    upstream", format!("{}    upstream", temporary_paths(prefix))),
        ] {
            if !configuration.contains(printed) {
                bail!("`nginx-conf` no longer has {printed:?}");
            }
            configuration = configuration.replace(printed, &own);
        }
        let upstream = configuration.split("upstream store_orders {").nth(1).unwrap_or_default();
        let upstream = upstream.split('}').next().unwrap_or_default();
        let kept =
            upstream.split("keepalive_timeout ").nth(1).and_then(|rest| rest.split(';').next());
        let upstream_keepalive =
            kept.and_then(|kept| kept.strip_suffix('s')?.parse().ok()).map(Duration::from_secs);
        let file = prefix.join("nginx.conf");
        std::fs::write(&file, configuration)?;
        let nginx = installed().context("nginx is missing: apt-get install nginx-light")?;
        let mut command = Command::new(nginx);
        command.arg("-p").arg(prefix).arg("-c").arg(&file).args(["-g", "daemon off;"]);
        let log = std::fs::File::create(prefix.join("stderr"))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let process = ChildProcess::new(command.spawn().context("cannot start nginx")?, "nginx");
        let connect = || std::net::TcpStream::connect(address).ok();
        wait_blocking("nginx listens", Duration::from_secs(10), connect)
            .with_context(|| std::fs::read_to_string(prefix.join("stderr")).unwrap_or_default())?;
        let access_log = prefix.join("store-orders-access.log");
        Ok(Nginx { address, plain, upstream_keepalive, access_log, process: Some(process) })
    }

    /// A line for each request.
    pub fn access_log(&self) -> std::io::Result<String> {
        std::fs::read_to_string(&self.access_log)
    }

    /// The address of this path.
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// A client of this address, with a connection of its own.
    pub fn client(&self, from: IpAddr) -> reqwest::Result<Client> {
        Client::builder().local_address(from).no_gzip().danger_accept_invalid_certs(true).build()
    }
}

/// Where an unprivileged nginx may write.
fn temporary_paths(prefix: &Path) -> String {
    ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("    {kind}_temp_path {}/{kind};\n", prefix.display()))
        .concat()
}

/// nginx, if it is installed. Debian keeps it where only root looks for programs.
fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/usr/local/sbin".into()])
        .map(|directory| directory.join("nginx"))
        .find(|program| program.is_file())
}
