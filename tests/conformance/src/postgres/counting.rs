//! Where requests are counted: all servers of a store count in one database.

use super::database::{Database, PostgresUnderTest};
use crate::engine::Engine;
use crate::records::refusal;
use crate::threads::joined;
use anyhow::{bail, ensure};
use slog::{Discard, Logger, o};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders::clock::Now;
use store_orders::limits::{
    Decision, KeyBan, KeyedRequest, Limits, LimitsReport, RateLimitStatus, Window,
};
use store_orders::store::Store;
use store_orders::store::postgres::SILENT_FOR;
use store_orders::store::postgres::{
    PostgresCommands, PostgresLimitsReport, PostgresStore, PostgresUrl, begin_new_store, migrate,
    move_counts, print_grants,
};
use store_orders_api::plans::PlanLimits;
use testbed::{WAIT_TIMEOUT, wait_blocking};
use tokio::sync::mpsc::unbounded_channel;

/// No clock of a server has a part in the counting.
const NOW: Now = Now { monotonic: Duration::ZERO, wall: Duration::ZERO };

const LEAVES_WITHIN: Duration = Duration::from_secs(5);

/// A request of account 1 that this server admits; how many remain in its minute.
fn remaining(store: &PostgresStore) -> anyhow::Result<u32> {
    let limits = store.limits(1_000, Logger::root(Discard, o!()));
    let plan = PlanLimits { per_minute: 10, per_day: 1_000 };
    let request = KeyedRequest { account: 1, key: 1, limits: plan, ban: KeyBan::default() };
    let deadline = Instant::now() + Duration::from_secs(5);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let decision = runtime.block_on(limits.admit(request, &Arc::from("key_1"), NOW, deadline));
    Ok(admitted(decision)?.remaining)
}

