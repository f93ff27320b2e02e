//! Tests servers that keep their list current by reading only what has changed since their last
//! read.

use crate::engine::Engine;
use crate::listing::{Follower, changed_ids, last_changes, list};
use crate::records::{cancel, import};
use crate::threads::join;
use anyhow::{Context, ensure};
use slog::{Discard, Logger, o};
use std::sync::atomic::{AtomicBool, Ordering};
use store_orders::metrics::batch_sizes;
use store_orders::orders::{OrderList, find_order};
use store_orders::store::postgres::PAGE_ROWS;
use store_orders::store::{CancelOutcome, OrderUpdate};

pub fn a_server_catches_up_with_imports_shipments_and_cancellations(
    engine: &dyn Engine,
) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    import(&*commands, [30, 10, 20, 40, 50])?;
    let first = last_changes(&store)?.orders;
    ensure!(changed_ids(&store, first)?.is_empty());
    cancel(&store, &[40, 20])?;
    let second = last_changes(&store)?.orders;
    ensure!(changed_ids(&store, first)? == [-20, -40]);
    commands.ship_orders(&[50, 10])?;
    import(&*commands, [35, -5])?;
    ensure!(changed_ids(&store, second)? == [-5, 10, 35, 50]);
    ensure!(changed_ids(&store, first)? == [-5, 10, -20, 35, -40, 50]);
    ensure!(list(&store)?.len() == 5, "the list contains cancelled orders");
    let last = last_changes(&store)?;
    ensure!(changed_ids(&store, last.orders)?.is_empty());
    ensure!(last.keys.is_beginning(), "a change of orders counts as a change of keys");
    Ok(())
}

/// Order 1 changes before the list is requested, and again before the changes are read. The second
/// change moves the order to PostgreSQL's second page of changes. The list must still contain the
/// first change.
pub fn a_list_contains_all_of_many_changes(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    import(&*commands, [1])?;
    let log = Logger::root(Discard, o!());
    let opened = OrderList::open(store.store.clone(), batch_sizes()?, 1_000_000, &log);
    let orders = store.wait(opened)?;
    let ship_date = Some("2026-12-01T08:00:00Z".parse()?);
    commands.update_orders(&[OrderUpdate { id: 1, ship_date, complete: None }])?;
    import(&*commands, 2..=PAGE_ROWS)?;
    import(&*commands, [PAGE_ROWS + 1])?;
    let freshness = orders.query_freshness()?;
    store.wait(freshness.clone().wait())?;
    commands.update_orders(&[OrderUpdate { id: 1, ship_date: None, complete: Some(true) }])?;
    let list = store.wait(orders.fresh_list(freshness))?.0;
    let order = find_order(&list, 1).context("it is listed")?;
    ensure!(order.ship_date == ship_date, "{order:?}");
    Ok(())
}

pub fn concurrent_commits_are_never_missed(engine: &dyn Engine) -> anyhow::Result<()> {
    check_follower(engine, 60, 40)
}

pub fn concurrent_long_imports_are_never_missed(engine: &dyn Engine) -> anyhow::Result<()> {
    check_follower(engine, 3, 12_000)
}

/// Cancels, imports and ships orders on several threads. Another thread keeps a list current by
/// reading only changes. In the end, this list must equal the store's list.
fn check_follower(engine: &dyn Engine, rounds: i64, per_round: i64) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    let cancelled = 1..=rounds * 40;
    import(&*commands, cancelled.clone())?;
    let is_done = AtomicBool::new(false);
    let cancelling = || -> anyhow::Result<()> {
        for first in cancelled.clone().step_by(40) {
            let ids: Vec<_> = (first..first + 40).collect();
            let outcomes = cancel(&store, &ids)?;
            ensure!(outcomes.iter().all(|outcome| *outcome == CancelOutcome::Cancelled));
        }
        Ok(())
    };
    let importing = |begin: i64| -> anyhow::Result<()> {
        let commands = engine.commands()?;
        for round in 0..rounds {
            let first = begin + round * per_round;
            import(&*commands, first..first + per_round)?;
            commands.ship_orders(&[first, first + 1])?;
        }
        Ok(())
    };
    let following = || -> anyhow::Result<Follower> {
        let mut follower = Follower::new(&store)?;
        while !is_done.load(Ordering::Acquire) {
            follower.catch_up(&store)?;
        }
        follower.catch_up(&store)?;
        Ok(follower)
    };
    let follower = std::thread::scope(|scope| {
        let follower = scope.spawn(following);
        let canceller = scope.spawn(cancelling);
        let importers = [1_000_000, 2_000_000].map(|begin| scope.spawn(move || importing(begin)));
        let mut outcomes = vec![join(canceller)];
        outcomes.extend(importers.map(join));
        is_done.store(true, Ordering::Release);
        let follower = join(follower)?;
        outcomes.into_iter().try_for_each(|outcome| outcome?)?;
        follower
    })?;
    let list = list(&store)?;
    let followed = follower.lines();
    ensure!(followed == list, "{} were followed, {} are listed", followed.len(), list.len());
    Ok(())
}
