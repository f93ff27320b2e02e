//! The image reaches a PostgreSQL with TLS by its name. A static program has no shared
//! libraries to ask for names, and an image of one program no certificates of authorities.

use super::container::{Container, shown};
use super::{Out, claim};
use std::path::Path;
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
    container: &Container<'_>,
    installed: &Installed,
    out: Out<'_>,
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
    let stranger = Authority::new()?;

    // What is mounted, then a command, what its error says, and what that shows.
    let hosts = format!("127.0.0.1 localhost {HOST}\n");
    let steps = [
        (None, "check", &url, Some("name"), "without names, the name is what it cannot find"),
        (
            Some((HOSTS, &hosts)),
            "check",
            &url,
            Some("sslrootcert"),
            "without certificates of authorities, it connects to no server and says what to name",
        ),
        (
            Some((AUTHORITY, &authority.certificate)),
            "migrate",
            &named,
            None,
            "with a name in /etc/hosts and sslrootcert, it reaches a PostgreSQL with TLS",
        ),
        (
            Some((AUTHORITIES, &authority.certificate)),
            "check",
            &url,
            None,
            "so it does with the authorities that are mounted",
        ),
        (
            Some((AUTHORITIES, &stranger.certificate)),
            "check",
            &url,
            Some("certificate"),
            "a certificate of another authority is refused",
        ),
    ];
    for (mount, command, url, refusal, what) in steps {
        if let Some((path, content)) = mount {
            container.mount(path, content)?;
        }
        let output = container.run(&[command, "--store", url], "")?;
        let holds = match refusal {
            Some(word) => {
                let error = String::from_utf8_lossy(&output.stderr);
                output.status.code() == Some(1) && error.contains(word)
            }
            None => output.status.success(),
        };
        claim(out, what, holds, &shown(&output))?;
    }
    Ok(())
}
