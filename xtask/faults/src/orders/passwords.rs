//! A role with a password, which is wrong or missing: one clear line, and no password in it.

use crate::replicas::blocking;
use crate::scenario::Tools;
use std::time::Duration;
use store_orders::config::PostgresUrl;
use store_orders::store::postgres::PostgresCommands;
use testbed::Report;
use testbed::postgres::{Cluster, DATABASE};
use tokio_postgres::NoTls;

/// Never shown.
const PASSWORD: &str = "ZmFsc2NoZXMgUGFzc3dvcnQ";

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let cluster = Cluster::create(&tools.postgres()?)?;
    let primary = cluster.primary("primary", &[]).await?;
    let admin = primary.admin(DATABASE).await?;
    let role = format!("CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}'");
    admin.batch_execute(&role).await?;
    let hba = cluster.path().join("primary/pg_hba.conf");
    let rules = std::fs::read_to_string(&hba)?;
    std::fs::write(&hba, format!("host all guarded 127.0.0.1/32 scram-sha-256\n{rules}"))?;
    admin.batch_execute("SELECT pg_reload_conf()").await?;
    let without = format!("postgres://guarded@127.0.0.1:{}/{DATABASE}", primary.port);
    // The server reads its rules some time after it was told to.
    while tokio_postgres::connect(&without, NoTls).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let wrong = without.replace("guarded", &format!("guarded:{PASSWORD}x"));
    for (url, words) in [(wrong, "password authentication failed"), (without, "password")] {
        let url: PostgresUrl = url.parse()?;
        let refused = blocking(move || Ok(PostgresCommands::connect(&url).err())).await?;
        let said = refused.map(|error| format!("{:#}", anyhow::Error::new(error)));
        let said = said.unwrap_or_default();
        let is_clear = said.contains(words) && !said.contains('\n') && !said.contains(PASSWORD);
        report.expect(is_clear, || format!("a wrong or missing password: {said:?}"));
    }
    Ok(())
}
