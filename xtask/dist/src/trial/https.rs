//! Checks that the image serves orders over TLS and does not run as root. Also checks the image's
//! health check, and that SIGTERM stops the server.

use super::container::{Container, describe};
use super::{Out, claim};
use crate::compose::PROGRAM;
use anyhow::Context;
use serde_json::Value;
use std::time::Duration;
use testbed::{Authority, ServerProcess, Signal};

const CERTIFICATE: &str = "/etc/store-orders/cert.pem";
const KEY: &str = "/etc/store-orders/key.pem";

const TIMEOUT: Duration = Duration::from_secs(20);

pub async fn run(container: &Container<'_>, out: Out<'_>) -> anyhow::Result<()> {
    let authority = Authority::new()?;
    let issued = authority.issue("localhost")?;
    container.mount(CERTIFICATE, &issued.certificate)?;
    container.mount(KEY, &issued.key)?;
    container.run_successfully(&["orders", "import", "-"], "id,petId,quantity\n1,7,2\n2,9,1\n")?;
    container.run_successfully(&["accounts", "create", "acme", "--plan", "pro"], "")?;
    let issue_key =
        container.run_successfully(&["keys", "issue", "--account", "acme", "--json"], "")?;
    let key: Value = serde_json::from_str(&issue_key)?;
    let key = key.get("key").and_then(Value::as_str).context("no key was issued")?;

    let health = &container.image.health;
    let is_ours = *health == ["CMD", PROGRAM, "health"];
    claim(out, "the image has a health check", is_ours, &health.join(" "))?;
    let health_before_start = container.run(&["health"], "")?;
    let fails = health_before_start.status.code() == Some(1);
    claim(out, "before the start, `health` fails", fails, &describe(&health_before_start))?;
    // The container shares this machine's network, where fixed ports may be taken. With port 0, the
    // system chooses free ports.
    let flags = ["--listen", "127.0.0.1:0", "--admin-listen", "0.0.0.0:0"];
    let files = ["--tls-cert", CERTIFICATE, "--tls-key", KEY];
    let mut command = container
        .command(&[&container.default_arguments()[..], &flags[..], &files[..]].concat())?;
    let server = ServerProcess::start(&mut command, &container.log())?;
    let url = server.base_url().replace("127.0.0.1", "localhost");
    let authority = reqwest::Certificate::from_pem(authority.certificate.as_bytes())?;
    let client = reqwest::Client::builder().tls_certs_only([authority]).timeout(TIMEOUT).build()?;
    let response = client.get(format!("{url}/store/orders")).bearer_auth(key).send().await?;
    let orders: Value = response.error_for_status()?.json().await?;
    let are_listed = url.starts_with("https://") && orders.as_array().map(Vec::len) == Some(2);
    claim(out, "it lists orders over TLS", are_listed, &format!("{url}: {orders}"))?;
    let user = std::fs::read_to_string(format!("/proc/{}/status", server.process().pid()?))?;
    let is_user = user.lines().any(|line| {
        line.split_whitespace().next() == Some("Uid:")
            && !line.split_whitespace().any(|id| id == "0")
    });
    claim(out, "it does not run as root", is_user, &user)?;

    let admin = server.printed_after("admin listener on http://").context("no admin listener")?;
    let ready = container.run(&["health", "--admin-listen", admin], "")?;
    claim(out, "`health` succeeds", ready.status.success(), &describe(&ready))?;
    server.signal(Signal::TERM)?;
    let (status, log) = server.wait()?;
    claim(out, "SIGTERM ends it well", status.success(), &format!("{status}: {log}"))
}
