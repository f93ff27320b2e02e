//! `health`: checks whether a server is ready, for containers and scripts that have no HTTP client.

use super::options::Options;
use super::printer::Printer;
use super::status::RunningServer;
use crate::config::{AdminListen, ServerConfig, StoreLocation, duration_within};
use crate::store::sqlite;
use anyhow::Context;
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::Duration;

/// The maximum number of bytes that are read from a response. Every response to `/readyz` is
/// shorter.
const LONGEST_ANSWER_BYTES: u64 = 64 * 1024;

/// The minimum timeout. Even a server on the same machine may take this long to answer.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(10);

/// The maximum timeout. No container or script needs a longer one.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(3_600);

#[derive(Args, Debug)]
pub struct HealthArgs {
    /// Maximum time to wait for the response
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = duration_within(SHORTEST_TIMEOUT, LONGEST_TIMEOUT),
        default_value = "5s"
    )]
    timeout: Duration,
    /// Address of the server's admin listener
    ///
    /// By default, the command asks the server that serves the data directory. Without such a
    /// server, or with a store in PostgreSQL, the default is 127.0.0.1:8081.
    #[arg(long, value_name = "HOST:PORT", env)]
    admin_listen: Option<AdminListen>,
}

impl HealthArgs {
    pub(super) fn run(&self, options: &Options, printer: &mut Printer<'_>) -> anyhow::Result<()> {
        let admin_listen = match self.admin_listen.clone() {
            Some(admin_listen) => admin_listen,
            None => recorded_admin_listen(options).unwrap_or(ServerConfig::default().admin_listen),
        };
        let AdminListen::At(address) = &admin_listen else {
            anyhow::bail!(
                "the admin listener is off; turn it on where the server starts, with \
                 --admin-listen HOST:PORT"
            )
        };
        let (status, reason) = match query_readiness(address.to_string(), self.timeout) {
            Ok((status, body)) => (Some(status), describe_state(status, &body)),
            Err(error) => (None, format!("{error:#}")),
        };
        let url = format!("http://{address}/readyz");
        let health = Health { url: &url, ready: status == Some(200), status, reason: &reason };
        if health.ready {
            return Ok(printer.show(&health, format!("{url}: {reason}"))?);
        }
        if printer.is_json() {
            // Ignore an output error, because the exit status still reports that the server is not
            // ready.
            let _ = printer.show(&health, "").and_then(|()| printer.flush());
        }
        anyhow::bail!("{url}: not ready: {reason}")
    }
}

/// Returns the admin address that the server of the data directory has recorded. The value may be
/// `off`. Returns `None` if no server is running there, if its record cannot be read, or if the
/// store is in PostgreSQL.
fn recorded_admin_listen(options: &Options) -> Option<AdminListen> {
    let StoreLocation::Directory(directory) = options.store.location().ok()? else { return None };
    let server = sqlite::running_server(&directory).ok()??;
    RunningServer::parse(&server).admin_listen?.parse().ok()
}

/// The output of `health --json`, which is printed even if the server does not answer.
#[derive(Serialize)]
struct Health<'a> {
    url: &'a str,
    ready: bool,
    /// The HTTP status; null if no HTTP response arrived.
    status: Option<u16>,
    reason: &'a str,
}

/// Describes the server's state in words. If the body is not from `/readyz`, returns the HTTP
/// status.
fn describe_state(status: u16, body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let field = |name| body.get(name).and_then(Value::as_str);
    match (field("message"), field("state"), field("damaged")) {
        (Some(message), _, _) => message.to_string(),
        (None, Some(state), Some(damage)) => {
            format!("{state}, but the store is damaged: {damage}")
        }
        (None, Some(state), None) => state.to_string(),
        (None, None, _) => format!("HTTP status {status}"),
    }
}

/// Sends `GET /readyz`, and returns the status and the body. After a timeout, the thread that reads
/// the response is abandoned. For an unspecified address such as 0.0.0.0, the operating system
/// connects to the loopback address.
fn query_readiness(address: String, timeout: Duration) -> anyhow::Result<(u16, String)> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(send_request(&address)));
    let late = |_| anyhow::anyhow!("no answer within {timeout:?}");
    parse_response(&receiver.recv_timeout(timeout).map_err(late)??)
        .context("the answer is not HTTP")
}

/// Returns the response to `GET /readyz`. The admin listener speaks only plain HTTP.
fn send_request(address: &str) -> anyhow::Result<String> {
    let mut connection = TcpStream::connect(address).context("cannot connect")?;
    // Send the request in one write. A second write could fail, because the server may respond and
    // close the connection early.
    let request =
        format!("GET /readyz HTTP/1.0\r\nHost: {address}\r\nAccept: application/json\r\n\r\n");
    connection.write_all(request.as_bytes()).context("no answer")?;
    let mut answer = Vec::new();
    connection.take(LONGEST_ANSWER_BYTES).read_to_end(&mut answer).context("no answer")?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn parse_response(answer: &str) -> Option<(u16, String)> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let mut words = head.split(' ');
    words.next().filter(|version| version.starts_with("HTTP/1."))?;
    let status = words.next()?.get(..3)?.parse().ok()?;
    Some((status, body.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_described_in_words() {
        for (body, said) in [
            (r#"{"state":"ready"}"#, "ready"),
            (r#"{"state":"ready","damaged":"page 3"}"#, "ready, but the store is damaged: page 3"),
            (
                r#"{"state":"unready","reason":"stopping","message":"the server is stopping"}"#,
                "the server is stopping",
            ),
            ("<html>", "HTTP status 503"),
        ] {
            assert_eq!(describe_state(503, body), said);
        }
        assert_eq!(
            parse_response("HTTP/1.0 503 Service Unavailable\r\nx: y\r\n\r\nz").unwrap().0,
            503
        );
        assert_eq!(parse_response("SSH-2.0-x\r\n\r\n"), None);
    }
}
