//! Tests that a session survives its own failed statements. It must also survive locks and slow
//! statements of other sessions. Settings of roles must not affect sessions.

use super::counting::expect_admitted;
use super::database::{Database, LOCK_CHANGES, PostgresUnderTest};
use crate::engine::Engine;
use crate::listing::{beginning, keys, keys_since, last_changes, list};
use crate::records::{NOW_MS, account_and_key, cancel, cancellation, import, new_key, now};
use crate::threads::join;
use anyhow::{Context, ensure};
use slog::{Discard, Logger, o};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders::api_key::{ApiKey, Digest, Environment};
use store_orders::clock::Now;
use store_orders::rate_limiter::{Decision, KeyBan, KeyedRequest, NewBan, RateLimiter};
use store_orders::store::postgres::{COMMAND, connect};
use store_orders::store::{CancelOutcome, Cancellation, OrderStatus, ROW_LOOKUPS, Records};
use store_orders_api::plans::{Plan, PlanLimits};
use store_orders_api::types::Pet;
use testbed::{WAIT_TIMEOUT, wait_blocking};
use tokio::sync::mpsc;

/// Longer than the 2 s that a server waits for the change lock, or for a request to be counted.
const EXTRA_LOCK_TIME: Duration = Duration::from_secs(3);

pub fn uses_of_locked_keys_are_skipped(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (store, commands) = (database.server_of_owner()?, database.commands()?);
    account_and_key(&*commands)?;
    commands.issue_key(&new_key("acme"), NOW_MS)?;
    database.before_commit("SELECT FROM keys WHERE row = 1 FOR UPDATE", || {
        Ok(store.record_last_used(&[(1, NOW_MS), (2, NOW_MS)])?)
    })?;
    let used = || -> anyhow::Result<Vec<_>> {
        Ok(commands.key_records()?.iter().map(|record| record.key.used_at).collect())
    };
    ensure!(used()? == [None, Some(NOW_MS)]);
    store.record_last_used(&[(1, NOW_MS + 1)])?;
    ensure!(used()? == [Some(NOW_MS + 1), Some(NOW_MS)]);
    Ok(())
}

/// The readiness check relies on `try_write`. So `try_write` must fail whenever a batch of
/// cancellations would fail.
pub fn a_server_reports_that_it_cannot_cancel(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let role = database.new_role()?;
    database.grant(&role)?;
    let store = database.server_of(&role)?;
    let backends = database.session_backends()?;
    store.try_write()?;
    let locked = database.before_commit(LOCK_CHANGES, || Ok(store.try_write()))?;
    ensure!(locked.is_err(), "the lock of changes is taken");
    store.try_write()?;
    database.execute(&format!("REVOKE INSERT ON changes FROM {role}"))?;
    ensure!(store.try_write().is_err(), "changes cannot be written");
    store.require_ready()?;
    ensure!(database.session_backends()? == backends, "the session was lost");
    Ok(())
}

/// After a 503, a client may send the request again to another server. So the first server must not
/// execute the request later.
pub fn no_request_is_executed_after_its_deadline(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (store, commands) = (database.server_of_owner()?, database.commands()?);
    import(&*commands, [1, 2])?;
    let deadline = Instant::now() + Duration::from_secs(1);
    let requests = [Cancellation { deadline, ..cancellation(1) }, cancellation(2)];
    let cancelled = std::thread::scope(|scope| {
        let batch = database.before_commit(LOCK_CHANGES, || {
            let batch = scope.spawn(|| store.cancel(&requests));
            while !batch.is_finished() && Instant::now() < deadline + EXTRA_LOCK_TIME {
                std::thread::sleep(Duration::from_millis(20));
            }
            Ok(batch)
        })?;
        join(batch)
    })?;
    let status = commands.order(1)?.context("the order is missing")?.status;
    ensure!(status == OrderStatus::Pending, "{cancelled:?}");
    Ok(())
}

