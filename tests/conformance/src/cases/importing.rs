//! Imports: all or nothing, no id twice, and no cancellation that waits for one.

use crate::engine::Engine;
use crate::listing::{list, stored, versions};
use crate::records::{cancel, cancellation, import, pending, refusal, shipped};
use anyhow::ensure;
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};
use store_orders::store::{
    CancelOutcome, Cancellation, ImportOutcome, NewOrder, RecordKind, Records, Status, Store,
    StoreError,
};
use store_orders_api::types::Pet;

/// More than any engine writes while others wait.
const LONG: i64 = 20_000;

/// How long a cancellation waits for an import to end: far longer than it takes by itself.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(20);

pub fn an_import_stores_all_orders_or_none(engine: &dyn Engine) -> anyhow::Result<()> {
    all_or_none(engine, 100)
}

pub fn a_long_import_stores_all_orders_or_none(engine: &dyn Engine) -> anyhow::Result<()> {
    all_or_none(engine, LONG)
}

fn all_or_none(engine: &dyn Engine, count: i64) -> anyhow::Result<()> {
    let (store, commands) = (engine.serving()?, engine.commands()?);
    let orders = |ids: std::ops::RangeInclusive<i64>| ids.map(pending).collect::<Vec<_>>();
    let progress = Cell::new(0);
    let first = orders(1..=count);
    let outcome =
        commands.import(Records::Orders(&first), false, &|| progress.set(progress.get() + 1))?;
    ensure!(outcome == ImportOutcome { imported: first.len(), skipped: 0 }, "{outcome:?}");
    ensure!(progress.get() == first.len(), "{} calls", progress.get());
    let (before, all) = (versions(&*store)?, list(&*store)?);
    ensure!(all.len() == first.len());

    let refused = commands.import(Records::Orders(&orders(count..=2 * count)), false, &|| ());
    let expected = format!("order {count} is already in the store; nothing was imported");
    ensure!(refusal(refused)? == expected);
    ensure!(versions(&*store)? == before && list(&*store)? == all);

    let outcome = commands.import(Records::Orders(&orders(count..=2 * count)), true, &|| ())?;
    ensure!(outcome == ImportOutcome { imported: first.len(), skipped: 1 }, "{outcome:?}");
    ensure!(list(&*store)?.len() == 2 * first.len());
    ensure!(versions(&*store)?.of_orders().has_more_than(before.of_orders()));
    ensure!(commands.check()?.problems.is_empty());
    Ok(())
}

pub fn an_id_that_is_taken_is_refused_or_skipped(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.serving()?, engine.commands()?);
    import(&*commands, [5, 7])?;
    let orders: Vec<_> = [9, 7, 8, 5].into_iter().map(shipped).collect();
    let refused = refusal(commands.import(Records::Orders(&orders), false, &|| ()))?;
    ensure!(refused == "order 7 is already in the store; nothing was imported", "{refused}");
    ensure!(list(&*store)?.len() == 2);
    let progress = Cell::new(0);
    let outcome =
        commands.import(Records::Orders(&orders), true, &|| progress.set(progress.get() + 1))?;
    ensure!(outcome == ImportOutcome { imported: 2, skipped: 2 }, "{outcome:?}");
    ensure!(progress.get() == 4, "progress was told {} times", progress.get());
    let ids = |status| -> anyhow::Result<Vec<i64>> {
        Ok(stored(&*commands, Some(status))?.iter().map(|order| order.id).collect())
    };
    ensure!(ids(Status::Pending)? == [5, 7] && ids(Status::Shipped)? == [8, 9]);
    Ok(())
}

pub fn an_id_given_twice_is_refused_or_skipped(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.serving()?, engine.commands()?);
    let orders = [pending(3), NewOrder { quantity: 9, ..pending(3) }];
    let refused = refusal(commands.import(Records::Orders(&orders), false, &|| ()))?;
    ensure!(refused == "two orders have the same id; nothing was imported", "{refused}");
    ensure!(list(&*store)?.is_empty());
    let outcome = commands.import(Records::Orders(&orders), true, &|| ())?;
    ensure!(outcome == ImportOutcome { imported: 1, skipped: 1 }, "{outcome:?}");
    let kept = stored(&*commands, None)?;
    ensure!(kept.iter().all(|order| order.quantity == 1) && kept.len() == 1, "{kept:?}");
    Ok(())
}