/// What an admission says. One that was not counted in time is an error of its own kind.
pub fn admitted(decision: Decision) -> anyhow::Result<RateLimitStatus> {
    match decision {
        Decision::Admitted(status) => Ok(status),
        Decision::Unavailable(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
        _ => bail!("{decision:?}"),
    }
}

/// The text with which everything that would count, or show counts, refuses this URL.
fn refused_everywhere(database: &Database<'_>, url: &PostgresUrl) -> anyhow::Result<String> {
    let refused = refusal(migrate(url))?;
    let others = [
        refusal(database.server_at(url.clone(), SILENT_FOR))?,
        refusal(PostgresLimitsReport::open(url))?,
        refusal(print_grants(url, "replica"))?,
    ];
    ensure!(others.iter().all(|other| *other == refused), "{refused}\n{others:?}");
    ensure!(!refused.contains('\n'), "{refused}");
    Ok(refused)
}

fn exists(database: &Database<'_>, name: &str) -> anyhow::Result<bool> {
    database.value("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", &[&name])
}

pub fn servers_that_count_in_two_databases_are_refused(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.empty_database("")?;
    let own = database.url_counting_in(None)?;
    migrate(&own)?;
    let name = database.name_of_another();
    let elsewhere = database.url_counting_in(Some(&name))?;
    let refused = refused_everywhere(&database, &elsewhere)?;
    let expected = format!(
        "the store records that requests are counted in its own database, and --limits-database \
         is {name:?}; fix: unset it, or stop all servers and move the counts with `store-orders \
         migrate --move-counts`"
    );
    ensure!(refused == expected, "{refused}");
    ensure!(!exists(&database, &name)?, "{name} was created");
    // The store's own database by its name.
    let path = database.url();
    let own_name = path.rsplit_once('/').map(|(_, name)| name);
    ensure!(remaining(&database.server_at(database.url_counting_in(own_name)?, SILENT_FOR)?)? == 9);
    ensure!(remaining(&database.server_at(own, SILENT_FOR)?)? == 8);

    let database = server.empty_database("")?;
    let name = database.name_of_another();
    let elsewhere = database.url_counting_in(Some(&name))?;
    migrate(&elsewhere)?;
    let refused = refused_everywhere(&database, &database.url_counting_in(None)?)?;
    let expected = format!(
        "counted in the database {name:?}, and --limits-database is not set; fix: set it to \
         {name:?}, or stop"
    );
    ensure!(refused.contains(&expected), "{refused}");
    let has_none: bool = database.value("SELECT to_regclass('limits_accounts') IS NULL", &[])?;
    ensure!(has_none, "the store's own database has counts");
    let refused = refused_everywhere(&database, &database.url_counting_in(Some("third"))?)?;
    ensure!(refused.contains("--limits-database is \"third\""), "{refused}");
    ensure!(remaining(&database.server_at(elsewhere.clone(), SILENT_FOR)?)? == 9);
    ensure!(PostgresLimitsReport::open(&elsewhere)?.usage(1, NOW)?.minute.is_some());
    ensure!(database.commands()?.check()?.problems.is_empty());
    Ok(())
}

pub fn migrations_at_once_record_one_database(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.empty_database("")?;
    let names: Vec<String> = (0..2).map(|_| database.name_of_another()).collect();
    let places = [None, names.first(), names.last()].map(|name| name.map(String::as_str));
    let done = std::thread::scope(|scope| {
        let threads: Vec<_> = (places.iter().cycle().take(6))
            .map(|place| {
                let url = database.url_counting_in(*place);
                scope.spawn(move || anyhow::Ok((*place, migrate(&url?).is_ok())))
            })
            .collect();
        threads.into_iter().map(|one| joined(one)?).collect::<anyhow::Result<Vec<_>>>()
    })?;
    let recorded: Vec<_> =
        done.iter().filter_map(|(place, is_done)| is_done.then_some(*place)).collect();
    let [first, second] = recorded[..] else { anyhow::bail!("{done:?}") };
    ensure!(first == second, "{done:?}");
    for place in places {
        let served = database.server_at(database.url_counting_in(place)?, SILENT_FOR).is_ok();
        ensure!(served == (place == first), "{place:?}, {done:?}");
        if let Some(name) = place {
            ensure!(exists(&database, name)? == served, "{name}");
        }
    }
    Ok(())
}

/// As after a `migrate` that was interrupted.
pub fn a_store_without_a_record_is_not_served(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.new_store()?;
    database.execute("DELETE FROM limits_location")?;
    let name = database.name_of_another();
    let url = database.url_counting_in(Some(&name))?;
    let refused = refusal(database.server_at(url.clone(), SILENT_FOR))?;
    ensure!(refused.contains("does not record where requests are counted"), "{refused}");
    ensure!(refused.contains("`store-orders migrate`"), "{refused}");
    let problems = database.commands()?.check()?.problems;
    ensure!(problems == ["limits_location: 0 rows instead of one"], "{problems:?}");
    migrate(&url)?;
    database.server_at(url, SILENT_FOR)?;
    refusal(database.server_of_owner())?;
    Ok(())
}

pub fn counts_are_moved_while_no_server_runs(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let own = database.url_counting_in(None)?;
    let name = database.name_of_another();
    let elsewhere = database.url_counting_in(Some(&name))?;
    let store = database.server_at(own.clone(), SILENT_FOR)?;
    ensure!(remaining(&store)? == 9);
    let refused = refusal(move_counts(&elsewhere))?;
    ensure!(refused.contains("uses the database; stop all servers"), "{refused}");
    ensure!(!exists(&database, &name)? && remaining(&store)? == 8);
    store.deregister(LEAVES_WITHIN)?;

    let done = move_counts(&own)?;
    ensure!(done == ["requests are counted in its own database already; nothing to do"]);
    let done = move_counts(&elsewhere)?;
    let last =
        format!("requests are counted in the database {name:?}; windows and bans start afresh");
    ensure!(done.first() == Some(&format!("created the database {name}")), "{done:?}");
    ensure!(done.last() == Some(&last), "{done:?}");
    refused_everywhere(&database, &own)?;
    let store = database.server_at(elsewhere.clone(), SILENT_FOR)?;
    ensure!(remaining(&store)? == 9);
    store.deregister(LEAVES_WITHIN)?;
    // What was counted there before does not come back.
    move_counts(&own)?;
    refused_everywhere(&database, &elsewhere)?;
    let store = database.server_at(own, SILENT_FOR)?;
    ensure!(remaining(&store)? == 9);
    Ok(())
}

/// Its row is silent, as that of a server that is suspended.
pub fn a_server_that_was_suspended_meanwhile_does_not_count_in_the_old_place(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let commands = database.commands_of_owner()?;
    let elsewhere = database.url_counting_in(Some(&database.name_of_another()))?;
    database.add_server("now()")?;
    move_counts(&elsewhere)?;
    ensure!(commands.replicas()?.is_empty(), "it finds its row when it goes on");
    database.add_server("now()")?;
    begin_new_store(&commands)?;
    ensure!(commands.replicas()?.is_empty(), "it finds its row when it goes on");
    Ok(())
}

/// The counts are moved between its first look at the store and its registration.
pub fn a_server_that_registers_afterwards_does_not_count_in_the_old_place(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let moved = "LOCK TABLE replicas IN SHARE MODE; UPDATE limits_location SET database = 'counts'";
    let started = std::thread::scope(|scope| {
        let starting = database.before_commit(moved, || {
            let starting = scope.spawn(|| database.server_of_owner());
            database.wait_for_lock()?;
            Ok(starting)
        })?;
        joined(starting)
    })?;
    let refused = refusal(started)?;
    ensure!(refused.contains("counted in the database \"counts\""), "{refused}");
    ensure!(database.commands_of_owner()?.replicas()?.is_empty(), "a server was left registered");
    Ok(())
}

/// A server that starts while the counts are moved may have read the earlier record.
pub fn a_server_is_not_ready_after_its_counts_were_moved(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let store = database.server_of_owner()?;
    store.require_ready()?;
    database.execute("UPDATE limits_location SET database = 'counts'")?;
    let reason =
        wait_blocking("the server is not ready", WAIT_TIMEOUT, || store.require_ready().err())?;
    ensure!(reason.to_string().contains("counted in the database \"counts\""), "{reason}");
    Ok(())
}

pub fn counts_of_another_store_are_refused(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.empty_database("")?;
    let name = database.name_of_another();
    let url = database.url_counting_in(Some(&name))?;
    migrate(&url)?;
    let store = database.server_at(url.clone(), SILENT_FOR)?;
    ensure!(remaining(&store)? == 9);
    store.deregister(LEAVES_WITHIN)?;
    begin_new_store(&PostgresCommands::connect(&url)?)?;
    let refused = refusal(database.server_at(url.clone(), SILENT_FOR))?;
    ensure!(refused.contains("has the request counts of another store"), "{refused}");
    let other = server.new_store()?;
    let refused = refusal(move_counts(&other.url_counting_in(Some(&name))?))?;
    ensure!(refused.contains("has the request counts of another store"), "{refused}");
    other.server_of_owner()?;

    database.execute(&format!("DROP DATABASE {name} WITH (FORCE)"))?;
    migrate(&url)?;
    ensure!(remaining(&database.server_at(url, SILENT_FOR)?)? == 9);
    Ok(())
}

/// They are refused at once while nobody can count, so they keep nobody else waiting. A sibling of
/// the banned key is counted like any other.
pub fn a_banned_key_and_a_shut_account_wait_for_no_count(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let store = database.server_of_owner()?;
    let limits = store.limits(1_000, Logger::root(Discard, o!()));
    let (sender, mut begun) = unbounded_channel();
    limits.bans().send_to(Some(sender));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let decide = |key, ban, per_day, now| {
        let limits_of = PlanLimits { per_minute: 1, per_day };
        let request = KeyedRequest { account: 1, key, limits: limits_of, ban };
        let deadline = Instant::now() + WAIT_TIMEOUT;
        runtime.block_on(limits.admit(request, &Arc::from("key_1"), now, deadline))
    };
    let none = KeyBan::default();
    admitted(decide(1, none, 1_000, NOW))?;
    let limited = decide(1, none, 1_000, NOW);
    ensure!(matches!(limited, Decision::Limited(..)), "{limited:?}");
    let banned = decide(1, none, 1_000, NOW.after(Duration::from_secs(3)));
    ensure!(matches!(banned, Decision::Banned { begins: true, .. }), "{banned:?}");
    let new = begun.try_recv()?;
    ensure!((new.key, new.ban.seconds, new.ban.number) == (1, 300, 1), "{new:?}");
    let now = NOW.after(Duration::from_secs(100));
    let sibling = decide(2, none, 1_000, now);
    ensure!(matches!(sibling, Decision::Limited(..)), "{sibling:?}");
    database.before_commit("LOCK TABLE limits_accounts IN ACCESS EXCLUSIVE MODE", || {
        // Before it is in the key's row, and afterwards.
        for ban in [none, new.ban] {
            let Decision::Banned { status, begins: false } = decide(1, ban, 1_000, now) else {
                bail!("the key is not banned")
            };
            ensure!((200..=204).contains(&status.retry_after()), "{status:?}");
        }
        let shut = decide(2, none, 0, now);
        ensure!(matches!(shut, Decision::Limited(_, Window::Day)), "{shut:?}");
        let lifted = decide(1, KeyBan { number: 2, ..none }, 1_000, now);
        ensure!(matches!(lifted, Decision::Unavailable(_)), "{lifted:?}");
        Ok(())
    })
}
