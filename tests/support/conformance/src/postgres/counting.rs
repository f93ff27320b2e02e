//! Cases about request counts, which all servers of a store keep in one database.

use super::database::{Database, PostgresUnderTest, ServedPostgres};
use crate::engine::Engine;
use crate::records::refusal;
use crate::threads::join;
use anyhow::{Context, bail, ensure};
use slog::{Discard, Logger, o};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders::clock::Now;
use store_orders::rate_limiter::{
    CountsReport, Decision, KeyBan, KeyedRequest, RateLimitStatus, RateLimiter, Window,
};
use store_orders::store::OperatorStore;
use store_orders::store::postgres::SILENT_FOR;
use store_orders::store::postgres::{
    PostgresCountsReport, PostgresOperatorStore, begin_new_store, migrate, print_grants,
};
use store_orders_api::plans::PlanLimits;
use testbed::WAIT_TIMEOUT;
use tokio::sync::mpsc::unbounded_channel;

/// The time on a server's clock. It does not affect the counts, because PostgreSQL counts by its
/// own clock.
const NOW: Now = Now { monotonic: Duration::ZERO, wall: Duration::ZERO };

const DEREGISTER_TIMEOUT: Duration = Duration::from_secs(5);

fn admit_and_count(store: &ServedPostgres) -> anyhow::Result<u32> {
    let limits = store.rate_limiter(1_000, Logger::root(Discard, o!()));
    let plan = PlanLimits { per_minute: 10, per_day: 1_000 };
    let request = KeyedRequest { account: 1, key: 1, limits: plan, ban: KeyBan::default() };
    let deadline = Instant::now() + Duration::from_secs(5);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let decision = runtime.block_on(limits.admit(request, &Arc::from("key_1"), NOW, deadline));
    Ok(expect_admitted(decision)?.remaining)
}

pub fn expect_admitted(decision: Decision) -> anyhow::Result<RateLimitStatus> {
    match decision {
        Decision::Admitted(status) => Ok(status),
        Decision::Unavailable(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
        _ => bail!("{decision:?}"),
    }
}

fn exists(database: &Database<'_>, name: &str) -> anyhow::Result<bool> {
    database.value("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", &[&name])
}

pub fn all_servers_count_in_one_separate_database(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.empty_database("")?;
    let url = database.url_counting_in(None)?;
    let output = migrate(&url)?.lines;
    let name = url.limits_database();
    ensure!(output.first() == Some(&format!("created the database {name}")), "{output:?}");
    ensure!(admit_and_count(&database.server_of_owner()?)? == 9);
    ensure!(admit_and_count(&database.server_of_owner()?)? == 8);
    ensure!(PostgresCountsReport::open(&url)?.usage(1, NOW)?.minute.is_some());
    // If the database for the counts does not exist, servers and commands fail instead of creating
    // it.
    let other = database.name_of_another();
    let elsewhere = database.url_counting_in(Some(&other))?;
    let refusals = [
        database.server_at(elsewhere.clone(), SILENT_FOR).map(drop),
        PostgresCountsReport::open(&elsewhere).map(drop).map_err(Into::into),
        print_grants(&elsewhere, "replica").map(drop).map_err(Into::into),
    ];
    for refused in refusals {
        let refused = format!("{:#}", refused.err().context("not refused")?);
        let is_clear = refused.contains(&other) && refused.contains("`store-orders migrate`");
        ensure!(is_clear && !refused.contains('\n'), "{refused}");
    }
    ensure!(!exists(&database, &other)?, "{other} was created");
    migrate(&elsewhere)?;
    ensure!(admit_and_count(&database.server_at(elsewhere, SILENT_FOR)?)? == 9);
    let in_store = "SELECT to_regclass('limits_accounts') IS NOT NULL";
    ensure!(!database.value::<bool>(in_store, &[])?, "the store's database has counts");
    ensure!(database.commands()?.check()?.problems.is_empty());
    Ok(())
}

pub fn concurrent_migrations_create_one_database(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.empty_database("")?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| database.migrate())).collect();
        threads.into_iter().try_for_each(|one| join(one)?.map(drop))
    })?;
    database.server_of_owner().map(drop)
}

/// `add_server` simulates a suspended server, because it adds a row that gets no heartbeats.
pub fn a_new_store_id_removes_the_row_of_a_suspended_server(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let commands = database.commands_of_owner()?;
    database.add_server("now()")?;
    begin_new_store(&commands)?;
    ensure!(commands.replicas()?.is_empty(), "the suspended server's row was kept");
    Ok(())
}

pub fn counts_of_another_store_are_refused_and_follow_a_new_id(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let url = database.url_counting_in(None)?;
    let store = database.server_of_owner()?;
    ensure!(admit_and_count(&store)? == 9);
    store.deregister(DEREGISTER_TIMEOUT)?;
    begin_new_store(&PostgresOperatorStore::connect(&url)?)?;
    ensure!(admit_and_count(&database.server_of_owner()?)? == 8, "accounts keep their ids");
    let (other, name) = (server.new_store()?, url.limits_database());
    let refused = refusal(other.server_at(other.url_counting_in(Some(&name))?, SILENT_FOR))?;
    ensure!(refused.contains("has the request counts of another store"), "{refused}");
    other.server_of_owner()?;
    // Delete the database of the counts, as if only the store's database had been restored.
    database.execute(&format!("DROP DATABASE {name} WITH (FORCE)"))?;
    let commands = PostgresOperatorStore::connect(&url)?;
    let id = commands.id()?;
    ensure!(begin_new_store(&commands).is_err() && commands.id()? == id);
    migrate(&url)?;
    ensure!(admit_and_count(&database.server_of_owner()?)? == 9);
    Ok(())
}

/// A server refuses requests with a banned key or a daily limit of 0 without counting them. So it
/// refuses these requests even while the table of counts is locked.
pub fn banned_keys_and_zero_limits_are_refused_without_counting(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let store = database.server_of_owner()?;
    let limits = store.rate_limiter(1_000, Logger::root(Discard, o!()));
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
    expect_admitted(decide(1, none, 1_000, NOW))?;
    let limited = decide(1, none, 1_000, NOW);
    ensure!(matches!(limited, Decision::Limited(..)), "{limited:?}");
    let banned = decide(1, none, 1_000, NOW.after(Duration::from_secs(3)));
    ensure!(matches!(banned, Decision::Banned { begins: true, .. }), "{banned:?}");
    let new = begun.try_recv()?;
    ensure!((new.key, new.ban.seconds, new.ban.number) == (1, 300, 1), "{new:?}");
    let now = NOW.after(Duration::from_secs(100));
    let sibling = decide(2, none, 1_000, now);
    ensure!(matches!(sibling, Decision::Limited(..)), "{sibling:?}");
    let locks = "LOCK TABLE limits_accounts IN ACCESS EXCLUSIVE MODE";
    database.counts()?.before_commit(locks, || {
        // The ban applies even before it is stored in the key's row.
        for ban in [none, new.ban] {
            let Decision::Banned { status, begins: false } = decide(1, ban, 1_000, now) else {
                bail!("the key is not banned")
            };
            ensure!((200..=204).contains(&status.retry_after()), "{status:?}");
        }
        let zero_limit = decide(2, none, 0, now);
        ensure!(matches!(zero_limit, Decision::Limited(_, Window::Day)), "{zero_limit:?}");
        let lifted = decide(1, KeyBan { number: 2, ..none }, 1_000, now);
        ensure!(matches!(lifted, Decision::Unavailable(_)), "{lifted:?}");
        Ok(())
    })
}
