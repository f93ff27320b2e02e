//! Tests cancellations, which a server executes in batches.

use crate::engine::Engine;
use crate::listing::{changed_ids, last_changes, list};
use crate::records::{cancel, cancellation, import, pending, shipped};
use crate::threads::join;
use anyhow::{Context, ensure};
use std::sync::Barrier;
use std::time::Instant;
use store_orders::store::CancelOutcome::{AlreadyShipped, Cancelled, NotFound};
use store_orders::store::NotExecuted::{Changed, Expired};
use store_orders::store::{
    CancelOutcome, Cancellation, Order, OrderStatus, OrderUpdate, Position, Records,
};

const CONCURRENT_REQUESTS: usize = 64;

pub fn the_outcome_of_a_cancellation_depends_on_the_order(
    engine: &dyn Engine,
) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    import(&*commands, [1, 3, i64::MIN])?;
    commands.import(Records::Orders(&[shipped(2)]), false)?;
    // Of several requests for a pending order, the first one cancels it, and the others get
    // `NotFound`.
    let outcomes = cancel(&store, &[i64::MIN, 2, 4, 1, 2, 1, 4, i64::MIN, 1])?;
    let first = [Cancelled, AlreadyShipped, NotFound, Cancelled];
    let again = [AlreadyShipped, NotFound, NotFound, NotFound, NotFound];
    ensure!(outcomes == [&first[..], &again].concat(), "{outcomes:?}");
    let again = cancel(&store, &[2, 1, i64::MIN])?;
    ensure!(again == [AlreadyShipped, NotFound, NotFound], "{again:?}");
    ensure!(cancel(&store, &[])?.is_empty());
    let report = commands.check()?;
    ensure!(report.problems.is_empty(), "{:?}", report.problems);
    let counts = report.orders.unwrap_or_default();
    ensure!((counts.pending, counts.shipped, counts.cancelled) == (1, 1, 2), "{counts:?}");
    ensure!(list(&store)?.len() == 2);
    Ok(())
}

pub fn a_cancelled_order_records_key_and_time(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    import(&*commands, [1, 2, 3])?;
    let time = chrono::DateTime::from_timestamp(1_800_000_000, 250_000_000).context("a date")?;
    let other = Cancellation { key_id: "key_other".into(), at: time, ..cancellation(2) };
    store.cancel(&[cancellation(1), other, cancellation(2)])?;
    let cancelled = |id, at: &str, by: &str| {
        let cancelled = store_orders::store::Cancelled { at: at.parse()?, by: by.into() };
        let status = OrderStatus::Cancelled(Box::new(cancelled));
        anyhow::Ok(Order { status, ..pending(id) })
    };
    for expected in [
        cancelled(1, "2026-12-24T09:30:00Z", "key_1")?,
        cancelled(2, "2027-01-15T08:00:00.250Z", "key_other")?,
    ] {
        let id = expected.id;
        // `getOrder` of version 2 also returns cancelled orders, so a server must be able to read
        // them.
        let read = [commands.order(id)?, store.cancelled_order(id)?];
        ensure!(read == [Some(expected.clone()), Some(expected)], "{read:?}");
    }
    for id in [3, 4] {
        ensure!(store.cancelled_order(id)?.is_none(), "order {id} is not cancelled");
    }
    Ok(())
}

pub fn a_cancellation_past_its_deadline_is_not_executed(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    import(&*commands, 1..=3)?;
    let late = |id| Cancellation { deadline: Instant::now(), ..cancellation(id) };
    let before = last_changes(&store)?.orders;
    let none = store.cancel(&[late(1), late(9)])?;
    ensure!(none.outcomes == [Err(Expired), Err(Expired)], "{none:?}");
    ensure!(none.positions.is_none() && last_changes(&store)?.orders == before, "{none:?}");
    let one = store.cancel(&[late(1), cancellation(2), late(2), cancellation(1)])?.outcomes;
    ensure!(one == [Err(Expired), Ok(Cancelled), Err(Expired), Ok(Cancelled)], "{one:?}");
    ensure!(list(&store)?.len() == 1);
    Ok(())
}

