//! Checks that the image connects to PostgreSQL by name with TLS. Name lookup could fail, because a
//! static program has no shared libraries for it. TLS could fail, because the image contains no
//! certificates of authorities.

use super::container::{Container, describe};
use super::{Out, claim};
use std::path::Path;
use testbed::Authority;
use testbed::postgres::{Cluster, DATABASE, Installed, USER};

/// The exit status of a command that cannot reach the store.
const STORE_UNAVAILABLE: i32 = 4;

/// The host name of the database server. Public DNS does not have it, because `internal` is
/// reserved for private use.
const HOST: &str = "db.internal";

const HOSTS: &str = "/etc/hosts";

/// The file in which Debian keeps the certificates of certificate authorities (CAs). The program
/// reads CA certificates from this and other files.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The path of the certificate that the store's URL names as `sslrootcert`.
const AUTHORITY: &str = "/etc/store-orders/ca.pem";

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
    installed.make_private(&key)?;
    let text = |path: &Path| path.display().to_string();
    let (certificate, key) = (text(&certificate), text(&key));
    let settings = [("ssl", "on"), ("ssl_cert_file", &certificate), ("ssl_key_file", &key)];
    let server = cluster.primary("primary", &settings).await?;
    let url = format!("postgres://{USER}@{HOST}:{}/{DATABASE}", server.port);
    let url_with_certificate = format!("{url}?sslrootcert={AUTHORITY}");
    let other_authority = Authority::new()?;

    // Each step has the file to mount, the command, the store's URL, a word of the expected error,
    // and the claim. Without a word, the command must succeed.
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
            &url_with_certificate,
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
            Some((AUTHORITIES, &other_authority.certificate)),
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
                output.status.code() == Some(STORE_UNAVAILABLE) && error.contains(word)
            }
            None => output.status.success(),
        };
        claim(out, what, holds, &describe(&output))?;
    }
    Ok(())
}
