//! Controls: a store that lacks a care which the drills claim to check. If the clients notice
//! nothing, the drills prove nothing.

use super::old_primary::{self, Timelines};
use super::setup::{OnPrimary, replicas};
use crate::replicas::bases;
use crate::traffic::{Load, Traffic};
use std::time::Duration;
use testbed::postgres::Installed;
use testbed::{Program, Report};

const ORDERS: i64 = 4_000;

/// Numbers that are committed in another order than they are drawn: without a row in
/// `versions` nothing makes writers wait for each other.
const SEQUENCE: &str = "
    DELETE FROM versions;
    CREATE SEQUENCE drawn START 1000;
    CREATE FUNCTION draw() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            NEW.version = nextval('drawn');
            PERFORM pg_sleep(random() * 0.02);
            RETURN NEW;
        END $$;
    CREATE TRIGGER drawn BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION draw();";

/// Versions from a sequence: servers miss what others cancelled.
pub async fn sequence(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let OnPrimary { cluster: _cluster, primary, store, key } =
        OnPrimary::start(installed, program, ORDERS).await?;
    let admin = primary.admin(testbed::postgres::DATABASE).await?;
    admin.batch_execute(SEQUENCE).await?;
    let replicas = replicas(&store, 3).await?;
    let load = Load { writers: 12, listers: 3 };
    let traffic = Traffic::start(bases(&replicas), &key, ORDERS, load)?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let seen = traffic.stop().await?;
    let mut found = Report::default();
    seen.judge(&store, &store.url, &mut found).await?;
    expect_found(&found, report);
    Ok(())
}

/// Timelines that are not compared: a server acknowledges on the new primary while another
/// may still list from the old one.
pub async fn timeline(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut found = Report::default();
    old_primary::run_with(installed, program, Timelines::Hidden, &mut found).await?;
    expect_found(&found, report);
    Ok(())
}

fn expect_found(found: &Report, report: &mut Report) {
    let violations = found.violations();
    report.expect(!violations.is_empty(), || "the clients noticed nothing".to_string());
    if let Some(first) = violations.first() {
        report.figure(format!("noticed: {first}"));
    }
}
