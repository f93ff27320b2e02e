//! Property tests of `X-Forwarded-For`, with chains of valid and invalid entries, and with random
//! bytes.

use super::*;
use http::HeaderValue;
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

/// An entry of `X-Forwarded-For`. The address is `None` if the entry is unreadable.
#[derive(Clone, Debug)]
struct Entry {
    text: String,
    address: Option<IpAddr>,
}

/// Generates mostly addresses in two /16 networks. The networks of trusted proxies come from the
/// same generator, so many generated addresses are in a trusted network.
fn v4() -> impl Strategy<Value = Ipv4Addr> {
    prop_oneof![
        any::<[u8; 2]>().prop_map(|[c, d]| Ipv4Addr::new(10, 0, c, d)),
        any::<[u8; 2]>().prop_map(|[c, d]| Ipv4Addr::new(192, 0, c, d)),
        any::<u32>().prop_map(Ipv4Addr::from),
    ]
}

fn v6() -> impl Strategy<Value = Ipv6Addr> {
    prop_oneof![
        any::<u64>().prop_map(|low| Ipv6Addr::from((0x2001_0db8_u128 << 96) | u128::from(low))),
        any::<u128>().prop_map(Ipv6Addr::from),
        v4().prop_map(|v4| v4.to_ipv6_mapped()),
    ]
}

fn ip() -> impl Strategy<Value = IpAddr> {
    prop_oneof![v4().prop_map(IpAddr::V4), v6().prop_map(IpAddr::V6)]
}

fn readable() -> impl Strategy<Value = Entry> {
    let blanks = || prop::sample::select(vec!["", " ", "\t", "  "]);
    (ip(), any::<bool>(), prop::option::of(any::<u16>()), blanks(), blanks()).prop_map(
        |(ip, in_brackets, port, before, after)| {
            let name = match (ip, port) {
                (IpAddr::V4(v4), None) => v4.to_string(),
                (IpAddr::V4(v4), Some(port)) => format!("{v4}:{port}"),
                (IpAddr::V6(v6), None) if in_brackets => format!("[{v6}]"),
                (IpAddr::V6(v6), None) => v6.to_string(),
                (IpAddr::V6(v6), Some(port)) => format!("[{v6}]:{port}"),
            };
            Entry { text: format!("{before}{name}{after}"), address: Some(ip) }
        },
    )
}

fn unreadable() -> impl Strategy<Value = Entry> {
    let texts = vec![
        "",
        " ",
        "unknown",
        "_hidden",
        "1.2.3",
        "1.2.3.4.5",
        "256.1.1.1",
        "01.2.3.4",
        "0x1.2.3.4",
        "1.2.3.4:",
        "1.2.3.4:65536",
        "1.2.3.4:_port",
        "[1.2.3.4",
        "2001:db8::1]",
        "[]",
        "[::1",
        "fe80::1%eth0",
        "::1:2:3:4:5:6:7:8:9",
        "1.2.3.4 5.6.7.8",
        "\"1.2.3.4\"",
        "é",
        "１.2.3.4",
    ];
    prop::sample::select(texts).prop_map(|text| Entry { text: text.to_string(), address: None })
}

fn entry() -> impl Strategy<Value = Entry> {
    prop_oneof![6 => readable(), 1 => unreadable()]
}

fn lines() -> impl Strategy<Value = Vec<Vec<Entry>>> {
    prop::collection::vec(prop::collection::vec(entry(), 1..5), 0..4)
}

fn network() -> impl Strategy<Value = (IpAddr, u8)> {
    prop_oneof![
        Just((IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)), 8)),
        (v4(), 0..=32_u8).prop_map(|(ip, length)| (IpAddr::V4(ip), length)),
        (v6(), 0..=128_u8).prop_map(|(ip, length)| (IpAddr::V6(ip), length)),
    ]
}

fn proxies(networks: &[(IpAddr, u8)]) -> TrustedProxies {
    TrustedProxies::new(networks.iter().map(|(ip, n)| IpNet::new(*ip, *n).unwrap()).collect())
}

