//! The cases that hold on every engine, and those of PostgreSQL alone.

use crate::replicas::blocking;
use anyhow::anyhow;
use conformance::cases;
use conformance::postgres::{PostgresUnderTest, postgres_cases};
use testbed::Report;
use testbed::postgres::{Cluster, Installed, USER};

/// Runs every case, each on a database of its own.
pub async fn run(installed: &Installed, report: &mut Report) -> anyhow::Result<()> {
    let cluster = Cluster::create(installed)?;
    let server = cluster.primary("primary", &[("fsync", "off")]).await?;
    let address = format!("127.0.0.1:{}", server.port);
    let mut number = 0;
    for case in cases() {
        number += 1;
        let at = address.clone();
        let of_engine = move || {
            let server = PostgresUnderTest::new(&at, USER);
            (case.run)(&server.new_store()?)
        };
        expect(case.name, of_engine, report).await?;
    }
    for case in postgres_cases() {
        number += 1;
        let at = address.clone();
        let of_postgres = move || (case.run)(&PostgresUnderTest::new(&at, USER));
        expect(case.name, of_postgres, report).await?;
    }
    report.figure(format!("{number} cases"));
    Ok(())
}

/// Runs a case on a thread that belongs to no runtime, as cases ask for.
async fn expect(
    name: &str,
    case: impl FnOnce() -> anyhow::Result<()> + Send + 'static,
    report: &mut Report,
) -> anyhow::Result<()> {
    let thread = std::thread::spawn(case);
    let outcome = blocking(move || Ok(thread.join())).await?;
    if let Err(error) = outcome.unwrap_or_else(|_| Err(anyhow!("it panicked"))) {
        report.expect(false, || format!("{name}: {error:#}"));
    }
    Ok(())
}
