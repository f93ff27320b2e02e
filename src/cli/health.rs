//! `health`: asks a server whether it is ready, for containers and scripts that have no HTTP
//! client.

use super::printer::Printer;
use crate::config::{AdminListen, ListenAddress, duration_within};
use anyhow::Context;
use clap::Args;
use http::Uri;
use serde::Serialize;
use serde_json::Value;
use std::fmt;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// The page that says whether requests should be sent to the server.
const READY: &str = "/readyz";

/// Longer than any answer of the admin listener.
const LONGEST_ANSWER_BYTES: u64 = 64 * 1024;

/// A server on the same machine may need as much.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(10);

/// A container or a script does not wait longer.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(3_600);

/// Arguments of `health`.
#[derive(Args, Debug)]
pub struct HealthArgs {
    /// Page to ask instead of /readyz of the admin listener, such as http://127.0.0.1:8081/livez
    #[arg(long, value_name = "URL")]
    url: Option<HealthUrl>,
    /// How long to wait for the answer
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = duration_within(SHORTEST_TIMEOUT, LONGEST_TIMEOUT),
        default_value = "5s"
    )]
    timeout: Duration,
    /// Address of the server's admin listener
    #[arg(
        long,
        value_name = "HOST:PORT",
        env = "STORE_ORDERS_ADMIN_LISTEN",
        default_value = "127.0.0.1:8081"
    )]
    admin_listen: AdminListen,
}

impl HealthArgs {
    pub(super) fn run(&self, printer: &mut Printer<'_>) -> anyhow::Result<()> {
        let url = match (&self.url, &self.admin_listen) {
            (Some(url), _) => url.clone(),
            (None, AdminListen::At(address)) => HealthUrl::of_listener(address),
            (None, AdminListen::Off) => {
                anyhow::bail!("the admin listener is off; name a page of the server with --url")
            }
        };
        let health = Health::of(&url, self.timeout);
        if health.ready {
            return Ok(printer.show(&health, format!("{url}: {}", health.reason))?);
        }
        if printer.is_json() {
            printer.show(&health, "")?;
            printer.flush()?;
        }
        anyhow::bail!("{url}: not ready: {}", health.reason)
    }
}

/// What a server answered.
#[derive(Serialize)]
struct Health {
    url: String,
    ready: bool,
    /// The HTTP status; null without an answer.
    status: Option<u16>,
    reason: String,
}

impl Health {
    fn of(url: &HealthUrl, timeout: Duration) -> Health {
        let (status, reason) = match url.ask(timeout) {
            Ok((status, body)) => (Some(status), reason(status, &body)),
            Err(error) => (None, format!("{error:#}")),
        };
        Health { url: url.to_string(), ready: status == Some(200), status, reason }
    }
}

/// What the body says of the state, in words.
fn reason(status: u16, body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let field = |name| body.get(name).and_then(Value::as_str);
    let Some(state) = field("state") else {
        let message = field("message").map(str::to_string);
        return message.unwrap_or_else(|| format!("HTTP status {status}"));
    };
    let mut text = state.to_string();
    if let Some(damage) = field("damaged") {
        text.push_str(&format!(", but the store is damaged: {damage}"));
    }
    text
}

/// A page over plain HTTP, which is all that the admin listener speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HealthUrl {
    host: String,
    port: u16,
    path: String,
}

impl HealthUrl {
    /// The page of a listener, which is asked at the loopback if it has every address.
    fn of_listener(address: &ListenAddress) -> HealthUrl {
        let (host, port) = match address {
            ListenAddress::Ip(address) => {
                let host: IpAddr = match address.ip() {
                    IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
                    IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
                    ip => ip,
                };
                (host.to_string(), address.port())
            }
            ListenAddress::Name(host, port) => (host.clone(), *port),
        };
        HealthUrl { host, port, path: READY.to_string() }
    }

