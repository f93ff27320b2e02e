//! Starts nginx without a master process, as a child of the test.

use crate::child_process::ChildProcess;
use crate::wait::{WAIT_TIMEOUT, wait_blocking};
use anyhow::Context;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;

/// Starts nginx as a single process, and waits until nginx listens at `address`. `error_log` gets
/// the messages until nginx has read the configuration.
pub fn start_nginx(
    configuration: &Path,
    error_log: &Path,
    address: SocketAddr,
) -> anyhow::Result<ChildProcess> {
    // Raise the limit on open files here, because nginx as a single process ignores
    // `worker_rlimit_nofile`.
    let start = "ulimit -n \"$(ulimit -H -n)\"; PATH=$PATH:/usr/sbin; \
        exec nginx -e \"$1\" -c \"$0\" -g 'daemon off; master_process off;'";
    let mut command = Command::new("sh");
    command.args(["-c", start]).arg(configuration).arg(error_log);
    let process = ChildProcess::new(command.spawn().context("cannot start sh")?, "nginx");
    let connect = || TcpStream::connect(address).ok();
    wait_blocking("nginx listens", WAIT_TIMEOUT, connect)
        .with_context(|| std::fs::read_to_string(error_log).unwrap_or_default())
        .context("on Debian and Ubuntu: apt-get install nginx-light")?;
    Ok(process)
}
