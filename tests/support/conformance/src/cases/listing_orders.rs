//! Cases about listing orders. They check the exact JSON, and that a command visits each order
//! once.

use crate::engine::Engine;
use crate::listing::{list, stored, stored_lines};
use crate::records::{cancel, import, pending, shipped};
use anyhow::{Context, ensure};
use std::ops::ControlFlow;
use store_orders::store::{Order, Records, Status};

/// Enough orders for more than three pages of `for_each_order`, which reads 5,000 orders per page.
const MANY_ORDERS: i64 = 16_000;

pub fn lists_are_the_same_bytes_on_every_engine(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    // For most fields, one of these orders has an extreme value.
    let orders = [
        Order { pet_id: i64::MIN, quantity: i32::MAX, complete: true, ..pending(i64::MAX) },
        Order { ship_date: Some("2026-12-24T09:30:00Z".parse()?), ..pending(0) },
        Order { ship_date: Some("0000-01-01T00:00:00.500Z".parse()?), ..shipped(-1) },
        Order { ship_date: Some("9999-12-31T23:59:59.123456789Z".parse()?), ..pending(2) },
        Order { ship_date: Some("2026-02-28T00:00:00.000120Z".parse()?), ..pending(3) },
        Order { pet_id: i64::MAX, ..pending(i64::MIN) },
    ];
    commands.import(Records::Orders(&orders), false)?;
    let expected = r#"
{"id":-9223372036854775808,"petId":9223372036854775807,"quantity":1,"complete":false}
{"id":-1,"petId":7,"quantity":1,"shipDate":"0000-01-01T00:00:00.500Z","complete":false} shipped
{"id":0,"petId":7,"quantity":1,"shipDate":"2026-12-24T09:30:00Z","complete":false}
{"id":2,"petId":7,"quantity":1,"shipDate":"9999-12-31T23:59:59.123456789Z","complete":false}
{"id":3,"petId":7,"quantity":1,"shipDate":"2026-02-28T00:00:00.000120Z","complete":false}
{"id":9223372036854775807,"petId":-9223372036854775808,"quantity":2147483647,"complete":true}"#;
    let listed = list(&store)?.join("\n");
    ensure!(listed == expected.trim_start(), "{listed}");
    // An operator's command also lists cancelled orders, and shows the status of each order.
    cancel(&store, &[2, i64::MAX])?;
    let expected = r#"
{"id":-9223372036854775808,"petId":9223372036854775807,"quantity":1,"complete":false,"status":"pending"}
{"id":-1,"petId":7,"quantity":1,"shipDate":"0000-01-01T00:00:00.500Z","complete":false,"status":"shipped"}
{"id":0,"petId":7,"quantity":1,"shipDate":"2026-12-24T09:30:00Z","complete":false,"status":"pending"}
{"id":2,"petId":7,"quantity":1,"shipDate":"9999-12-31T23:59:59.123456789Z","complete":false,"status":"cancelled","cancelledAt":"2026-12-24T09:30:00Z","cancelledBy":"key_1"}
{"id":3,"petId":7,"quantity":1,"shipDate":"2026-02-28T00:00:00.000120Z","complete":false,"status":"pending"}
{"id":9223372036854775807,"petId":-9223372036854775808,"quantity":2147483647,"complete":true,"status":"cancelled","cancelledAt":"2026-12-24T09:30:00Z","cancelledBy":"key_1"}"#;
    let listed = stored_lines(&*commands)?.join("\n");
    ensure!(listed == expected.trim_start(), "{listed}");
    let shown = commands.order(-1)?.context("order -1")?;
    ensure!(
        listed.lines().any(|line| serde_json::to_string(&shown).is_ok_and(|json| json == line))
    );
    Ok(())
}

pub fn orders_are_visited_once_in_pages_until_the_visitor_breaks(
    engine: &dyn Engine,
) -> anyhow::Result<()> {
    let commands = engine.commands()?;
    let ids: Vec<i64> = [i64::MIN, i64::MIN + 1]
        .into_iter()
        .chain(1..=MANY_ORDERS)
        .chain([i64::MAX - 1, i64::MAX])
        .collect();
    import(&*commands, ids.iter().copied())?;
    let shipped: Vec<i64> = ids.iter().copied().filter(|id| id % 3 == 0).collect();
    commands.ship_orders(&shipped)?;
    let visited = |status| -> anyhow::Result<Vec<i64>> {
        Ok(stored(&*commands, status)?.iter().map(|order| order.id).collect())
    };
    ensure!(visited(None)? == ids && visited(Some(Status::Shipped))? == shipped);
    ensure!(visited(Some(Status::Cancelled))?.is_empty());
    let mut first = Vec::new();
    commands.for_each_order(None, &mut |order| {
        // The callback may itself query the store.
        first.push(commands.order(order.id).ok().flatten().map(|order| order.id));
        if first.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    ensure!(first == [Some(i64::MIN), Some(i64::MIN + 1), Some(1)], "{first:?}");
    Ok(())
}