/// If a request waits too long for a lock or for the result of a query, the request fails. The
/// session must stay open for later requests.
pub fn a_failed_statement_does_not_end_the_session(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (store, commands) = (database.server_of_owner()?, database.commands()?);
    import(&*commands, [1])?;
    let unknown = ApiKey::generate(Environment::Production).digest();
    let backends = database.session_backends()?;
    for table in ["orders", "keys"] {
        let read = database.before_commit(&format!("LOCK TABLE {table}"), || match table {
            "orders" => Ok(list(&store).is_err()),
            _ => Ok(store.look_up_keys(&[unknown]).is_err()),
        })?;
        ensure!(read, "{table} were read although locked");
        ensure!(database.session_backends()? == backends, "{table}: the session was lost");
    }
    let before = last_changes(&store)?.keys;
    let polled = database.before_commit("LOCK TABLE keys", || Ok(store.poll_keys(Some(before))))?;
    ensure!(polled.is_ok(), "polling reads keys although nothing changed");
    let are_refused = database.before_commit("LOCK TABLE pets", || {
        std::thread::scope(|scope| {
            let pets: Vec<_> = (0..ROW_LOOKUPS).map(|_| scope.spawn(|| store.pet(1))).collect();
            pets.into_iter().map(|pet| Ok(join(pet)?.is_err())).collect::<anyhow::Result<Vec<_>>>()
        })
    })?;
    ensure!(are_refused.iter().all(|refused| *refused), "pets were found although locked");
    ensure!(database.session_backends()? == backends, "locked pets: the session was lost");
    database.execute(
        "ALTER TABLE pets RENAME TO kept_pets;
         CREATE VIEW pets AS SELECT 1::bigint AS id, 'Rex' AS name FROM pg_sleep(60)",
    )?;
    ensure!(store.pet(1).is_err(), "a pet was found although the query takes a minute");
    ensure!(database.session_backends()? == backends, "a slow pet: the session was lost");
    ensure!(list(&store)?.len() == 1 && keys(&store)?.is_empty());
    Ok(())
}

/// While the table of counts is locked, the server cannot count requests, so it refuses them.
pub fn locked_counts_refuse_requests_but_keep_the_session(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (store, log) = (database.server_of_owner()?, Logger::root(Discard, o!()));
    let limits = store.rate_limiter(1_000, log);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (key_id, nothing) = (Arc::from("key_1"), Duration::ZERO);
    let now = Now { monotonic: nothing, wall: nothing };
    let plan = PlanLimits { per_minute: u32::MAX, per_day: u32::MAX };
    let request = KeyedRequest { account: 1, key: 1, limits: plan, ban: KeyBan::default() };
    let admit = || {
        let deadline = Instant::now() + Duration::from_secs(1);
        runtime.block_on(limits.admit(request, &key_id, now, deadline))
    };
    expect_admitted(admit())?;
    let backends = database.session_backends()?;
    let decision = database.counts()?.before_commit("LOCK TABLE limits_accounts", || {
        let began = Instant::now();
        let first = wait_blocking("an answer", EXTRA_LOCK_TIME, || Some(admit()))?;
        // Send requests until a statement's wait for the lock times out. The timeout must not end
        // the session.
        while began.elapsed() < 2 * EXTRA_LOCK_TIME {
            admit();
        }
        Ok(first)
    })?;
    ensure!(matches!(decision, Decision::Unavailable(_)), "{decision:?}");
    wait_blocking("a request is admitted", WAIT_TIMEOUT, || {
        matches!(admit(), Decision::Admitted(_)).then_some(())
    })?;
    ensure!(database.session_backends()? == backends, "the session was lost");
    Ok(())
}

/// A server without a lease refuses requests, so it must not count them.
pub fn requests_are_not_counted_without_a_lease(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (store, log) = (database.server_of_owner()?, Logger::root(Discard, o!()));
    let limits = store.rate_limiter(1_000, log);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (key_id, nothing) = (Arc::from("key_1"), Duration::ZERO);
    let now = Now { monotonic: nothing, wall: nothing };
    let plan = PlanLimits { per_minute: 100, per_day: 100 };
    let request = KeyedRequest { account: 1, key: 1, limits: plan, ban: KeyBan::default() };
    let admit = || {
        let deadline = Instant::now() + WAIT_TIMEOUT;
        runtime.block_on(limits.admit(request, &key_id, now, deadline))
    };
    expect_admitted(admit())?;
    // Each heartbeat locks the server's row in `replicas`. This transaction holds that lock, so no
    // heartbeat can be confirmed.
    let decision = database.before_commit("SELECT FROM replicas FOR UPDATE", || {
        wait_blocking("the lease expires", WAIT_TIMEOUT, || store.require_ready().err())?;
        Ok(admit())
    })?;
    ensure!(matches!(decision, Decision::Unavailable(_)), "{decision:?}");
    let counted = "SELECT day_requests FROM limits_accounts WHERE account = 1";
    let counted: i64 = database.counts()?.value(counted, &[])?;
    ensure!(counted == 1, "{counted} requests were counted");
    wait_blocking("a request is admitted", WAIT_TIMEOUT, || expect_admitted(admit()).ok())?;
    Ok(())
}

