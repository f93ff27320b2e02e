//! Runs nginx with the configuration that `nginx-conf` prints.

use anyhow::{Context, bail};
use reqwest::Client;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use testbed::{ChildProcess, Program, free_address, wait_blocking};

/// An nginx process with the printed configuration, but with other paths and addresses, without
/// IPv6, and with an additional listener without TLS.
pub struct Nginx {
    /// The TLS listener's address.
    pub address: SocketAddr,
    /// A listener of the same server block without TLS, for raw requests.
    pub plain: SocketAddr,
    /// The keep-alive timeout of idle connections to servers, if the configuration has one.
    pub upstream_keepalive: Option<Duration>,
    access_log: PathBuf,
    process: Option<ChildProcess>,
}

/// Stops nginx with SIGTERM, because its workers survive a killed master.
impl Drop for Nginx {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            // Stopping fails only if nginx has already ended.
            let _ = process.stop();
        }
    }
}

impl Nginx {
    /// Starts nginx as the proxy of these servers, with its files in `prefix`.
    pub fn start(
        program: &Program,
        prefix: &Path,
        servers: &[SocketAddr],
    ) -> anyhow::Result<Nginx> {
        std::fs::create_dir_all(prefix)?;
        let certificate = rcgen::generate_simple_self_signed(["localhost".to_string()])?;
        std::fs::write(prefix.join("cert.pem"), certificate.cert.pem())?;
        std::fs::write(prefix.join("key.pem"), certificate.signing_key.serialize_pem())?;
        let (address, plain) = (free_address()?, free_address()?);
        let mut configuration = program.run(&["nginx-conf"])?.success()?;
        let path = prefix.display();
        let upstream: String = servers
            .iter()
            .map(|server| format!("server {server} max_fails=1 fail_timeout=2s;\n"))
            .collect();
        for (printed, replacement) in [
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
            configuration = configuration.replace(printed, &replacement);
        }
        let upstream = configuration.split("upstream store_orders {").nth(1).unwrap_or_default();
        let upstream = upstream.split('}').next().unwrap_or_default();
        let timeout =
            upstream.split("keepalive_timeout ").nth(1).and_then(|rest| rest.split(';').next());
        let upstream_keepalive = timeout
            .and_then(|timeout| timeout.strip_suffix('s')?.parse().ok())
            .map(Duration::from_secs);
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

    /// Returns the access log, which has a line for each request.
    pub fn access_log(&self) -> std::io::Result<String> {
        std::fs::read_to_string(&self.access_log)
    }

    /// Returns the URL of this path at the TLS listener.
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// Creates a client that connects from this address.
    pub fn client(&self, from: IpAddr) -> reqwest::Result<Client> {
        Client::builder().local_address(from).no_gzip().danger_accept_invalid_certs(true).build()
    }
}

/// Returns directives with temporary directories that an unprivileged nginx may write.
fn temporary_paths(prefix: &Path) -> String {
    ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("    {kind}_temp_path {}/{kind};\n", prefix.display()))
        .concat()
}

/// Finds nginx. Debian installs it in a directory that is not in the `PATH` of users.
fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/usr/local/sbin".into()])
        .map(|directory| directory.join("nginx"))
        .find(|program| program.is_file())
}
