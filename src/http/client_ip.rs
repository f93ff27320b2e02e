//! Finds the client's address: the address of the peer, or the address that a trusted proxy
//! reports.

use http::HeaderMap;
use ipnet::IpNet;
use std::net::IpAddr;

/// The networks of proxies whose `X-Forwarded-For` is trusted.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Trusts all addresses in these networks.
    pub fn new(networks: Vec<IpNet>) -> TrustedProxies {
        TrustedProxies(networks)
    }

    /// Returns the peer's address. If the peer is a trusted proxy, returns the last address in
    /// `X-Forwarded-For` that is not a trusted proxy, because the client can forge the entries
    /// before that address.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.trusts(peer) {
            return peer;
        }
        let entries: Vec<&[u8]> = headers
            .get_all("x-forwarded-for")
            .iter()
            .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
            .collect();
        let mut client = peer;
        for entry in entries.into_iter().rev() {
            // The entries before an unreadable entry cannot be trusted.
            let Some(address) = parse_address(entry.trim_ascii()) else { return client };
            client = address.to_canonical();
            if !self.trusts(client) {
                return client;
            }
        }
        client
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

/// Parses an address as proxies write it: alone, with a port, or in brackets.
fn parse_address(name: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(name).ok()?;
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    if let Ok(socket) = text.parse::<std::net::SocketAddr>() {
        return Some(socket.ip());
    }
    text.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod property_tests;
