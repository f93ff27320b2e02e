//! Finds free addresses for programs that cannot choose a port themselves.

use std::net::{SocketAddr, TcpListener};

/// Returns a loopback address whose port is free at the moment.
pub fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
