//! Starts a server while PostgreSQL is down. The server must become ready once PostgreSQL runs. The
//! start must fail if PostgreSQL refuses the settings, because another attempt cannot succeed.

use super::setup::READY_WITHIN;
use crate::replicas::{StoreUnderTest, url_of};
use crate::scenario::Tools;
use anyhow::{Context, bail};
use testbed::postgres::{Cluster, DATABASE, Postgres};
use testbed::{Report, free_address};

const ORDERS: i64 = 20;

pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let cluster = Cluster::create(&tools.postgres()?)?;
    let primary = cluster.primary("primary", &[]).await?;
    let port = primary.port;
    let store = StoreUnderTest::create(&tools.program, &primary.url(), ORDERS).await?;
    let key = store.key("clients").await?;
    refuses_settings(&store, port, report).await?;
    primary.kill()?;

    // This server starts while PostgreSQL is down. Nothing listens at the second address in the
    // store's URL.
    let url = url_of([port, free_address()?.port()]);
    let replica = store.replica("early", &url, &[]).await?;
    let why = replica.unready_because().await.context("a server without a store is ready")?;
    report.expect(why.contains(r#""reason":"store_unreachable""#), || why.clone());
    let status = replica.key_status(&key.text).await?;
    report.expect(status == 503, || format!("without a store, a key is answered {status}"));

    let _primary = cluster.start_at("primary", port, &[]).await?;
    let ready_after = replica.ready(READY_WITHIN).await?;
    report.time("ready once PostgreSQL runs", ready_after, READY_WITHIN);
    let list = String::from_utf8(replica.list(&key).await?)?;
    let listed = (1..=ORDERS).filter(|id| list.contains(&format!("{{\"id\":{id},"))).count();
    report.expect(listed == usize::try_from(ORDERS)?, || format!("{listed} orders are listed"));
    let status = replica.cancel(&key, 1).await?;
    report.expect(status == 204, || format!("a cancellation is answered {status}"));
    let log = replica.server.log();
    for event in ["store not reached", "no synchronous standby confirms commits"] {
        let count = log.matches(&format!(r#""msg":"{event}""#)).count();
        report.expect(count >= 1, || format!("{event}: {log}"));
    }
    Ok(())
}

/// Checks that a server with a wrong user or database in its URL fails to start. The error must
/// name the wrong value and a fix.
async fn refuses_settings(
    store: &StoreUnderTest,
    port: u16,
    report: &mut Report,
) -> anyhow::Result<()> {
    let url = Postgres::url_at(port);
    for (wrong, expected) in [
        (
            url.replace(&format!("/{DATABASE}"), "/missing"),
            "database \\\"missing\\\" does not exist",
        ),
        (url.replace("//store@", "//stranger@"), "role \\\"stranger\\\" does not exist"),
    ] {
        let Err(error) = store.replica("refused", &wrong, &[]).await else {
            bail!("a server starts with {wrong}");
        };
        let error = format!("{error:#}");
        report.expect(error.contains(expected) && error.contains("fix: "), || error.clone());
    }
    Ok(())
}
