//! Orders are counted, and all keys are read, for longer than other answers may take: both come
//! to their end, lists go on during the count, and no session ends.

use super::setup::{OnPrimary, expect_agreement, start_replicas};
use crate::scenario::Tools;
use anyhow::Context;
use std::time::{Duration, Instant};
use testbed::Report;
use testbed::postgres::DATABASE;

const ORDERS: i64 = 12;

/// How many keys there are in addition to the clients'.
const KEYS: usize = 10;

/// Views in the place of the tables, with a column that can take its time: the status of the
/// first orders, and the digest of each key. Cancellations, which are prepared, need a trigger.
const VIEWS: &str = "
    CREATE FUNCTION wait(bigint) RETURNS boolean STABLE LANGUAGE plpgsql
        AS 'BEGIN RETURN true; END';
    ALTER TABLE orders RENAME TO all_orders;
    CREATE VIEW orders AS
        SELECT id, pet_id, quantity, ship_date, complete, changed_in, cancelled_at, cancelled_by,
               cancelled_in,
               CASE WHEN id >= 100 THEN status WHEN wait(id) THEN status END AS status
        FROM all_orders;
    CREATE FUNCTION cancel() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE TRIGGER cancel INSTEAD OF UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION cancel();
    ALTER TABLE keys RENAME TO all_keys;
    CREATE VIEW keys AS
        SELECT \"row\", id, account, expires_at, revoked_at, used_at, unbanned_at, changed_in,
               CASE WHEN wait(\"row\") THEN digest END AS digest
        FROM all_keys";

/// Counting reads the status of an order three times: 13 s. Reading the keys takes 4 s.
const BE_SLOW: &str = "
    CREATE OR REPLACE FUNCTION wait(bigint) RETURNS boolean STABLE LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_sleep(0.36); RETURN true; END'";

const CHANGE_ORDERS: &str = "
    INSERT INTO changes (version, orders, keys)
    SELECT version + 1, version + 1, keys FROM changes ORDER BY version DESC LIMIT 1;
    INSERT INTO all_orders (id, pet_id, quantity, complete, status, changed_in)
    SELECT 100, 7, 1, false, 'pending', max(version) FROM changes";

/// All of them.
const CHANGE_KEYS: &str = "
    INSERT INTO changes (version, orders, keys)
    SELECT version + 1, orders, version + 1 FROM changes ORDER BY version DESC LIMIT 1;
    UPDATE all_keys SET changed_in = (SELECT max(version) FROM changes)";

/// How long a list takes that reads a change.
const LISTED_WITHIN: Duration = Duration::from_secs(2);

/// How long each may take.
const COUNTED_WITHIN: Duration = Duration::from_secs(25);
const KEYS_READ_WITHIN: Duration = Duration::from_secs(10);

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let OnPrimary { cluster: _cluster, primary, store, key, .. } =
        OnPrimary::start(tools, ORDERS, 0).await?;
    for number in 0..KEYS {
        store.key(&format!("account-{number}")).await?;
    }
    let admin = primary.admin(DATABASE).await?;
    admin.batch_execute(VIEWS).await?;
    let replicas = start_replicas(&store, 1).await?;
    let replica = replicas.first().context("there is a replica")?;
    admin.batch_execute(BE_SLOW).await?;

    let began = Instant::now();
    replica.metrics().await?;
    admin.batch_execute(CHANGE_ORDERS).await?;
    let changed = Instant::now();
    let list = String::from_utf8(replica.list(&key).await?)?;
    report.expect(list.contains("{\"id\":100,"), || "a list lacks the change".to_string());
    report.time("a list during the count", changed.elapsed(), LISTED_WITHIN);
    while !replica.metrics().await?.contains("store_orders_orders{state=\"pending\"} ") {
        if began.elapsed() > 2 * COUNTED_WITHIN {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    report.time("orders counted", began.elapsed(), COUNTED_WITHIN);

    admin.batch_execute(CHANGE_KEYS).await?;
    let changed = Instant::now();
    // Until the server knows which keys are valid, it takes none.
    tokio::time::sleep(LISTED_WITHIN).await;
    while let Err(error) = replica.list(&key).await {
        anyhow::ensure!(changed.elapsed() < 2 * KEYS_READ_WITHIN, "{error:#}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    report.time("keys read", changed.elapsed(), KEYS_READ_WITHIN);
    let log = replica.server.log();
    report.expect(!log.contains("store lost"), || format!("a session ended: {log}"));
    expect_agreement(&replicas, &key, report).await
}
