//! Issues and revokes keys of an account that has a million keys. Then moves the account to another
//! plan and closes the account. Meanwhile, clients flood the servers with unknown keys.
//!
//! Every server must accept a key as soon as the command that issued it has ended. Every server
//! must refuse a key within a second after the key is revoked or its account is closed.

use super::setup::{OnPrimary, READY_WITHIN, start_replicas};
use crate::replicas::Replica;
use crate::scenario::Tools;
use anyhow::{Context, bail};
use futures::future::{join_all, try_join_all, try_join3};
use std::cell::Cell;
use std::time::{Duration, Instant};
use store_orders::api_key::{ApiKey, Environment};
use testbed::postgres::DATABASE;
use testbed::{Key, Report};

/// Inserts a million copies of the key of the account `crowd`. Each copy has its own id and digest.
const INSERT_KEYS: &str = "
    INSERT INTO keys
    SELECT (jsonb_populate_record(k, jsonb_build_object('row', n + 1000, 'id', 'key_' || n + 1e11,
            'digest', '\\x' || md5(n::text) || md5('of ' || n)))).*
    FROM keys k, generate_series(1, 1000000) n
    WHERE k.account = (SELECT id FROM accounts WHERE name = 'crowd')";

/// Counts the rows that the last change wrote in `accounts` and in `keys`.
const ROWS_WRITTEN: &str = "
    SELECT (SELECT count(*) FROM accounts WHERE accounts.change_number = changes.change_number),
           (SELECT count(*) FROM keys WHERE keys.change_number = changes.change_number)
    FROM changes ORDER BY change_number DESC LIMIT 1";

const SERVERS: usize = 2;
const FLOODING_CLIENTS: usize = 4;

const ISSUED: usize = 20;
const REVOKED: usize = 5;

/// Servers may accept a key for at most this time after it is revoked or its account is closed.
const REVOCATION_TIMEOUT: Duration = Duration::from_secs(1);

pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let setup = OnPrimary::start(tools, 1, 0).await?;
    let crowd = setup.store.key("crowd").await?;
    setup.primary.admin(DATABASE).await?.batch_execute(INSERT_KEYS).await?;
    let began = Instant::now();
    let replicas = start_replicas(&setup.store, SERVERS).await?;
    report.time("ready with a million keys", began.elapsed(), READY_WITHIN);
    let (is_over, requests, wrong_status) = (Cell::new(false), Cell::new(0_u32), Cell::new(None));
    let flood = replicas.iter().cycle().take(FLOODING_CLIENTS).map(async |replica: &Replica| {
        while !is_over.get() {
            let key = ApiKey::generate(Environment::Production);
            let status = replica.key_status(key.expose()).await?;
            // The status is 429 if the address is above its limit of requests without a valid key.
            match status {
                401 | 429 => {}
                503 => bail!("an unknown key was answered 503"),
                _ => wrong_status.set(Some(status)),
            }
            requests.set(requests.get() + 1);
        }
        Ok(())
    });
    let others = async {
        let replica = replicas.first().context("there are replicas")?;
        let (mut refused, mut unavailable) = (0, 0);
        while !is_over.get() {
            match replica.key_status(&setup.key.text).await? {
                400 => {}
                503 => unavailable += 1,
                _ => refused += 1,
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        anyhow::Ok((refused, unavailable))
    };
    let changes = async {
        change_keys(&setup, &replicas, report).await?;
        change_account(&setup, &crowd, &replicas, report).await?;
        is_over.set(true);
        Ok(())
    };
    let ((refused, unavailable), (), _) = try_join3(others, changes, try_join_all(flood)).await?;
    report.expect(refused == 0, || format!("another key was refused {refused} times"));
    report.expect_unless_stalled(unavailable == 0, || format!("{unavailable} times 503"));
    let wrong_status = wrong_status.into_inner();
    report
        .expect(wrong_status.is_none(), || format!("an unknown key was answered {wrong_status:?}"));
    report.figure(format!("{ISSUED} keys; {} requests with unknown ones", requests.get()));
    Ok(())
}

/// Checks that every replica accepts each new key, and refuses each revoked key within
/// [`REVOCATION_TIMEOUT`].
async fn change_keys(
    setup: &OnPrimary,
    replicas: &[Replica],
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut longest = Duration::ZERO;
    for number in 1..=ISSUED {
        let fresh = setup.store.operate(|operator| operator.issue_another_key("crowd")).await?;
        let statuses = replicas.iter().map(|replica| replica.key_status(&fresh.text));
        for status in join_all(statuses).await {
            let status = status?;
            let text = || format!("fresh key {number}: {status}");
            report.expect(matches!(status, 400 | 503), text);
            report.expect_unless_stalled(status == 400, text);
        }
        if number <= REVOKED {
            setup.store.run(&["keys", "revoke", &fresh.id]).await?;
            longest = longest.max(measure_acceptance(&fresh, replicas).await?);
        }
    }
    expect_refused_in_time("a revoked key", longest, report);
    Ok(())
}

/// Checks that `accounts set-plan` and `accounts close` do not write the account's million keys.
/// Checks that servers refuse a key of the closed account within [`REVOCATION_TIMEOUT`].
async fn change_account(
    setup: &OnPrimary,
    crowd: &Key,
    replicas: &[Replica],
    report: &mut Report,
) -> anyhow::Result<()> {
    let admin = setup.primary.admin(DATABASE).await?;
    for command in [&["set-plan", "crowd", "--plan", "business"][..], &["close", "crowd", "--yes"]]
    {
        let began = Instant::now();
        setup.store.run(&[&["accounts"], command].concat()).await?;
        report.figure(format!("{} in {:.1?}", command.join(" "), began.elapsed()));
        let row = admin.query_one(ROWS_WRITTEN, &[]).await?;
        let rows_written: (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        report
            .expect(rows_written == (1, 0), || format!("{command:?} wrote {rows_written:?} rows"));
    }
    expect_refused_in_time(
        "a key of a closed account",
        measure_acceptance(crowd, replicas).await?,
        report,
    );
    Ok(())
}

/// Returns how long servers still accept a key that has just become invalid. Stops measuring once
/// the time is clearly too long.
async fn measure_acceptance(key: &Key, replicas: &[Replica]) -> anyhow::Result<Duration> {
    let (ended, mut longest) = (Instant::now(), Duration::ZERO);
    for replica in replicas {
        while longest <= 2 * REVOCATION_TIMEOUT {
            let sent = ended.elapsed();
            // An accepted key gets a 400, because `key_status` sends an invalid pet id. A refused
            // key may get a 401 or a 429.
            if replica.key_status(&key.text).await? != 400 {
                break;
            }
            longest = sent;
        }
    }
    Ok(longest)
}

/// Checks that servers did not accept an invalid key for longer than [`REVOCATION_TIMEOUT`]. Stalls
/// of the machine do not extend this limit, because a stalled server must refuse all keys until it
/// has read the store.
fn expect_refused_in_time(what: &str, accepted: Duration, report: &mut Report) {
    let text = format!("{what} is accepted for {accepted:.2?} (at most {REVOCATION_TIMEOUT:?})");
    report.figure(text.clone());
    report.expect(accepted <= REVOCATION_TIMEOUT, || text);
}
