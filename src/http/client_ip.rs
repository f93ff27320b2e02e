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

#[cfg(test)]
mod tests {
    use super::*;

    fn client(trusted: &[&str], peer: &str, forwarded: &[&str]) -> String {
        let networks = trusted.iter().map(|network| network.parse().unwrap()).collect();
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append("x-forwarded-for", http::HeaderValue::from_str(value).unwrap());
        }
        TrustedProxies::new(networks).client(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn x_forwarded_for_is_read_only_from_a_trusted_peer() {
        assert_eq!(client(&[], "192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
        assert_eq!(client(&["10.0.0.0/8"], "192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
        assert_eq!(client(&["10.0.0.0/8"], "10.1.1.1", &["198.51.100.7"]), "198.51.100.7");
        assert_eq!(client(&["10.0.0.0/8"], "::ffff:10.1.1.1", &["198.51.100.7"]), "198.51.100.7");
    }

    #[test]
    fn the_client_is_the_last_address_that_is_not_a_proxy() {
        let trusted = ["10.0.0.0/8"];
        let chain = ["203.0.113.9, 198.51.100.7", "10.2.2.2"];
        assert_eq!(client(&trusted, "10.1.1.1", &chain), "198.51.100.7");
        assert_eq!(client(&trusted, "10.1.1.1", &["10.3.3.3, 10.2.2.2"]), "10.3.3.3");
        assert_eq!(client(&trusted, "10.1.1.1", &[]), "10.1.1.1");
        assert_eq!(client(&trusted, "10.1.1.1", &["198.51.100.7, nonsense"]), "10.1.1.1");
        assert_eq!(client(&trusted, "10.1.1.1", &["198.51.100.7", "\u{e9}"]), "10.1.1.1");
        assert_eq!(client(&trusted, "10.1.1.1", &["\u{e9}, 198.51.100.7"]), "198.51.100.7");
        assert_eq!(client(&trusted, "10.1.1.1", &["198.51.100.7:1234"]), "198.51.100.7");
        assert_eq!(client(&trusted, "10.1.1.1", &["[2001:db8::1]:1234"]), "2001:db8::1");
    }
}
