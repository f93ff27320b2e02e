//! Connections with TLS: which certificate each `sslmode` takes.

use crate::replicas::blocking;
use crate::scenario::Tools;
use store_orders::config::PostgresUrl;
use store_orders::store::postgres::PostgresCommands;
use store_orders::store::{OperatorStore, postgres};
use testbed::postgres::Cluster;
use testbed::{Authority, Report};

/// The name in the server's certificate, which is not where it listens.
const OTHER_NAME: &str = "db.example.com";

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let installed = tools.postgres()?;
    let cluster = Cluster::create(&installed)?;
    let files = |name: &str| cluster.path().join(name);
    let (authority, of_localhost, of_other) = (Authority::new()?, "localhost", OTHER_NAME);
    let stranger = Authority::new()?;
    std::fs::write(files("ca.pem"), &authority.certificate)?;
    std::fs::write(files("stranger.pem"), &stranger.certificate)?;
    for (name, host) in [("right", of_localhost), ("other", of_other)] {
        let issued = authority.issue(host)?;
        std::fs::write(files(&format!("{name}.pem")), issued.certificate)?;
        std::fs::write(files(&format!("{name}.key")), issued.key)?;
        installed.own(&files(&format!("{name}.key")))?;
    }
    let ca = files("ca.pem").display().to_string();
    let strange = files("stranger.pem").display().to_string();
    let mut tried = 0;
    for (name, is_right) in [("right", true), ("other", false)] {
        let settings = |file: &str| files(&format!("{name}.{file}")).display().to_string();
        let (certificate, key) = (settings("pem"), settings("key"));
        let tls = [("ssl", "on"), ("ssl_cert_file", &certificate), ("ssl_key_file", &key)];
        let server = cluster.primary(name, &tls).await?;
        let plain: PostgresUrl = server.url().parse()?;
        blocking(move || Ok(postgres::migrate(&plain)?)).await?;
        let cases = [
            ("sslmode=disable".to_string(), true),
            ("sslmode=require".to_string(), true),
            (format!("sslmode=require&sslrootcert={strange}"), false),
            (format!("sslmode=verify-ca&sslrootcert={ca}"), true),
            (format!("sslmode=verify-ca&sslrootcert={strange}"), false),
            (format!("sslmode=verify-full&sslrootcert={ca}"), is_right),
            (format!("sslmode=verify-full&sslrootcert={strange}"), false),
            // The system does not trust our authorities.
            ("sslmode=verify-full".to_string(), false),
        ];
        for (query, is_taken) in cases {
            let url = format!("{}?{query}", server.url().replace("127.0.0.1", "localhost"));
            let parsed: PostgresUrl = url.parse()?;
            let taken = blocking(move || {
                Ok(PostgresCommands::connect(&parsed).and_then(|store| store.id()))
            })
            .await?;
            tried += 1;
            report.expect(taken.is_ok() == is_taken, || {
                format!("{name} certificate, {query}: {:?}", taken.err().map(|e| e.to_string()))
            });
        }
    }
    report.figure(format!("{tried} connections"));
    Ok(())
}
