//! Batches of cancellations.

use crate::engine::Engine;
use crate::listing::{changed_ids, last_changes, list};
use crate::records::{cancel, cancellation, import, shipped};
use crate::threads::joined;
use anyhow::{Context, ensure};
use std::sync::Barrier;
use std::time::Instant;
use store_orders::store::CancelOutcome::{AlreadyShipped, Cancelled, NotFound};
use store_orders::store::{CancelOutcome, Cancellation, CancelledOrder, Records, Status};

const AT_ONCE: usize = 64;

pub fn a_cancellation_has_the_outcome_of_its_order(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.serving()?, engine.commands()?);
    import(&*commands, [1, 3, i64::MIN])?;
    commands.import(Records::Orders(&[shipped(2)]), false)?;
    // Of one order, the first request owns the outcome.
    let outcomes = cancel(&store, &[i64::MIN, 2, 4, 1, 2, 1, 4, i64::MIN, 1])?;
    let first = [Cancelled, AlreadyShipped, NotFound, Cancelled];
    let again = [AlreadyShipped, NotFound, NotFound, NotFound, NotFound];
    ensure!(outcomes == [&first[..], &again].concat(), "{outcomes:?}");
    let again = cancel(&store, &[2, 1, i64::MIN])?;
    ensure!(again == [AlreadyShipped, NotFound, NotFound], "{again:?}");
    ensure!(cancel(&store, &[])?.is_empty());
    let counts = commands.check()?.orders.unwrap_or_default();
    ensure!((counts.pending, counts.shipped, counts.cancelled) == (1, 1, 2), "{counts:?}");
    ensure!(list(&store)?.len() == 2);
    Ok(())
}

pub fn a_cancelled_order_keeps_who_and_when(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.serving()?, engine.commands()?);
    import(&*commands, [1, 2, 3])?;
    let at = chrono::DateTime::from_timestamp(1_800_000_000, 250_000_000).context("a date")?;
    let other = Cancellation { key_id: "key_other".into(), at, ..cancellation(2) };
    store.cancel(&[cancellation(1), other, cancellation(2)])?;
    let kept = |id| -> anyhow::Result<(Status, Option<String>, Option<String>)> {
        let order = commands.order(id)?.context("the order")?;
        Ok((order.status, order.cancelled_at, order.cancelled_by))
    };
    let expected =
        |at: &str, key: &str| (Status::Cancelled, Some(at.to_string()), Some(key.to_string()));
    ensure!(kept(1)? == expected("2026-12-24T09:30:00Z", "key_1"), "{:?}", kept(1)?);
    ensure!(kept(2)? == expected("2027-01-15T08:00:00.250Z", "key_other"), "{:?}", kept(2)?);
    // As a server finds it for a caller.
    let cancelled_at = "2027-01-15T08:00:00.250Z".to_string();
    let (pet_id, quantity, ship_date, complete) = (7, 1, None, false);
    let found = store.cancelled_order(2)?;
    let expected = CancelledOrder { pet_id, quantity, ship_date, complete, cancelled_at };
    ensure!(found == Some(expected), "{found:?}");
    for id in [3, 4] {
        ensure!(store.cancelled_order(id)?.is_none(), "order {id} is not cancelled");
    }
    Ok(())
}

pub fn a_cancellation_past_its_deadline_is_not_carried_out(
    engine: &dyn Engine,
) -> anyhow::Result<()> {
    let (store, commands) = (engine.serving()?, engine.commands()?);
    import(&*commands, 1..=3)?;
    let late = |id| Cancellation { deadline: Instant::now(), ..cancellation(id) };
    let before = last_changes(&store)?.orders;
    let none = store.cancel(&[late(1), late(9)])?;
    ensure!(none.outcomes == [None, None], "{none:?}");
    ensure!(none.change_numbers.is_none() && last_changes(&store)?.orders == before, "{none:?}");
    let one = store.cancel(&[late(1), cancellation(2), late(2), cancellation(1)])?.outcomes;
    ensure!(one == [None, Some(Cancelled), None, Some(Cancelled)], "{one:?}");
    ensure!(list(&store)?.len() == 1);
    Ok(())
}

pub fn an_id_64_times_at_once_is_cancelled_once(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.serving()?, engine.commands()?);
    import(&*commands, [1])?;
    let barrier = Barrier::new(AT_ONCE);
    let cancel = || -> anyhow::Result<Vec<CancelOutcome>> {
        barrier.wait();
        cancel(&store, &[1])
    };
    let outcomes = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(cancel)).collect();
        threads.into_iter().map(|thread| joined(thread)?).collect::<anyhow::Result<Vec<_>>>()
    })?
    .concat();
    let cancelled = outcomes.iter().filter(|outcome| **outcome == Cancelled).count();
    let missing = outcomes.iter().filter(|outcome| **outcome == NotFound).count();
    ensure!((cancelled, missing) == (1, AT_ONCE - 1), "{outcomes:?}");
    Ok(())
}

pub fn a_batch_raises_the_change_number_by_one_or_not_at_all(
    engine: &dyn Engine,
) -> anyhow::Result<()> {
    let (store, commands) = (engine.serving()?, engine.commands()?);
    import(&*commands, 1..=10)?;
    let imported = last_changes(&store)?;
    let batch: Vec<_> = [8, 2, 2, 99].map(cancellation).to_vec();
    let done = store.cancel(&batch)?;
    ensure!(done.change_numbers == Some((imported.orders, imported.orders + 1)), "{done:?}");
    ensure!(done.generation == imported.generation, "{done:?}");
    ensure!(last_changes(&store)?.orders == imported.orders + 1);
    ensure!(changed_ids(&store, imported.of_orders())? == [-2, -8]);
    let none = store.cancel(&batch)?;
    ensure!(none.change_numbers.is_none(), "{none:?}");
    ensure!(last_changes(&store)?.orders == imported.orders + 1);
    Ok(())
}
