//! Finds free addresses for programs that cannot choose a port themselves.

use std::net::{SocketAddr, TcpListener};

/// Returns a loopback address with a free port. Another program may still take the port before the
/// caller uses it.
pub fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