/// Storing a ban needs the change lock. Lists and lookups must not wait until the ban is stored.
pub fn a_ban_that_waits_for_the_change_lock_delays_nothing_else(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (store, commands) = (database.server_of_owner()?, database.commands()?);
    import(&*commands, [1])?;
    account_and_key(&*commands)?;
    let ban = KeyBan { ends_at_ms: NOW_MS, seconds: 300, number: 1 };
    let new = NewBan { key: 1, ban };
    let backends = database.session_backends()?;
    std::thread::scope(|scope| {
        let banning = database.before_commit(LOCK_CHANGES, || {
            let banning = scope.spawn(|| store.record_bans(&[new]));
            database.wait_for_lock()?;
            ensure!(list(&store)?.len() == 1 && store.pet(1)?.is_none());
            Ok(banning)
        })?;
        join(banning)?.context("the ban was not recorded")
    })?;
    ensure!(keys(&store)?.into_values().all(|record| record.key.ban == ban));
    ensure!(cancel(&store, &[1])? == [CancelOutcome::Cancelled]);
    let backends_after = wait_blocking("its connection is closed", WAIT_TIMEOUT, || {
        database.session_backends().ok().filter(|after| *after == backends)
    });
    ensure!(backends_after.is_ok(), "the session was lost");
    Ok(())
}

fn wait_for_sleeping_statement(database: &Database<'_>, what: &str) -> anyhow::Result<()> {
    let sleeps = "SELECT EXISTS (SELECT FROM pg_stat_activity
                                WHERE datname = current_database() AND wait_event = 'PgSleep')";
    wait_blocking(what, WAIT_TIMEOUT, || database.value::<bool>(sleeps, &[]).ok()?.then_some(()))
}

/// The removal of old rows of the journal may take longer than a second. Lookups of pets and orders
/// must not wait for the removal.
pub fn rows_are_looked_up_while_old_changes_are_removed(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (store, commands) = (database.server_of_owner()?, database.commands()?);
    import(&*commands, [1])?;
    import(&*commands, [2])?;
    let backends = database.session_backends()?;
    database.execute(
        "CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql
             AS 'BEGIN PERFORM pg_sleep(60); RETURN NULL; END';
         CREATE TRIGGER pause BEFORE DELETE ON changes FOR EACH ROW EXECUTE FUNCTION pause();
         UPDATE changes SET made_at = now() - interval '11 minutes'",
    )?;
    let sleeping = || {
        let sleeping = "SELECT min(pid || ' ' || query_start) FROM pg_stat_activity
                        WHERE datname = current_database() AND wait_event = 'PgSleep'";
        database.value::<Option<String>>(sleeping, &[]).ok()?
    };
    wait_blocking("rows are read while a statement sleeps", WAIT_TIMEOUT, || {
        let statement = sleeping()?;
        store.pet(1).ok()?;
        store.cancelled_order(1).ok()?;
        (sleeping()? == statement).then_some(())
    })?;
    ensure!(database.session_backends()? == backends, "the session was lost");
    Ok(())
}

/// Other reads must not wait for a read of millions of orders, which takes seconds.
pub fn pets_and_keys_are_read_while_orders_are_read(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    /// More orders than fit into the channel, so that the read of orders cannot end before the
    /// other reads.
    const MANY: i64 = 5_000;
    let database = server.new_store()?;
    let (served, commands) = (database.server_of_owner()?, database.commands()?);
    commands.import(Records::Pets(&[Pet { id: 1, name: "Rex".to_string() }]), false)?;
    let store = &served.store;
    let beside = async |after| -> anyhow::Result<i64> {
        let (sender, mut orders) = mpsc::channel::<Vec<_>>(1);
        let beside = async {
            let mut sent = orders.recv().await.context("no order was sent")?.len();
            ensure!(store.pet(1).await?.is_some());
            ensure!(store.look_up_keys(vec![Digest([0; 32])]).await?.keys.is_empty());
            while let Some(some) = orders.recv().await {
                sent += some.len();
            }
            Ok(i64::try_from(sent)?)
        };
        let (read, beside) = tokio::join!(store.send_orders_since(after, sender), beside);
        read?;
        beside
    };
    import(&*commands, 1..=MANY)?;
    ensure!(served.wait(beside(beginning(&served)?))? == MANY);
    let before = last_changes(&served)?.orders;
    import(&*commands, MANY + 1..=2 * MANY)?;
    ensure!(served.wait(beside(before))? == MANY);
    Ok(())
}

