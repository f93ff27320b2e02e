//! Shipping and cancelling orders by an operator's command.

use crate::engine::Engine;
use crate::listing::{Follower, last_changes, list, stored};
use crate::records::{cancel, import, refusal};
use anyhow::ensure;
use std::collections::BTreeSet;
use store_orders::store::{CancelOutcome, Cancelled, OrderStatus, Status};

pub fn all_orders_are_shipped_or_none(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    import(&*commands, 1..=5)?;
    cancel(&store, &[5])?;
    let mut follower = Follower::new(&store)?;
    follower.catch_up(&store)?;
    let before = last_changes(&store)?;
    let refused = refusal(commands.ship_orders(&[1, 2, 5]))?;
    let expected = "order 5 is cancelled and cannot be shipped";
    ensure!(refused == expected, "{refused}");
    let refused = refusal(commands.ship_orders(&[1, 9]))?;
    ensure!(refused == "there is no order 9", "{refused}");
    ensure!(stored(&*commands, Some(Status::Shipped))?.is_empty());
    ensure!(last_changes(&store)? == before);

    ensure!(commands.ship_orders(&[2, 1, 2])? == BTreeSet::from([1, 2]));
    ensure!(commands.ship_orders(&[1])?.is_empty());
    let shipped = stored(&*commands, Some(Status::Shipped))?;
    ensure!(shipped.iter().map(|order| order.id).eq([1, 2]), "{shipped:?}");
    let listed = list(&store)?;
    let are_shipped: Vec<_> = listed.iter().map(|line| line.ends_with(" shipped")).collect();
    ensure!(are_shipped == [true, true, false, false], "{listed:?}");
    follower.catch_up(&store)?;
    ensure!(follower.lines() == listed, "the follower lacks the shipment: {:?}", follower.lines());
    ensure!(cancel(&store, &[1])? == [CancelOutcome::AlreadyShipped]);
    Ok(())
}

pub fn an_operator_cancels_all_orders_or_none(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    import(&*commands, 1..=5)?;
    commands.ship_orders(&[5])?;
    cancel(&store, &[4])?;
    let mut follower = Follower::new(&store)?;
    follower.catch_up(&store)?;
    let before = last_changes(&store)?;
    let cancelled_at = "2026-12-24T09:30:00Z".parse()?;
    let cancelled = Cancelled { at: cancelled_at, by: "operator:alice".into() };
    let refused = refusal(commands.cancel_orders(&[1, 2, 5], &cancelled))?;
    ensure!(refused == "order 5 has shipped and cannot be cancelled", "{refused}");
    let refused = refusal(commands.cancel_orders(&[1, 9], &cancelled))?;
    ensure!(refused == "there is no order 9", "{refused}");
    ensure!(stored(&*commands, Some(Status::Cancelled))?.len() == 1);
    ensure!(last_changes(&store)? == before);

    ensure!(commands.cancel_orders(&[2, 1, 2, 4], &cancelled)? == BTreeSet::from([1, 2]));
    ensure!(commands.cancel_orders(&[1], &cancelled)?.is_empty());
    let expected = OrderStatus::Cancelled(Box::new(cancelled));
    let orders = stored(&*commands, Some(Status::Cancelled))?;
    ensure!(orders.iter().map(|order| order.id).eq([1, 2, 4]), "{orders:?}");
    let by_operator = orders.iter().map(|order| order.status == expected);
    ensure!(by_operator.eq([true, true, false]), "{orders:?}");
    let listed = list(&store)?;
    ensure!(listed.len() == 2, "{listed:?}");
    follower.catch_up(&store)?;
    ensure!(follower.lines() == listed, "cancelled orders stay: {:?}", follower.lines());
    ensure!(cancel(&store, &[1])? == [CancelOutcome::NotFound]);
    Ok(())
}
