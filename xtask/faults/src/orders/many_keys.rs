//! A million keys, of which single ones are issued and revoked: each change is in force as soon
//! as with a few, and no other key is refused meanwhile.

use super::setup::{OnPrimary, READY_WITHIN};
use crate::replicas::blocking;
use anyhow::Context;
use futures::future::try_join;
use reqwest::Client;
use std::cell::Cell;
use std::time::{Duration, Instant};
use testbed::postgres::{DATABASE, Installed};
use testbed::{Program, Report};

/// Copies of the clients' key, with ids and digests of their own.
const KEYS: &str = "
    INSERT INTO keys
    SELECT (jsonb_populate_record(k, jsonb_build_object('row', n + 1000, 'id', 'key_' || n + 1e11,
            'digest', '\\x' || md5(n::text) || md5('of ' || n)))).*
    FROM keys k, generate_series(1, 1000000) n";

/// Keys issued and revoked.
const CHANGES: usize = 5;

/// How soon a revocation holds.
const REVOKED_WITHIN: Duration = Duration::from_secs(1);

/// How long the first reading of all keys may take.
const OPENED_WITHIN: Duration = Duration::from_secs(120);

/// Runs it.
pub async fn run(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let OnPrimary { cluster: _cluster, primary, store, key } =
        OnPrimary::start(installed, program, 1).await?;
    primary.admin(DATABASE).await?.batch_execute(KEYS).await?;
    let began = Instant::now();
    let replica = store.replica("replica", &store.url, &[]).await?;
    replica.ready(READY_WITHIN).await?;
    report.time("ready with a million keys", began.elapsed(), OPENED_WITHIN);
    // No pet has such an id: 400 comes after the key was checked.
    let (http, url) = (Client::new(), format!("{}/pets/x", replica.server.base_url()));
    let status = async |key: &str| {
        anyhow::Ok(http.get(&url).bearer_auth(key).send().await?.status().as_u16())
    };
    let (is_over, answered) = (Cell::new(false), Cell::new(0_u32));
    let others = async {
        let mut refused = 0;
        while !is_over.get() {
            refused += u32::from(status(&key.text).await? != 400);
            answered.set(answered.get() + 1);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        anyhow::Ok(refused)
    };
    let changes = async {
        let mut longest = Duration::ZERO;
        for number in 1..=CHANGES {
            let operator = store.operator(&store.url);
            let fresh = blocking(move || operator.issue_another_key("clients")).await?;
            let found = status(&fresh.text).await?;
            report.expect(found == 400, || format!("fresh key {number} has {found}"));
            let (operator, id) = (store.operator(&store.url), fresh.id.clone());
            blocking(move || operator.run(&["keys", "revoke", &id])).await?;
            let revoked = Instant::now();
            while status(&fresh.text).await? == 400 {
                longest = longest.max(revoked.elapsed());
            }
        }
        is_over.set(true);
        report.time("a revoked key accepted", longest, REVOKED_WITHIN);
        anyhow::Ok(())
    };
    let ((), refused) = try_join(changes, others).await?;
    report.expect(refused == 0, || format!("another key was refused {refused} times"));
    report.figure(format!("{} requests with another key meanwhile", answered.get()));
    let status = std::fs::read_to_string(format!(
        "/proc/{}/status",
        replica.server.process().pid()?.as_raw_nonzero()
    ))?;
    let memory = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
    report.figure(format!("with a million keys {}", memory));
    Ok(())
}
