//! A million keys, of which single ones are issued and revoked next to clients whose keys were
//! never issued: each is accepted on every server as soon as the command that issued it has ended,
//! refused everywhere within a second of its revocation, and no other key is refused meanwhile.

use super::setup::{OnPrimary, READY_WITHIN, start_replicas};
use crate::replicas::{Replica, blocking};
use crate::scenario::Tools;
use anyhow::{Context, bail};
use futures::future::{join_all, try_join_all, try_join3};
use std::cell::Cell;
use std::time::{Duration, Instant};
use store_orders::keys::{ApiKey, Environment};
use testbed::Report;
use testbed::postgres::DATABASE;

/// Copies of the clients' key, with ids and digests of their own.
const KEYS: &str = "
    INSERT INTO keys
    SELECT (jsonb_populate_record(k, jsonb_build_object('row', n + 1000, 'id', 'key_' || n + 1e11,
            'digest', '\\x' || md5(n::text) || md5('of ' || n)))).*
    FROM keys k, generate_series(1, 1000000) n";

const SERVERS: usize = 2;
const FLOODING_CLIENTS: usize = 4;

/// Keys issued, and how many of them are revoked.
const ISSUED: usize = 20;
const REVOKED: usize = 5;

/// How soon a revocation holds.
const REVOKED_WITHIN: Duration = Duration::from_secs(1);

/// How long the first reading of all keys may take, one server after the other.
const OPENED_WITHIN: Duration = Duration::from_secs(120);

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let on = OnPrimary::start(tools, 1, 0).await?;
    on.primary.admin(DATABASE).await?.batch_execute(KEYS).await?;
    let began = Instant::now();
    let replicas = start_replicas(&on.store, SERVERS).await?;
    report.time("ready with a million keys", began.elapsed(), OPENED_WITHIN + READY_WITHIN);
    let (is_over, requests) = (Cell::new(false), Cell::new(0_u32));
    let flood = replicas.iter().cycle().take(FLOODING_CLIENTS).map(async |replica: &Replica| {
        while !is_over.get() {
            let key = ApiKey::generate(Environment::Production);
            let status = replica.key_status(key.expose()).await?;
            // Above its limit, an address without a valid key has 429.
            if ![401, 429].contains(&status) {
                bail!("an unknown key was answered {status}");
            }
            requests.set(requests.get() + 1);
        }
        Ok(())
    });
    let others = async {
        let (replica, mut refused) = (replicas.first().context("there are replicas")?, 0);
        while !is_over.get() {
            refused += u32::from(replica.key_status(&on.key.text).await? != 400);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        anyhow::Ok(refused)
    };
    let changes = async {
        let mut longest = Duration::ZERO;
        for number in 1..=ISSUED {
            let operator = on.store.operator(&on.store.url);
            let fresh = blocking(move || operator.issue_another_key("clients")).await?;
            let statuses = replicas.iter().map(|replica| replica.key_status(&fresh.text));
            for status in join_all(statuses).await {
                let status = status?;
                report.expect(status == 400, || format!("fresh key {number} has {status}"));
            }
            if number > REVOKED {
                continue;
            }
            let (operator, id) = (on.store.operator(&on.store.url), fresh.id.clone());
            blocking(move || operator.run(&["keys", "revoke", &id])).await?;
            let revoked = Instant::now();
            for replica in &replicas {
                while replica.key_status(&fresh.text).await? == 400 {
                    longest = longest.max(revoked.elapsed());
                }
            }
        }
        is_over.set(true);
        report.time("a revoked key accepted", longest, REVOKED_WITHIN);
        Ok(())
    };
    let (refused, (), _) = try_join3(others, changes, try_join_all(flood)).await?;
    report.expect(refused == 0, || format!("another key was refused {refused} times"));
    report.figure(format!("{ISSUED} keys; {} requests with unknown ones", requests.get()));
    Ok(())
}
