//! Imports while servers run, and imports that fail.

use super::database::PostgresUnderTest;
use crate::engine::Engine;
use crate::listing::{changed_ids, list, versions};
use crate::records::{cancel, cancellation, import, pending, refusal};
use anyhow::{Context, ensure};
use std::cell::{Cell, RefCell};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use store_orders::store::postgres::{PostgresCommands, print_grants};
use store_orders::store::{
    CancelOutcome, Cancellation, OperatorStore, OrderCommands, OrderCounts, ReadAhead, RecordKind,
    Records, Store,
};
use store_orders_api::types::Pet;

/// Longer than what COPY sends at once.
const LONG: i64 = 20_000;

/// What a client waits for a cancellation.
const PATIENCE: Duration = Duration::from_secs(5);

/// Does what a thread cannot that belongs to a runtime, as in a call of the import's progress.
pub fn on_another_thread<T: Send>(
    work: impl FnOnce() -> anyhow::Result<T> + Send,
) -> anyhow::Result<T> {
    std::thread::scope(|scope| scope.spawn(work).join())
        .map_err(|_| anyhow::anyhow!("the other thread panicked"))?
}

pub fn a_short_import_holds_up_no_cancellation(server: &PostgresUnderTest) -> anyhow::Result<()> {
    an_import_of(20, server)
}

pub fn a_long_import_holds_up_no_cancellation(server: &PostgresUnderTest) -> anyhow::Result<()> {
    an_import_of(LONG, server)
}

fn an_import_of(length: i64, server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (store, commands) = (database.serving()?, database.commands()?);
    import(&*commands, 1..=10)?;
    let before = versions(&*store)?;
    let orders: Vec<_> = (1_001..=1_000 + length).map(pending).collect();
    let (written, meanwhile) = (Cell::new(0), RefCell::new(Vec::new()));
    let progress = || {
        written.set(written.get() + 1);
        if written.get() % (length / 10) == 0 {
            let id = written.get() / (length / 10);
            let asked = Cancellation { deadline: Instant::now() + PATIENCE, ..cancellation(id) };
            let cancel_and_list = || Ok((store.cancel(&[asked])?.outcomes, list(&*store)?.len()));
            meanwhile.borrow_mut().push(on_another_thread(cancel_and_list));
        }
    };
    commands.import(Records::Orders(&orders), false, &progress)?;
    for (cancelled, seen) in meanwhile.into_inner().into_iter().enumerate() {
        let (done, listed) = seen?;
        ensure!(done == [CancelOutcome::Cancelled], "{done:?}");
        ensure!(listed == 9 - cancelled, "a part of the import is listed: {listed}");
    }
    ensure!(list(&*store)?.len() == orders.len());
    let after = versions(&*store)?;
    ensure!(after.orders > before.orders + 10, "{after:?}");
    // The next change goes on from there.
    cancel(&*store, &[1_001])?;
    ensure!(versions(&*store)?.orders == after.orders + 1);
    Ok(())
}

pub fn an_import_whose_connection_is_lost_stores_nothing(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (commands, done) = (database.commands()?, Cell::new(0));
    let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let outcome = RefCell::new(None);
    let progress = || {
        done.set(done.get() + 1);
        if done.get() == LONG / 2 {
            *outcome.borrow_mut() = Some(on_another_thread(|| database.execute(kill)));
        }
    };
    let orders: Vec<_> = (1..=LONG).map(pending).collect();
    let refused = refusal(commands.import(Records::Orders(&orders), false, &progress))?;
    ensure!(refused == "the store cannot be written", "{refused}");
    ensure!(matches!(outcome.into_inner(), Some(Ok(()))));
    let commands = database.commands()?;
    ensure!(commands.check()?.orders == Some(OrderCounts::default()));
    commands.import(Records::Orders(&orders), false, &|| ())?;
    ensure!(commands.check()?.orders.map(|orders| orders.pending) == Some(LONG));
    Ok(())
}

