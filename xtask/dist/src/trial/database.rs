//! The image reaches a PostgreSQL with TLS by its name. A static program has no shared
//! libraries to ask for names, and an image of one program no certificates of authorities.

use super::claims::Claims;
use super::container::Container;
use std::path::Path;
use std::process::Output;
use testbed::Authority;
use testbed::postgres::{Cluster, DATABASE, Installed, USER};

/// The name of the server, which no name server knows.
const HOST: &str = "db.internal";

/// Where container engines put the names of a network.
const HOSTS: &str = "/etc/hosts";

/// Where the certificates of authorities are looked for, as on Debian.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Where a certificate is that the URL names.
const AUTHORITY: &str = "/etc/store-orders/ca.pem";

/// Runs it.
pub async fn run(
    container: &Container,
    installed: &Installed,
    claims: &mut Claims<'_>,
) -> anyhow::Result<()> {
    let cluster = Cluster::create(installed)?;
    let authority = Authority::new()?;
    let issued = authority.issue(HOST)?;
    let (certificate, key) = (cluster.path().join("server.pem"), cluster.path().join("server.key"));
    std::fs::write(&certificate, &issued.certificate)?;
    std::fs::write(&key, &issued.key)?;
    installed.own(&key)?;
    let text = |path: &Path| path.display().to_string();
    let (certificate, key) = (text(&certificate), text(&key));
    let settings = [("ssl", "on"), ("ssl_cert_file", &certificate), ("ssl_key_file", &key)];
    let server = cluster.primary("primary", &settings).await?;
    let url = format!("postgres://{USER}@{HOST}:{}/{DATABASE}", server.port);
    let named = format!("{url}?sslrootcert={AUTHORITY}");
    let run = |command: &str, url: &str| container.run(&[command, "--store", url], "");

    let output = run("check", &url)?;
    claims.add(
        "without names, the name is what it cannot find",
        is_refused(&output, "name"),
        || shown(&output),
    )?;
    container.mount(HOSTS, &format!("127.0.0.1 localhost {HOST}\n"))?;
    let output = run("check", &url)?;
    claims.add(
        "without certificates of authorities, it connects to no server and says what to name",
        is_refused(&output, "sslrootcert"),
        || shown(&output),
    )?;
    container.mount(AUTHORITY, &authority.certificate)?;
    let output = run("migrate", &named)?;
    claims.add(
        "with a name in /etc/hosts and sslrootcert, it reaches a PostgreSQL with TLS",
        output.status.success(),
        || shown(&output),
    )?;
    container.mount(AUTHORITIES, &authority.certificate)?;
    let output = run("check", &url)?;
    claims.add(
        "so it does with the authorities that are mounted",
        output.status.success(),
        || shown(&output),
    )?;
    let stranger = Authority::new()?;
    container.mount(AUTHORITIES, &stranger.certificate)?;
    let output = run("check", &url)?;
    claims.add(
        "a certificate of another authority is refused",
        !output.status.success(),
        || shown(&output),
    )?;
    Ok(())
}

/// Whether a command failed with an error that has this word.
fn is_refused(output: &Output, word: &str) -> bool {
    output.status.code() == Some(1) && String::from_utf8_lossy(&output.stderr).contains(word)
}

fn shown(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    format!("{}: {}", output.status, error.trim())
}