    /// The status and the body of its answer.
    fn ask(&self, timeout: Duration) -> anyhow::Result<(u16, String)> {
        let deadline = Instant::now() + timeout;
        let left = || {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                Err(anyhow::anyhow!("no answer within {timeout:?}"))
            } else {
                Ok(left)
            }
        };
        let addresses = (self.host.as_str(), self.port).to_socket_addrs();
        let addresses = addresses.with_context(|| format!("{} has no address", self.host))?;
        let mut connection = Err(anyhow::anyhow!("{} has no address", self.host));
        for address in addresses {
            connection = TcpStream::connect_timeout(&address, left()?).context("cannot connect");
            if connection.is_ok() {
                break;
            }
        }
        let mut connection = connection?;
        connection.set_write_timeout(Some(left()?))?;
        // In one piece: who answers the first part and hangs up would be an error otherwise.
        let HealthUrl { host, path, .. } = self;
        let request =
            format!("GET {path} HTTP/1.0\r\nHost: {host}\r\nAccept: application/json\r\n\r\n");
        connection.write_all(request.as_bytes()).context("no answer")?;
        let mut answer = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            connection.set_read_timeout(Some(left()?))?;
            match connection.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => answer.extend_from_slice(chunk.get(..length).unwrap_or_default()),
                // The time is up, which the next round says.
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error).context("no answer"),
            }
            if answer.len() as u64 > LONGEST_ANSWER_BYTES {
                anyhow::bail!("the answer is too long for one of the admin listener");
            }
        }
        parsed(&String::from_utf8_lossy(&answer)).context("the answer is not HTTP")
    }
}

/// The status and the body of a response.
fn parsed(answer: &str) -> Option<(u16, String)> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let mut words = head.split(' ');
    words.next().filter(|version| version.starts_with("HTTP/1."))?;
    let status = words.next()?.get(..3)?.parse().ok()?;
    Some((status, body.to_string()))
}

impl FromStr for HealthUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<HealthUrl, String> {
        const FORM: &str =
            "write a page of the admin listener, such as http://127.0.0.1:8081/livez";
        let url: Uri = text.parse().map_err(|error| format!("{error}; {FORM}"))?;
        let host = url.host().filter(|host| !host.is_empty()).ok_or(FORM)?;
        if url.scheme_str() != Some("http") {
            return Err(format!("only http:// can be asked; {FORM}"));
        }
        let path = url.path_and_query().map_or("/", |path| path.as_str());
        Ok(HealthUrl {
            host: host.trim_matches(['[', ']']).to_string(),
            port: url.port_u16().unwrap_or(80),
            path: if path == "/" { READY.to_string() } else { path.to_string() },
        })
    }
}

impl fmt::Display for HealthUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HealthUrl { host, port, path } = self;
        if host.contains(':') {
            write!(f, "http://[{host}]:{port}{path}")
        } else {
            write!(f, "http://{host}:{port}{path}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_the_admin_listener_is_asked_over_plain_http() {
        for (text, shown) in [
            ("http://127.0.0.1:8081", "http://127.0.0.1:8081/readyz"),
            ("http://[::1]:8081/livez", "http://[::1]:8081/livez"),
            ("http://orders/", "http://orders:80/readyz"),
        ] {
            assert_eq!(text.parse::<HealthUrl>().unwrap().to_string(), shown);
        }
        for text in ["https://orders/readyz", "orders:8081", "/readyz", "http://", ""] {
            assert!(text.parse::<HealthUrl>().unwrap_err().contains("such as"), "{text}");
        }
    }

    #[test]
    fn a_listener_at_every_address_is_asked_at_the_loopback() {
        for (address, shown) in [
            ("0.0.0.0:8081", "http://127.0.0.1:8081/readyz"),
            ("[::]:8081", "http://[::1]:8081/readyz"),
            ("192.0.2.1:9", "http://192.0.2.1:9/readyz"),
            ("orders:9", "http://orders:9/readyz"),
        ] {
            assert_eq!(HealthUrl::of_listener(&address.parse().unwrap()).to_string(), shown);
        }
    }

    #[test]
    fn the_state_is_said_in_words() {
        for (body, said) in [
            (r#"{"state":"ready"}"#, "ready"),
            (r#"{"state":"ready","damaged":"page 3"}"#, "ready, but the store is damaged: page 3"),
            (r#"{"request_id":"x","message":"the server is stopping"}"#, "the server is stopping"),
            ("<html>", "HTTP status 503"),
        ] {
            assert_eq!(reason(503, body), said);
        }
        assert_eq!(parsed("HTTP/1.0 503 Service Unavailable\r\nx: y\r\n\r\nz").unwrap().0, 503);
        assert_eq!(parsed("SSH-2.0-x\r\n\r\n"), None);
    }
}