pub fn an_id_of_a_cancelled_order_is_never_used_again(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.serving()?, engine.commands()?);
    import(&*commands, [1])?;
    cancel(&*store, &[1])?;
    ensure!(commands.existing(RecordKind::Order, &[1, 2])? == [1]);
    let refused = refusal(import(&*commands, [1]))?;
    ensure!(refused == "order 1 is already in the store; nothing was imported", "{refused}");
    let outcome = commands.import(Records::Orders(&[pending(1)]), true, &|| ())?;
    ensure!(outcome == ImportOutcome { imported: 0, skipped: 1 }, "{outcome:?}");
    ensure!(list(&*store)?.is_empty());
    Ok(())
}

pub fn existing_ids_are_told_in_the_order_asked(engine: &dyn Engine) -> anyhow::Result<()> {
    let commands = engine.commands()?;
    import(&*commands, [i64::MIN, -3, 0, 4, i64::MAX])?;
    let asked = [4, 5, i64::MAX, 0, 4, i64::MIN, -4];
    let existing = commands.existing(RecordKind::Order, &asked)?;
    ensure!(existing == [4, i64::MAX, 0, 4, i64::MIN], "{existing:?}");
    ensure!(commands.existing(RecordKind::Order, &[])?.is_empty());
    Ok(())
}

pub fn imports_at_once_store_each_id_once(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, ids) = (engine.serving()?, 1..=2 * LONG);
    // Short and long ones, in both directions, that overlap.
    let ranges = [(1, LONG, false), (LONG / 2, 2 * LONG, true), (1, 100, true), (50, 3_000, false)];
    let import = |(first, last, reversed): (i64, i64, bool)| -> anyhow::Result<usize> {
        let mut orders: Vec<_> = (first..=last).map(pending).collect();
        if reversed {
            orders.reverse();
        }
        Ok(engine.commands()?.import(Records::Orders(&orders), true, &|| ())?.imported)
    };
    let imported = std::thread::scope(|scope| {
        let imports = ranges.map(|range| scope.spawn(move || import(range)));
        let joined =
            imports.map(|import| import.join().map_err(|_| anyhow::anyhow!("panicked"))?);
        joined.into_iter().sum::<anyhow::Result<usize>>()
    })?;
    ensure!(imported == ids.clone().count(), "{imported} were imported");
    ensure!(list(&*store)?.len() == ids.count());
    Ok(())
}

pub fn an_order_is_cancelled_while_orders_are_imported(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.serving()?, engine.commands()?);
    import(&*commands, [-1])?;
    let orders: Vec<_> = (1..=LONG).map(pending).collect();
    cancelled_during(&*store, -1, |progress| {
        commands.import(Records::Orders(&orders), false, progress)
    })
}

pub fn an_order_is_cancelled_while_pets_are_imported(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.serving()?, engine.commands()?);
    import(&*commands, [-1])?;
    let pets: Vec<_> = (1..=LONG).map(|id| Pet { id, name: "Rex".to_string() }).collect();
    cancelled_during(&*store, -1, |progress| commands.import(Records::Pets(&pets), false, progress))
}

/// Cancels the order at the first call of the import's `progress`.
fn cancelled_during(
    store: &dyn Store,
    order: i64,
    import: impl FnOnce(&dyn Fn()) -> Result<ImportOutcome, StoreError>,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + CANCEL_TIMEOUT;
    let batch = [Cancellation { deadline, ..cancellation(order) }];
    // An import may run in a runtime of its own, in which a store must not block.
    let cancel = || std::thread::scope(|scope| scope.spawn(|| store.cancel(&batch)).join());
    let cancelled = RefCell::new(None);
    import(&|| {
        cancelled.borrow_mut().get_or_insert_with(cancel);
    })?;
    let cancelled =
        cancelled.into_inner().map(|joined| joined.map(|batch| batch.map(|b| b.outcomes)));
    ensure!(
        matches!(&cancelled, Some(Ok(Ok(outcomes))) if *outcomes == [CancelOutcome::Cancelled]),
        "{cancelled:?}"
    );
    Ok(())
}