pub fn changed_keys_are_read_while_a_pet_is_looked_up(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (store, commands) = (database.server_of_owner()?, database.commands()?);
    commands.create_account("acme", Plan::Free, None, now())?;
    let before = last_changes(&store)?.keys;
    commands.create_account("umbrella", Plan::Free, None, now())?;
    database.execute(
        "ALTER TABLE pets RENAME TO kept_pets;
         CREATE VIEW pets AS SELECT 1::bigint AS id, 'Rex' AS name FROM pg_sleep(60)",
    )?;
    let accounts = std::thread::scope(|scope| {
        let pet = scope.spawn(|| store.pet(1).is_err());
        wait_for_sleeping_statement(&database, "the pet is looked up")?;
        let accounts = keys_since(&store, before)?.0.0.len();
        ensure!(!pet.is_finished(), "the keys waited for the pet");
        anyhow::Ok(accounts)
    })?;
    ensure!(accounts == 1, "{accounts} accounts changed");
    Ok(())
}

fn read_command_settings(url: &str, names: &[&str]) -> anyhow::Result<String> {
    let settings = "SELECT string_agg(current_setting(name), '|') FROM unnest($1::text[]) name";
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let connection = connect(&url.parse()?, &COMMAND, Duration::from_secs(5)).await?;
        Ok(connection.client.query_one(settings, &[&names]).await?.try_get(0)?)
    })
}

/// A role may have settings that would lose acknowledged cancellations or end every session.
/// Sessions override these settings.
pub fn role_settings_do_not_affect_sessions(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let role = database.new_role()?;
    database.grant(&role)?;
    let hostile = [
        ("client_min_messages", "error"),
        ("synchronous_commit", "off"),
        ("default_transaction_isolation", "serializable"),
        ("default_transaction_deferrable", "on"),
        ("statement_timeout", "'1ms'"),
        ("lock_timeout", "'1ms'"),
        ("idle_in_transaction_session_timeout", "'1ms'"),
        ("idle_session_timeout", "'1ms'"),
        ("search_path", "public, pg_catalog"),
    ];
    for (setting, value) in hostile {
        database.execute(&format!("ALTER ROLE {role} SET {setting} = {value}"))?;
    }
    let names: Vec<&str> = hostile.iter().map(|(setting, _)| *setting).collect();
    let settings = read_command_settings(&database.url_for(&role), &names)?;
    ensure!(settings == "warning|on|read committed|off|0|1min|20s|0|public", "{settings}");
    let store = database.server_of(&role)?;
    import(&*database.commands()?, [1])?;
    cancel(&store, &[1])?;
    store.require_ready()?;
    store.pet(1)?;
    Ok(())
}

/// A command waits for a heartbeat even if the server's row looks old. After a failover, the row of
/// a running server looks old if the new primary's clock is ahead of the old primary's clock.
pub fn a_command_waits_for_a_server_regardless_of_clocks(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let commands = database.commands()?;
    // This row gets no heartbeats, as if its server still sent them to the old primary.
    database.add_server("now() - interval '120 s'")?;
    let began = Instant::now();
    commands.await_servers();
    ensure!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    Ok(())
}

pub fn sessions_and_their_server_use_tcp_keepalives(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let names = [
        "tcp_keepalives_idle",
        "tcp_keepalives_interval",
        "tcp_keepalives_count",
        "tcp_user_timeout",
    ];
    let settings = read_command_settings(&database.url(), &names)?;
    // PostgreSQL applies these settings to its end of the connection. The times are in seconds,
    // except `tcp_user_timeout`, which is in milliseconds.
    ensure!(settings == "10|5|4|30000", "{settings}");
    Ok(())
}