/// Three orders as a command stores them, before they are a change.
const STORE: &str = "
    INSERT INTO orders (id, pet_id, quantity, complete, status, changed_in)
    SELECT n, 7, 1, false, 'pending', version + 1000000000
    FROM generate_series(11, 13) n, (SELECT max(version) AS version FROM changes) v";

/// What the command holds meanwhile.
const LOCK: &str = "SELECT pg_advisory_lock(x'73746f7200000002'::bigint),
                           pg_advisory_lock_shared(x'73746f7200000003'::bigint)";

/// Ends its wait, if no server reads.
const IS_READ: &str = "SELECT pg_try_advisory_lock(x'73746f7200000003'::bigint)";

const SHOW: &str = "
    INSERT INTO changes (version, orders, keys)
    SELECT highest, highest, keys FROM (SELECT max(changed_in) FROM orders) AS o (highest),
        (SELECT keys FROM changes ORDER BY version DESC LIMIT 1) AS last";

const LEFT: &str = "
    INSERT INTO orders (id, pet_id, quantity, complete, status, changed_in)
    SELECT 20, 7, 1, false, 'pending', max(changed_in) - 1 FROM orders";

pub fn an_import_that_was_read_ahead_is_shown_at_once(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (store, commands) = (database.server_of_owner()?, database.commands_of_owner()?);
    import(&commands, 1..=3)?;
    let before = versions(&store)?.of_orders();
    database.with(async |client| {
        client.batch_execute(LOCK).await?;
        ensure!(!on_another_thread(|| Ok(store.for_each_order_ahead(&mut |_| ())?.is_some()))?);
        client.batch_execute(STORE).await?;
        let read = on_another_thread(|| {
            ensure!(store.has_import_ahead()?);
            let mut orders = 0;
            let read = store.for_each_order_ahead(&mut |_| orders += 1)?;
            ensure!(orders == 3, "{orders} were read ahead");
            // No part of it is shown yet, whatever else is. One of its orders can be cancelled.
            cancel(&store, &[2, 12])?;
            ensure!(list(&store)?.len() == 2 && commands.check()?.problems.is_empty());
            Ok(read)
        })?;
        let (ahead, import_waits) = read.context("it was not awaited")?;
        ensure!(!client.query_one(IS_READ, &[]).await?.get::<_, bool>(0));
        drop(import_waits);
        while !client.query_one(IS_READ, &[]).await?.get::<_, bool>(0) {}
        client.batch_execute(SHOW).await?;
        // It stands for those of an import that was rolled back: they are not even passed over.
        client.batch_execute(LEFT).await?;
        on_another_thread(|| {
            // A list whose check was before it shows what was there then.
            let mut others = 0;
            let read = store.for_each_order_since(before, Some(ahead), &mut |_| others += 1)?;
            ensure!(others == 2 && ahead.version.has_more_than(read), "{others}, {read:?}");
            let ahead = ReadAhead { is_shown: true, ..ahead };
            let mut others = 0;
            store.for_each_order_since(before, Some(ahead), &mut |_| others += 1)?;
            ensure!(others == 2, "{others} changes apart from the import");
            Ok(())
        })?;
        client.batch_execute("DELETE FROM orders WHERE id = 20").await?;
        on_another_thread(|| {
            ensure!(changed_ids(&store, before)? == [-2, 11, -12, 13]);
            let session = ahead.session + Duration::from_nanos(1);
            let other = ReadAhead { session, is_shown: true, ..ahead };
            let read = store.for_each_order_since(before, Some(other), &mut |_| ());
            ensure!(read.is_err(), "it was read in another session");
            Ok(())
        })
    })
}

pub fn an_import_whose_command_was_killed_is_completed(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (commands, role) = (database.commands_of_owner()?, database.new_role()?);
    database.execute(&print_grants(&database.url().parse()?, &role)?)?;
    import(&commands, 1..=3)?;
    database.execute(STORE)?;
    ensure!(!commands.check()?.problems.is_empty(), "it is not a change");
    let store = database.server_of(&role)?;
    ensure!(list(&store)?.len() == 3 && !store.has_import_ahead()? && list(&store)?.len() == 6);
    // Without a server, the next command completes it.
    database.execute("DELETE FROM orders WHERE id > 10")?;
    database.execute(STORE)?;
    import(&commands, [20])?;
    ensure!(list(&store)?.len() == 7 && commands.check()?.problems.is_empty());
    Ok(())
}

