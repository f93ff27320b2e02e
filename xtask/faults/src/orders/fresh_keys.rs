//! Keys that are used on every server as soon as the command that issued them has ended,
//! beside clients whose keys were never issued.

use super::setup::{OnPair, replicas};
use crate::replicas::{bases, blocking};
use anyhow::bail;
use futures::future::{join_all, try_join};
use reqwest::Client;
use std::cell::Cell;
use store_orders::keys::{ApiKey, Environment};
use testbed::postgres::Installed;
use testbed::{Program, Report};

const SERVERS: usize = 3;
const FRESH_KEYS: usize = 30;
const FLOODING_CLIENTS: usize = 8;

/// Runs it.
pub async fn run(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let OnPair { cluster: _cluster, pair: _pair, store, .. } =
        OnPair::start(installed, program, 1).await?;
    let replicas = replicas(&store, SERVERS).await?;
    // No pet has such an id: 400 comes after the key was checked.
    let urls: Vec<_> = bases(&replicas).iter().map(|base| format!("{base}/pets/x")).collect();
    let http = Client::new();
    let status = async |url: &str, key: &str| {
        anyhow::Ok(http.get(url).bearer_auth(key).send().await?.status().as_u16())
    };
    let (is_over, refused) = (Cell::new(false), Cell::new(0_u32));
    let flood = urls.iter().cycle().take(FLOODING_CLIENTS).map(async |url| {
        while !is_over.get() {
            let status = status(url, ApiKey::generate(Environment::Production).expose()).await?;
            // Above its limit, an address without a valid key has 429.
            if ![401, 429].contains(&status) {
                bail!("an unknown key was answered {status}");
            }
            refused.set(refused.get() + 1);
        }
        Ok(())
    });
    let issue = async {
        for number in 1..=FRESH_KEYS {
            let operator = store.operator(&store.url);
            let key = blocking(move || operator.issue_another_key("clients")).await?;
            for status in join_all(urls.iter().map(|url| status(url, &key.text))).await {
                let status = status?;
                report.expect(status == 400, || format!("fresh key {number} has {status}"));
            }
        }
        is_over.set(true);
        Ok(())
    };
    let flooding = async { join_all(flood).await.into_iter().collect::<anyhow::Result<()>>() };
    try_join(issue, flooding).await?;
    report.figure(format!("{FRESH_KEYS} keys, each used at once on {SERVERS} servers"));
    report.figure(format!("{} requests with unknown keys meanwhile", refused.get()));
    Ok(())
}
