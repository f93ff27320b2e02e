//! Addresses for programs that cannot choose a port themselves.

use std::net::{SocketAddr, TcpListener};

/// An address of the loopback whose port is free for now.
pub fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