/// Rows of an import that was rolled back, at the end of the index of changes: hundreds of its
/// pages.
const ROLLED_BACK: &str = "
    BEGIN;
    INSERT INTO orders (id, pet_id, quantity, complete, status, changed_in)
    SELECT n, 7, 1, false, 'pending', version + 1000000000
    FROM generate_series(1001, 200000) n, (SELECT max(version) AS version FROM changes) v;
    ROLLBACK";

/// How often the index of changes was searched, and how many of its pages were looked at.
const SEARCHES: &str = "
    SELECT idx_scan, idx_blks_hit + idx_blks_read
    FROM pg_stat_user_indexes JOIN pg_statio_user_indexes USING (indexrelid)
    WHERE pg_stat_user_indexes.indexrelname = 'orders_by_change'";

pub fn lists_pass_over_no_rows_of_an_import_that_was_rolled_back(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (store, commands) = (database.server_of_owner()?, database.commands_of_owner()?);
    import(&commands, 1..=1_000)?;
    // The planner keeps a histogram of more than a hundred versions.
    (1..=200).try_for_each(|id| cancel(&store, &[id]).map(drop))?;
    let before = versions(&store)?.of_orders();
    database.execute("ANALYZE orders")?;
    database.execute(ROLLED_BACK)?;
    database.with(async |client| {
        let searches = async || -> anyhow::Result<(i64, i64)> {
            let row = client.query_one(SEARCHES, &[]).await?;
            Ok((row.get(0), row.get(1)))
        };
        let (searches_before, pages_before) = searches().await?;
        let mut number = 0;
        // PostgreSQL adds up what a connection did about once a second.
        let pages = loop {
            on_another_thread(|| {
                changed_ids(&store, before)?;
                std::thread::sleep(Duration::from_millis(10));
                Ok(())
            })?;
            let (searches, pages) = searches().await?;
            number += 1;
            ensure!(number < 2_000, "nothing was added up");
            if searches - searches_before >= 100 {
                break (pages - pages_before) / (searches - searches_before);
            }
        };
        ensure!(pages < 20, "{pages} pages a search");
        Ok(())
    })
}

pub fn a_command_waits_for_other_changes(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let (locked, is_locked) = mpsc::channel();
    let holding = || {
        database.with(async |client| {
            let transaction = client.transaction().await?;
            transaction.execute("SELECT FROM versions FOR NO KEY UPDATE", &[]).await?;
            locked.send(())?;
            // The lock is held until the command waits for it.
            let waits = "SELECT pg_sleep(0.01), EXISTS (SELECT FROM pg_locks WHERE NOT granted)";
            while !transaction.query_one(waits, &[]).await?.try_get::<_, bool>(1)? {}
            Ok(transaction.commit().await?)
        })
    };
    std::thread::scope(|scope| {
        let holder = scope.spawn(holding);
        is_locked.recv()?;
        let commands = PostgresCommands::connect(&database.url().parse()?)?;
        import(&commands, [1])?;
        ensure!(commands.order(1)?.is_some());
        holder.join().map_err(|_| anyhow::anyhow!("panicked"))?
    })
}

pub fn a_name_with_a_nul_character_is_refused(server: &PostgresUnderTest) -> anyhow::Result<()> {
    let commands = server.new_store()?.commands()?;
    let pets = [Pet { id: 1, name: "Rex".into() }, Pet { id: 2, name: "R\0x".into() }];
    let refused = refusal(commands.import(Records::Pets(&pets), false, &|| ()))?;
    ensure!(refused.contains("the name of pet 2 has a NUL character"), "{refused}");
    ensure!(commands.existing(RecordKind::Pet, &[1, 2])?.is_empty());
    Ok(())
}
