//! Addresses to listen on: how they are written, and why one cannot be had.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

/// Reads `HOST:PORT`. Without a host it is every IPv4 address; a name is its first IPv4
/// address, or else its first.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    const FORM: &str = "write HOST:PORT, such as 127.0.0.1:8080, [::1]:8080 or localhost:8080, \
                        or :8080 for every IPv4 address";
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let host_and_port = text.rsplit_once(':').and_then(|(host, port)| {
        let plain = port.bytes().all(|byte| byte.is_ascii_digit());
        Some((host, port.parse::<u16>().ok().filter(|_| plain)?))
    });
    let Some((host, port)) = host_and_port else { return Err(format!("no port; {FORM}")) };
    if host.is_empty() {
        return Ok(SocketAddr::from(([0, 0, 0, 0], port)));
    }
    if host.contains([':', '[', ']', '/']) {
        return Err(format!("no host; {FORM}"));
    }
    let addresses: Vec<SocketAddr> = (host, port)
        .to_socket_addrs()
        .map_err(|error| format!("{host} has no address: {error}; {FORM}"))?
        .collect();
    let first = addresses.iter().find(|address| address.is_ipv4()).or(addresses.first());
    first.copied().ok_or_else(|| format!("{host} has no address; {FORM}"))
}

/// Where the admin listener is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminListen {
    /// Nowhere.
    Off,
    /// At this address, or the server does not start.
    At(SocketAddr),
    /// At this address if it is free: it is the default, not a choice.
    IfFree(SocketAddr),
}

impl AdminListen {
    /// The same, except that an address in use is not an error.
    pub fn if_free(self) -> AdminListen {
        match self {
            AdminListen::At(address) => AdminListen::IfFree(address),
            other => other,
        }
    }
}

impl FromStr for AdminListen {
    type Err = String;

    fn from_str(text: &str) -> Result<AdminListen, String> {
        match text {
            "off" => Ok(AdminListen::Off),
            _ => listen_address(text)
                .map(AdminListen::At)
                .map_err(|error| format!("{error}; or off")),
        }
    }
}

/// An address that cannot be listened on: why, and which setting to change.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {why}; fix: {fix}")]
pub struct ListenError {
    address: SocketAddr,
    why: String,
    fix: String,
}

impl ListenError {
    /// `error` is what the attempt met, and `option` the one that names the address.
    pub fn new(address: SocketAddr, option: &str, error: &(dyn Error + 'static)) -> ListenError {
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
        ListenError { address, why, fix }
    }
}

/// The system's error among an error and its causes.
fn system_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e io::Error> {
    let found = error.downcast_ref();
    found.or_else(|| error.source().and_then(system_error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_numbers_a_name_or_a_port_alone() {
        for (text, address) in [
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("[::1]:0", "[::1]:0"),
            (":8080", "0.0.0.0:8080"),
            ("localhost:8080", "127.0.0.1:8080"),
        ] {
            assert_eq!(listen_address(text), Ok(address.parse().unwrap()), "{text}");
        }
        for text in ["here", "8080", "::1:8080", "localhost", "a:b:1", ":", ":70000", ":+80", "/:1"]
        {
            let error = listen_address(text).unwrap_err();
            assert!(error.contains("write HOST:PORT"), "{text}: {error}");
        }
        assert_eq!("off".parse(), Ok(AdminListen::Off));
        assert_eq!(":9".parse(), Ok(AdminListen::At("0.0.0.0:9".parse().unwrap())));
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
