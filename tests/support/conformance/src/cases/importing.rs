//! Tests imports. A short import is atomic, and a long import consists of atomic steps. No id is
//! stored twice. Orders can be cancelled while an import runs.

use crate::engine::Engine;
use crate::listing::{Follower, last_changes, list, stored};
use crate::records::{cancel, cancellation, import, pending, refusal, shipped};
use crate::threads::join;
use anyhow::{Context, ensure};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use store_orders::store::{
    CancelOutcome, Cancellation, ImportOutcome, Order, RecordKind, Records,
    STEP_RECORDS_BESIDE_SERVERS as STEP_RECORDS, Status, UnfinishedImport, import_in_steps,
};
use store_orders_api::types::Pet;

const LONG: i64 = STEP_RECORDS as i64 * 5 / 2;

/// So many records that orders can be cancelled before the import ends.
const LONGER: i64 = STEP_RECORDS as i64 * 30;

/// The time limit of a cancellation. A server's request also waits for the store for at most this
/// time.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

fn orders(ids: impl IntoIterator<Item = i64>) -> Vec<Order> {
    ids.into_iter().map(pending).collect()
}

fn never_stop(_: ImportOutcome) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn expect_unfinished(
    result: Result<ImportOutcome, UnfinishedImport>,
) -> anyhow::Result<UnfinishedImport> {
    result.err().context("the import was finished")
}

pub fn an_import_stores_all_orders_or_none(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    let outcome = commands.import(Records::Orders(&orders(1..=100)), false)?;
    ensure!(outcome == ImportOutcome { imported: 100, skipped: 0 }, "{outcome:?}");
    let (before, all) = (last_changes(&store)?, list(&store)?);
    ensure!(all.len() == 100);

    // The store already has orders 99 and 100. The error names order 100, because order 100 comes
    // before order 99 in the import.
    let more: Vec<_> = (99..=200).rev().map(shipped).collect();
    let refused = commands.import(Records::Orders(&more), false);
    ensure!(refusal(refused)? == "order 100 is already in the store");
    ensure!(last_changes(&store)? == before && list(&store)? == all);

    let outcome = commands.import(Records::Orders(&more), true)?;
    ensure!(outcome == ImportOutcome { imported: 100, skipped: 2 }, "{outcome:?}");
    let shipped = stored(&*commands, Some(Status::Shipped))?;
    ensure!(shipped.iter().map(|order| order.id).eq(101..=200), "{shipped:?}");
    ensure!(last_changes(&store)?.orders.has_more_than(before.orders));
    ensure!(commands.check()?.problems.is_empty());
    Ok(())
}

/// Each step of an import is an ordinary change. So servers immediately list the step's orders, and
/// can cancel them.
pub fn each_step_of_a_long_import_is_listed_at_once(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    // Make a change first, because the first change has a different number on each engine.
    import(&*commands, [-1])?;
    let mut follower = Follower::new(&store)?;
    let (mut steps, first) = (0, last_changes(&store)?.orders.number);
    let mut after_step = |progress: ImportOutcome| -> anyhow::Result<()> {
        steps += 1;
        let number = last_changes(&store)?.orders.number;
        ensure!(number == first + 2 * steps - 1, "{steps} steps, and the store is at {number}");
        follower.catch_up(&store)?;
        let cancelled = usize::try_from(steps)? - 1;
        ensure!(follower.lines().len() == 1 + progress.imported - cancelled, "after step {steps}");
        ensure!(commands.check()?.problems.is_empty(), "{:?}", commands.check()?);
        ensure!(cancel(&store, &[steps])? == [CancelOutcome::Cancelled]);
        ensure!(cancel(&store, &[steps])? == [CancelOutcome::NotFound]);
        Ok(())
    };
    let mut checked = Ok(());
    let all = orders(1..=LONG);
    let outcome = import_in_steps(&*commands, Records::Orders(&all), false, &mut |progress| {
        if checked.is_ok() {
            checked = after_step(progress);
        }
        ControlFlow::Continue(())
    })?;
    checked?;
    ensure!(steps == 3 && outcome == ImportOutcome { imported: all.len(), skipped: 0 });
    follower.catch_up(&store)?;
    let listed = list(&store)?;
    ensure!(follower.lines() == listed && listed.len() == all.len() - 2, "{}", listed.len());
    Ok(())
}

pub fn a_failed_step_keeps_the_steps_before_it(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    let existing = LONG - 1;
    import(&*commands, [existing])?;
    let all = orders(1..=LONG);
    let failed = import_in_steps(&*commands, Records::Orders(&all), false, &mut never_stop);
    let failed = expect_unfinished(failed)?;
    let (completed, why) = (failed.completed, failed.why.as_ref().map(ToString::to_string));
    ensure!(completed == ImportOutcome { imported: 2 * STEP_RECORDS, skipped: 0 }, "{completed:?}");
    ensure!(why == Some(format!("order {existing} is already in the store")), "{why:?}");
    ensure!(list(&store)?.len() == 2 * STEP_RECORDS + 1 && commands.check()?.problems.is_empty());

    let first = orders([existing, LONG + 1]);
    let failed = import_in_steps(&*commands, Records::Orders(&first), false, &mut never_stop);
    ensure!(expect_unfinished(failed)?.to_string() == "nothing was imported");

    let rest = import_in_steps(&*commands, Records::Orders(&all), true, &mut never_stop)?;
    let skipped = 2 * STEP_RECORDS + 1;
    ensure!(rest == ImportOutcome { imported: all.len() - skipped, skipped }, "{rest:?}");
    ensure!(list(&store)?.len() == all.len());
    Ok(())
}