fn headers(lines: &[Vec<u8>]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append("x-forwarded-for", HeaderValue::from_bytes(line).unwrap());
    }
    headers
}

fn header_lines(lines: &[Vec<Entry>]) -> Vec<Vec<u8>> {
    let texts = |line: &Vec<Entry>| line.iter().map(|entry| entry.text.clone()).collect::<Vec<_>>();
    lines.iter().map(|line| texts(line).join(",").into_bytes()).collect()
}

/// Converts an IPv4-mapped IPv6 address to IPv4. Does not use `IpAddr::to_canonical`, because the
/// tested code uses it.
fn to_canonical(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V6(v6) if v6.segments()[..6] == [0, 0, 0, 0, 0, 0xffff] => {
            let [.., a, b, c, d] = v6.octets();
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
        other => other,
    }
}

/// True if the address is in the network. An IPv4 address is never in an IPv6 network.
fn is_in(ip: IpAddr, (network, length): (IpAddr, u8)) -> bool {
    let bits = |ip: IpAddr| -> Vec<bool> {
        let octets = match ip {
            IpAddr::V4(v4) => v4.octets().to_vec(),
            IpAddr::V6(v6) => v6.octets().to_vec(),
        };
        octets.iter().flat_map(|octet| (0..8).rev().map(move |bit| octet >> bit & 1 == 1)).collect()
    };
    let (ip, network) = (bits(ip), bits(network));
    ip.len() == network.len() && ip[..length.into()] == network[..length.into()]
}

proptest! {
    #![proptest_config(testbed::property_config())]

    #[test]
    fn the_client_is_the_last_address_that_is_not_a_proxy(
        networks in prop::collection::vec(network(), 0..3),
        peer in ip(),
        lines in lines(),
    ) {
        let trusts = |ip| networks.iter().any(|network| is_in(ip, *network));
        let mut expected = to_canonical(peer);
        for entry in lines.iter().flatten().rev() {
            match entry.address {
                Some(address) if trusts(expected) => expected = to_canonical(address),
                _ => break,
            }
        }
        let client = proxies(&networks).client(peer, &headers(&header_lines(&lines)));
        prop_assert_eq!(client, expected);
    }

    #[test]
    fn a_client_cannot_change_its_address_by_forged_entries(
        peer in v4(),
        client in v4(),
        forged in lines(),
        proxy in v4(),
    ) {
        let networks: Vec<_> =
            [peer, proxy].iter().map(|ip| (IpAddr::V4(*ip), 32)).collect();
        prop_assume!(client != peer && client != proxy);
        let mut lines = header_lines(&forged);
        lines.push(format!("{client}, {proxy}").into_bytes());
        let actual = proxies(&networks).client(peer.into(), &headers(&lines));
        prop_assert_eq!(actual, IpAddr::V4(client));
    }

    #[test]
    fn any_bytes_lead_to_the_peer_or_an_address_among_them(
        peer in ip(),
        noise in prop::collection::vec(
            prop_oneof![Just(b','), Just(b'.'), Just(b':'), b'0'..=b'9', 0x20..0x7f_u8, 0x80..=0xff_u8],
            0..60,
        ),
    ) {
        let everything = [(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0), (IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0)];
        let client = proxies(&everything).client(peer, &headers(std::slice::from_ref(&noise)));
        let text: String = noise.iter().map(|byte| char::from(*byte)).collect();
        let addresses = text.split(',').filter_map(|name| {
            let name = name.trim();
            let host = name.rsplit_once(':').map_or(name, |(host, _)| host);
            let bare = |name: &str| name.trim_matches(['[', ']']).parse::<IpAddr>().ok();
            bare(name).or_else(|| bare(host))
        });
        let mut possible: Vec<IpAddr> = addresses.map(to_canonical).collect();
        possible.push(to_canonical(peer));
        prop_assert!(possible.contains(&client), "{} in {}", client, text);
    }
}
