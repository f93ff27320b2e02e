//! A key is revoked while one server has lost the database: that server refuses every key
//! within a second, because it cannot check any. The request counts, which it has lost too, are
//! asked only for a key that was accepted: their 503 bears the limit of its account.

use super::setup::expect_agreement;
use crate::replicas::{StoreUnderTest, bases, blocking};
use crate::scenario::Tools;
use anyhow::Context;
use reqwest::Client;
use std::time::{Duration, Instant};
use testbed::Report;
use testbed::postgres::{Cluster, Postgres};
use testbed::relay::{Fault, Relay};

/// How long a server accepts a key after it last looked at the keys.
const STALE_AFTER: Duration = Duration::from_secs(1);

/// The requests a minute of the keys' accounts.
const OF_ACCOUNT: u32 = u32::MAX;

/// The status of a request whose key was not accepted, because it could not be checked.
const REFUSED: (u16, bool) = (503, false);

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let cluster = Cluster::create(&tools.postgres()?)?;
    let primary = cluster.primary("primary", &[]).await?;
    let store = StoreUnderTest::create(&tools.program, &primary.url(), 100).await?;
    let (leaked, good) = (store.key("leaked").await?, store.key("good").await?);
    let relay = Relay::to(primary.port).await?;
    let cut_off = store.replica("cut-off", &Postgres::url_at(relay.port), &[]).await?;
    let other = store.replica("other", &store.url, &[]).await?;
    let replicas = [cut_off, other];
    let http = Client::new();
    let bases = bases(&replicas);
    let base = bases.first().context("there are replicas")?;
    // No pet has such an id: 400 comes after the key was checked, and asks no database.
    let url = format!("{base}/pets/x");
    let ask = async |key: &str| {
        let answer = http.get(&url).bearer_auth(key).send().await?;
        let limit = answer.headers().get("x-ratelimit-limit").context("an answer has its limit")?;
        let is_accepted = limit.to_str()?.parse() == Ok(OF_ACCOUNT);
        anyhow::Ok((answer.status().as_u16(), is_accepted))
    };
    let accepted = ask(&leaked.text).await? == (400, true);
    report.expect(accepted, || "a new key is refused".to_string());
    relay.set(Fault::Silent);
    let operator = store.operator(&store.url);
    let id = leaked.id.clone();
    let revoked = blocking(move || {
        operator.run(&["keys", "revoke", &id])?;
        Ok(Instant::now())
    })
    .await?;
    let mut last_let_in = Duration::ZERO;
    while revoked.elapsed() < 3 * STALE_AFTER {
        let sent = revoked.elapsed();
        let (one, other) = tokio::join!(ask(&leaked.text), ask(&good.text));
        if one? != REFUSED || other? != REFUSED {
            last_let_in = sent;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    report.time("last key let in without the database", last_let_in, STALE_AFTER);
    let unready = replicas.first().context("there are replicas")?.unready_because().await;
    report.expect(unready.is_some(), || "a server without its store is ready".to_string());
    for _ in 0..100 {
        for key in [&leaked, &good] {
            let answer = ask(&key.text).await?;
            report.expect(answer == REFUSED, || format!("a key that was not checked: {answer:?}"));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    relay.set(Fault::None);
    expect_agreement(&replicas, &good, report).await?;
    let (of_leaked, of_good) = (ask(&leaked.text).await?, ask(&good.text).await?);
    report.expect(of_leaked == (401, false) && of_good == (400, true), || {
        format!("afterwards the revoked key has {of_leaked:?}, the other {of_good:?}")
    });
    Ok(())
}
