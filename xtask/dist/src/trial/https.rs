//! The image serves a list over TLS from its own store, and its health check tells when.

use super::claims::Claims;
use super::container::Container;
use anyhow::Context;
use serde_json::Value;
use std::time::Duration;
use testbed::{Authority, ServerProcess, Signal};

/// Where the certificate is mounted.
const CERTIFICATE: &str = "/etc/store-orders/cert.pem";
const KEY: &str = "/etc/store-orders/key.pem";

/// How long a response may take.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Runs it.
pub async fn run(container: &Container, claims: &mut Claims<'_>) -> anyhow::Result<()> {
    let authority = Authority::new()?;
    let issued = authority.issue("localhost")?;
    container.mount(CERTIFICATE, &issued.certificate)?;
    container.mount(KEY, &issued.key)?;
    container.done(&["orders", "import", "-"], "id,petId,quantity\n1,7,2\n2,9,1\n")?;
    container.done(&["accounts", "create", "acme", "--plan", "pro"], "")?;
    let issue_key = container.done(&["keys", "issue", "--account", "acme", "--json"], "")?;
    let key: Value = serde_json::from_str(&issue_key)?;
    let key = key.get("key").and_then(Value::as_str).context("no key was issued")?;

    let early = container.run(&["health"], "")?;
    claims.add("before the start, `health` fails", early.status.code() == Some(1), || {
        format!("{early:?}")
    })?;
    // Free ports, because the network is this machine's.
    let flags = ["--listen", "127.0.0.1:0", "--admin-listen", "0.0.0.0:0"];
    let files = ["--tls-cert", CERTIFICATE, "--tls-key", KEY];
    let mut command = container
        .command(&[&container.default_arguments()[..], &flags[..], &files[..]].concat())?;
    let server = ServerProcess::start(&mut command, &container.log())?;
    let url = server.base_url().replace("127.0.0.1", "localhost");
    let authority = reqwest::Certificate::from_pem(authority.certificate.as_bytes())?;
    let client = reqwest::Client::builder().tls_certs_only([authority]).timeout(TIMEOUT).build()?;
    let listed = client.get(format!("{url}/store/orders")).bearer_auth(key).send().await?;
    let orders: Value = listed.error_for_status()?.json().await?;
    let count = orders.as_array().map(Vec::len);
    claims.add(
        "it lists orders over TLS",
        url.starts_with("https://") && count == Some(2),
        || format!("{url}: {orders}"),
    )?;
    let user = std::fs::read_to_string(format!("/proc/{}/status", server.process().pid()?))?;
    let is_user = user.lines().any(|line| {
        line.split_whitespace().next() == Some("Uid:")
            && !line.split_whitespace().any(|id| id == "0")
    });
    claims.add("it does not run as root", is_user, || user)?;

    let admin = server.printed_after("admin listener on http://").context("no admin listener")?;
    let ready = container.run(&["health", "--admin-listen", admin], "")?;
    claims.add("`health` succeeds", ready.status.success(), || format!("{ready:?}"))?;
    server.signal(Signal::TERM)?;
    let (status, log) = server.wait()?;
    claims.add("SIGTERM ends it well", status.success(), || format!("{status}: {log}"))?;
    Ok(())
}