pub fn a_stopped_import_keeps_whole_steps(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    let all = orders(1..=LONG);
    let stop = &mut |_| ControlFlow::Break(());
    let stopped =
        expect_unfinished(import_in_steps(&*commands, Records::Orders(&all), false, stop))?;
    ensure!(stopped.why.is_none() && stopped.completed.imported == STEP_RECORDS, "{stopped:?}");
    ensure!(list(&store)?.len() == STEP_RECORDS && commands.check()?.problems.is_empty());
    // Here, the only step is also the last one, so the stop comes too late and the import succeeds.
    let last = Records::Orders(all.get(..STEP_RECORDS).context("there are more")?);
    let skipped = import_in_steps(&*commands, last, true, stop)?.skipped;
    ensure!(skipped == STEP_RECORDS);
    Ok(())
}

pub fn a_repeated_id_is_refused_or_skipped(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    let orders = [pending(3), Order { quantity: 9, ..pending(3) }];
    let refused = refusal(commands.import(Records::Orders(&orders), false))?;
    ensure!(refused == "two orders have the same id", "{refused}");
    ensure!(list(&store)?.is_empty());
    let outcome = commands.import(Records::Orders(&orders), true)?;
    ensure!(outcome == ImportOutcome { imported: 1, skipped: 1 }, "{outcome:?}");
    let stored_orders = stored(&*commands, None)?;
    ensure!(
        stored_orders.iter().all(|order| order.quantity == 1) && stored_orders.len() == 1,
        "{stored_orders:?}"
    );
    Ok(())
}

pub fn an_id_of_a_cancelled_order_is_never_used_again(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    import(&*commands, [1])?;
    cancel(&store, &[1])?;
    ensure!(commands.existing(RecordKind::Order, &[1, 2])? == [1]);
    let refused = refusal(import(&*commands, [1]))?;
    ensure!(refused == "order 1 is already in the store", "{refused}");
    let outcome = commands.import(Records::Orders(&[pending(1)]), true)?;
    ensure!(outcome == ImportOutcome { imported: 0, skipped: 1 }, "{outcome:?}");
    ensure!(list(&store)?.is_empty());
    Ok(())
}

pub fn existing_ids_are_returned_in_the_order_of_the_query(
    engine: &dyn Engine,
) -> anyhow::Result<()> {
    let commands = engine.commands()?;
    import(&*commands, [i64::MIN, -3, 0, 4, i64::MAX])?;
    let asked = [4, 5, i64::MAX, 0, 4, i64::MIN, -4];
    let existing = commands.existing(RecordKind::Order, &asked)?;
    ensure!(existing == [4, i64::MAX, 0, 4, i64::MIN], "{existing:?}");
    ensure!(commands.existing(RecordKind::Order, &[])?.is_empty());
    Ok(())
}

pub fn concurrent_imports_store_each_id_once(engine: &dyn Engine) -> anyhow::Result<()> {
    let store = engine.server_store()?;
    let ranges = [(1, LONG), (LONG / 2, 2 * LONG), (1, 100), (50, LONG)];
    let import = |(first, last): (i64, i64)| -> anyhow::Result<usize> {
        let (commands, orders) = (engine.commands()?, orders(first..=last));
        Ok(import_in_steps(&*commands, Records::Orders(&orders), true, &mut never_stop)?.imported)
    };
    let imported = std::thread::scope(|scope| {
        let imports = ranges.map(|range| scope.spawn(move || import(range)));
        imports.into_iter().map(|import| join(import)?).sum::<anyhow::Result<usize>>()
    })?;
    ensure!(imported == usize::try_from(2 * LONG)?, "{imported} orders were imported");
    ensure!(list(&store)?.len() == imported);
    Ok(())
}

pub fn orders_are_cancelled_while_orders_are_imported(engine: &dyn Engine) -> anyhow::Result<()> {
    let all = orders(1..=LONGER);
    cancel_during_import(engine, Records::Orders(&all))
}

pub fn orders_are_cancelled_while_pets_are_imported(engine: &dyn Engine) -> anyhow::Result<()> {
    let pets: Vec<_> = (1..=LONGER).map(|id| Pet { id, name: "Rex".to_string() }).collect();
    cancel_during_import(engine, Records::Pets(&pets))
}

/// Cancels one order after another while these records are imported. Fails if the import delays a
/// cancellation beyond its deadline.
fn cancel_during_import(engine: &dyn Engine, records: Records<'_>) -> anyhow::Result<()> {
    const CANCELLED: i64 = 100_000;
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    import(&*commands, -CANCELLED..0)?;
    let cancel = |id| -> anyhow::Result<()> {
        let deadline = Instant::now() + CANCEL_TIMEOUT;
        let outcomes = store.cancel(&[Cancellation { deadline, ..cancellation(id) }])?.outcomes;
        ensure!(outcomes == [Ok(CancelOutcome::Cancelled)], "{outcomes:?}");
        Ok(())
    };
    // A new session to PostgreSQL executes no cancellation in its first second. The first call
    // waits until this second is over, so that later calls do not wait during the import.
    cancel(-CANCELLED)?;
    let is_over = AtomicBool::new(false);
    let cancelling = || -> anyhow::Result<i64> {
        for id in 1 - CANCELLED..0 {
            cancel(id)?;
            if is_over.load(Ordering::Acquire) {
                return Ok(id);
            }
        }
        anyhow::bail!("the import takes longer than {CANCELLED} cancellations")
    };
    std::thread::scope(|scope| {
        let canceller = scope.spawn(cancelling);
        let imported = import_in_steps(&*commands, records, false, &mut never_stop);
        is_over.store(true, Ordering::Release);
        let cancelled = join(canceller)??;
        ensure!(imported?.imported == records.count());
        ensure!(cancelled > 1 - CANCELLED, "no order was cancelled during the import");
        Ok(())
    })
}
