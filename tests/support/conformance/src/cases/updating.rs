//! Tests updates of the fields `ship_date` and `complete` of orders.

use crate::engine::Engine;
use crate::listing::{Follower, last_changes, list};
use crate::records::{cancel, import, refusal};
use anyhow::{Context, ensure};
use store_orders::store::OrderUpdate;

pub fn all_orders_are_updated_or_none(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    import(&*commands, [i64::MAX, 1, 2, 3])?;
    cancel(&store, &[3])?;
    commands.ship_orders(&[2])?;
    let mut follower = Follower::new(&store)?;
    follower.catch_up(&store)?;
    let (before, listed_before) = (last_changes(&store)?, list(&store)?);
    let ship_date = Some("2026-12-01T08:00:00Z".parse()?);
    let update = |id, complete| OrderUpdate { id, ship_date, complete };
    for (updates, expected) in [
        ([update(1, None), update(3, None)], "order 3 is cancelled and cannot be updated"),
        ([update(1, None), update(9, None)], "there is no order 9"),
    ] {
        let refused = refusal(commands.update_orders(&updates))?;
        ensure!(refused == expected, "{refused}");
    }
    ensure!(last_changes(&store)? == before && list(&store)? == listed_before);

    let only_complete = OrderUpdate { id: i64::MAX, ship_date: None, complete: Some(true) };
    commands.update_orders(&[update(1, None), update(2, Some(true)), only_complete])?;
    // A field that is `None` in an update keeps its value.
    commands.update_orders(&[OrderUpdate { id: 2, ship_date: None, complete: Some(false) }])?;
    let fields = |id| {
        let order = commands.order(id)?.context("it was imported")?;
        anyhow::Ok((order.ship_date, order.complete))
    };
    ensure!(fields(1)? == (ship_date, false), "{:?}", fields(1)?);
    ensure!(fields(2)? == (ship_date, false), "{:?}", fields(2)?);
    ensure!(fields(i64::MAX)? == (None, true), "{:?}", fields(i64::MAX)?);
    let listed = list(&store)?;
    ensure!(listed != listed_before);
    follower.catch_up(&store)?;
    ensure!(follower.lines() == listed, "the follower lacks the update: {:?}", follower.lines());
    Ok(())
}
