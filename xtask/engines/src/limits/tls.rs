//! A Redis behind TLS: which certificates are taken, and a client's own.

use super::clients::{SIXTY_A_DAY, admit, limiter_at, request};
use store_orders::config::LimitsLost;
use store_orders::limits::Decision;
use testbed::redis::InstalledRedis;
use testbed::{Authority, Report, free_address};

/// Runs it.
pub async fn run(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    let files = installed.directory()?;
    let file = |name: &str| files.path().join(name);
    let (authority, stranger) = (Authority::new()?, Authority::new()?);
    std::fs::write(file("ca.pem"), &authority.certificate)?;
    std::fs::write(file("stranger.pem"), &stranger.certificate)?;
    for (name, host) in [("server", "localhost"), ("client", "limits")] {
        let key = file(&format!("{name}.key"));
        let issued = authority.issue(host)?;
        std::fs::write(file(&format!("{name}.pem")), issued.certificate)?;
        std::fs::write(&key, issued.key)?;
        installed.own(&key)?;
    }
    let path = |name: &str| file(name).display().to_string();
    let (ca, stranger) = (path("ca.pem"), path("stranger.pem"));
    let own = format!("sslcert={}&sslkey={}", path("client.pem"), path("client.key"));
    let mut tried = 0;
    for asks_for_certificates in [false, true] {
        let port = free_address()?.port();
        let _server = installed.start(&[
            ("tls-port", &port.to_string()),
            ("tls-cert-file", &path("server.pem")),
            ("tls-key-file", &path("server.key")),
            ("tls-ca-cert-file", &ca),
            ("tls-auth-clients", if asks_for_certificates { "yes" } else { "no" }),
        ])?;
        for (host, query, is_taken) in [
            ("localhost", format!("sslrootcert={ca}"), !asks_for_certificates),
            ("localhost", format!("sslrootcert={ca}&{own}"), true),
            ("localhost", format!("sslrootcert={stranger}&{own}"), false),
            // The certificate has another name.
            ("127.0.0.1", format!("sslrootcert={ca}&{own}"), false),
            // The system trusts nobody that we made.
            ("localhost", own.clone(), false),
            ("localhost", "sslrootcert=/nowhere.pem".to_string(), false),
        ] {
            let url = format!("rediss://{host}:{port}?{query}");
            let taken = match limiter_at(&url, LimitsLost::Refuse).await {
                Ok(limits) => {
                    let decision = admit(&limits, request(1, SIXTY_A_DAY)).await;
                    matches!(decision, Decision::Admitted(_))
                        .then_some(())
                        .ok_or_else(|| format!("{decision:?}"))
                }
                Err(error) => Err(format!("{error:#}")),
            };
            tried += 1;
            report.expect(taken.is_ok() == is_taken, || format!("{url}: {taken:?}"));
            if let Err(why) = taken {
                report.figure(why);
            }
        }
    }
    report.figure(format!("{tried} connections"));
    Ok(())
}
