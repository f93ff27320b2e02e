//! Three servers on one database, with an operator beside: what one cancels, no other lists;
//! a key that the operator revokes is refused by all.

use super::setup::{OnPrimary, expect_agreement, replicas};
use crate::replicas::{bases, blocking};
use crate::traffic::{LOAD, Traffic};
use reqwest::Client;
use std::time::{Duration, Instant};
use testbed::postgres::Installed;
use testbed::{Program, Report};

const ORDERS: i64 = 4_000;

/// Within this a revoked key is refused everywhere.
const REVOKED_WITHIN: Duration = Duration::from_secs(1);

/// Runs it.
pub async fn run(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let OnPrimary { cluster: _cluster, primary: _primary, store, key } =
        OnPrimary::start(installed, program, ORDERS).await?;
    let other = store.key("leaked").await?;
    let replicas = replicas(&store, 3).await?;
    let traffic = Traffic::start(bases(&replicas), &key, ORDERS, LOAD)?;
    let (operator, other_id) = (store.operator(&store.url), other.id.clone());
    let revoked = blocking(move || {
        operator.run(&["keys", "revoke", &other_id])?;
        Ok(Instant::now())
    })
    .await?;
    let http = Client::new();
    for base in bases(&replicas) {
        let url = format!("{base}/store/orders");
        while http.get(&url).bearer_auth(&other.text).send().await?.status() != 401 {
            if revoked.elapsed() > 5 * REVOKED_WITHIN {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    report.time("a revoked key refused everywhere", revoked.elapsed(), REVOKED_WITHIN);
    tokio::time::sleep(Duration::from_secs(3)).await;
    let seen = traffic.stop().await?;
    report.expect(seen.unavailable() == 0, || "something was answered 503".to_string());
    expect_agreement(&replicas, &key, report).await?;
    seen.judge(&store, &store.url, report).await
}