/// The statement that cancels an order also checks `unchanged_since`. So the order cannot change
/// between the check and the cancellation.
pub fn an_order_that_has_changed_after_a_position_is_not_cancelled(
    engine: &dyn Engine,
) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    import(&*commands, 1..=6)?;
    let imported = last_changes(&store)?.orders;
    let since = |unchanged_since, id| Cancellation {
        unchanged_since: Some(unchanged_since),
        ..cancellation(id)
    };
    let before = Position { number: imported.number - 1, ..imported };
    let complete = |id| OrderUpdate { id, ship_date: None, complete: Some(true) };
    commands.update_orders(&[complete(2), complete(4), complete(6)])?;
    commands.ship_orders(&[3])?;
    let updated = last_changes(&store)?.orders;
    let batch = [
        since(imported, 1),
        since(imported, 2),
        since(imported, 3),
        since(updated, 4),
        since(before, 5),
        since(imported, 6),
        // Order 2 has changed since `imported`, so neither of its two requests cancels the order.
        // The second request for order 6 has no condition, so it cancels the order.
        since(imported, 2),
        cancellation(6),
        since(imported, 9),
    ];
    let outcomes = store.cancel(&batch)?.outcomes;
    let (changed, cancelled) = (Err(Changed), Ok(Cancelled));
    // The engine decides which of the two requests for order 6 is executed first.
    let expected = |first_of_6| {
        [
            cancelled,
            changed,
            Ok(AlreadyShipped),
            cancelled,
            changed,
            first_of_6,
            changed,
            cancelled,
            Ok(NotFound),
        ]
    };
    let possible = [changed, Ok(NotFound)].map(expected);
    ensure!(possible.iter().any(|expected| outcomes == expected), "{outcomes:?}");
    let unchanged = commands.order(2)?.context("order 2")?;
    ensure!(unchanged == Order { complete: true, ..pending(2) }, "{unchanged:?}");
    // Both orders of this batch have changed since the given positions, so the batch changes
    // nothing.
    let last = last_changes(&store)?.orders;
    let none = store.cancel(&[since(imported, 2), since(before, 5)])?;
    ensure!(none.outcomes == [changed, changed] && none.positions.is_none(), "{none:?}");
    ensure!(last_changes(&store)?.orders == last);
    Ok(())
}

pub fn of_64_concurrent_cancellations_one_succeeds(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    import(&*commands, [1])?;
    let barrier = Barrier::new(CONCURRENT_REQUESTS);
    let cancel = || -> anyhow::Result<Vec<CancelOutcome>> {
        barrier.wait();
        cancel(&store, &[1])
    };
    let outcomes = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..CONCURRENT_REQUESTS).map(|_| scope.spawn(cancel)).collect();
        threads.into_iter().map(|thread| join(thread)?).collect::<anyhow::Result<Vec<_>>>()
    })?
    .concat();
    let cancelled = outcomes.iter().filter(|outcome| **outcome == Cancelled).count();
    let missing = outcomes.iter().filter(|outcome| **outcome == NotFound).count();
    ensure!((cancelled, missing) == (1, CONCURRENT_REQUESTS - 1), "{outcomes:?}");
    Ok(())
}

pub fn a_batch_raises_the_change_number_by_one_or_not_at_all(
    engine: &dyn Engine,
) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    import(&*commands, 1..=10)?;
    let imported = last_changes(&store)?;
    let batch: Vec<_> = [8, 2, 2, 99].map(cancellation).to_vec();
    let cancelled = store.cancel(&batch)?;
    let next = Position { number: imported.orders.number + 1, ..imported.orders };
    ensure!(cancelled.positions == Some((imported.orders, next)), "{cancelled:?}");
    ensure!(last_changes(&store)?.orders == next);
    ensure!(changed_ids(&store, imported.orders)? == [-2, -8]);
    let none = store.cancel(&batch)?;
    ensure!(none.positions.is_none(), "{none:?}");
    ensure!(last_changes(&store)?.orders == next);
    Ok(())
}
