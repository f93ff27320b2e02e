//! Addresses to listen on: their format, and errors when they cannot be used.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

/// An address to listen on, as `HOST:PORT`. An address without a host means every IPv4 address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress(String);

impl ListenAddress {
    /// Resolves the address, and prefers IPv4. Errors name the flag `option`. Blocks while a host
    /// name is resolved.
    pub fn resolve(&self, option: &str) -> Result<SocketAddr, ListenError> {
        let failed = |error: io::Error| ListenError::new(self, option, &error);
        let addresses: Vec<SocketAddr> = self.0.to_socket_addrs().map_err(failed)?.collect();
        let first = addresses.iter().find(|address| address.is_ipv4()).or(addresses.first());
        first.copied().ok_or_else(|| failed(io::Error::other("the name has no address")))
    }
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<ListenAddress, String> {
        const FORM: &str = "write HOST:PORT, such as 127.0.0.1:8080, [::1]:8080 or localhost:8080, \
                            or :8080 for every IPv4 address";
        let is_port = |port: &str| {
            port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
        };
        match text.rsplit_once(':') {
            Some(("", port)) if is_port(port) => Ok(ListenAddress(format!("0.0.0.0{text}"))),
            Some((host, port)) if is_port(port) => {
                let is_name =
                    !host.contains([':', '[', ']', '/']) && !host.contains(char::is_whitespace);
                let is_host = is_name || text.parse::<SocketAddr>().is_ok();
                let address = is_host.then(|| ListenAddress(text.to_string()));
                address.ok_or_else(|| format!("no host; {FORM}"))
            }
            _ => Err(format!("no port; {FORM}")),
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminListen {
    Off,
    At(ListenAddress),
}

impl AdminListen {
    /// Returns the address, or `None` if there is no admin listener. Blocks while a host name is
    /// looked up.
    pub fn resolve(&self) -> Result<Option<SocketAddr>, ListenError> {
        match self {
            AdminListen::Off => Ok(None),
            AdminListen::At(address) => address.resolve("--admin-listen").map(Some),
        }
    }
}

impl FromStr for AdminListen {
    type Err = String;

    fn from_str(text: &str) -> Result<AdminListen, String> {
        match text {
            "off" => Ok(AdminListen::Off),
            _ => text.parse().map(AdminListen::At).map_err(|error| format!("{error}; or off")),
        }
    }
}

/// A failure to listen on an address: the reason, and what the operator can do.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {why}; fix: {fix}")]
pub struct ListenError {
    address: String,
    why: String,
    fix: String,
}

impl ListenError {
    /// Explains why a listener cannot use `address`. `error` is the cause, and `option` is the flag
    /// that sets the address.
    pub fn new(
        address: impl fmt::Display,
        option: &str,
        error: &(dyn Error + 'static),
    ) -> ListenError {
        let other = format!("choose another address with {option}");
        let (why, fix) = match system_error(error) {
            Some(error) if error.kind() == ErrorKind::AddrInUse => (
                "another program listens there".to_string(),
                format!("stop it, or choose another port with {option}"),
            ),
            Some(error) if error.kind() == ErrorKind::PermissionDenied => (
                "this user may not".to_string(),
                format!(
                    "choose a port from 1024 with {option}, or give the program the right \
                     (CAP_NET_BIND_SERVICE)"
                ),
            ),
            Some(error) if error.kind() == ErrorKind::AddrNotAvailable => {
                ("no network interface of this machine has that address".to_string(), other)
            }
            Some(error) => (error.to_string(), other),
            None => (error.to_string(), other),
        };
        ListenError { address: address.to_string(), why, fix }
    }
}

fn system_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e io::Error> {
    let io_error = error.downcast_ref();
    io_error.or_else(|| error.source().and_then(system_error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_be_an_ip_a_name_or_only_a_port() {
        let parse = |text: &str| text.parse::<ListenAddress>();
        for (text, address) in [
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("[::1]:0", "[::1]:0"),
            (":8080", "0.0.0.0:8080"),
            ("localhost:8080", "127.0.0.1:8080"),
        ] {
            let resolved = parse(text).unwrap().resolve("--listen");
            assert_eq!(resolved.unwrap(), address.parse().unwrap(), "{text}");
        }
        assert_eq!(parse("orders.example:80").unwrap().to_string(), "orders.example:80");
        for text in ["here", "8080", "::1:8080", "localhost", "a:b:1", ":", ":70000", ":+80", "/:1"]
        {
            let error = parse(text).unwrap_err();
            assert!(error.contains("write HOST:PORT"), "{text}: {error}");
        }
        assert_eq!("off".parse(), Ok(AdminListen::Off));
        assert_eq!(":9".parse(), parse("0.0.0.0:9").map(AdminListen::At));
    }

    #[test]
    fn an_error_names_the_option_and_says_why_once() {
        let address: SocketAddr = "127.0.0.1:80".parse().unwrap();
        let error = |kind: ErrorKind| {
            let error = dropshot::BuildError::BindError { address, error: kind.into() };
            ListenError::new(address, "--listen", &error).to_string()
        };
        assert_eq!(
            error(ErrorKind::AddrInUse),
            "cannot listen on 127.0.0.1:80: another program listens there; fix: stop it, or choose \
             another port with --listen"
        );
        for kind in [ErrorKind::PermissionDenied, ErrorKind::AddrNotAvailable, ErrorKind::Other] {
            let text = error(kind);
            assert_eq!(text.matches("127.0.0.1").count(), 1, "{text}");
            assert!(text.contains(" with --listen"), "{text}");
        }
    }
}
