//! Lists the orders and, if one is named, cancels it.
//!
//! ```text
//! STORE_ORDERS_KEY=sto_live_… cargo run --example list_and_cancel -- https://<host>/v1 [ORDER_ID]
//! ```

use std::error::Error;
use std::io::Write;
use store_orders_client::{Client, ErrorBody, ErrorCode, ResponseHeaders};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let base_address = arguments.next().ok_or("give the base address: https://<host>/v1")?;
    let order_id = arguments.next().map(|id| id.parse::<i64>()).transpose()?;
    let key = std::env::var("STORE_ORDERS_KEY").map_err(|_| "set STORE_ORDERS_KEY to your key")?;

    let client = Client::connect(base_address, key)?;
    list(&client).await?;
    if let Some(order_id) = order_id {
        cancel(&client, order_id).await?;
    }
    Ok(())
}

async fn list(client: &Client) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    let orders = client.list_orders().await?;
    for order in orders.iter() {
        let shipped = order.ship_date.map_or("unknown".to_string(), |date| date.to_rfc3339());
        let (id, pet, quantity) = (order.id, order.pet_id, order.quantity);
        writeln!(out, "order {id}: {quantity} of pet {pet}, ship date {shipped}")?;
    }
    writeln!(out, "{} orders", orders.len())?;
    if let Some(limit) = orders.rate_limit() {
        let (remaining, of, reset) = (limit.remaining, limit.limit, limit.reset);
        writeln!(out, "{remaining} of {of} requests remain until {reset}")?;
    }
    Ok(())
}

async fn cancel(client: &Client, order_id: i64) -> Result<(), Box<dyn Error>> {
    let answer = client.cancel_order(order_id).await;
    let text = match answer {
        Ok(_) => "is cancelled",
        Err(error) => match error.code() {
            Some(ErrorCode::OrderNotFound) => "does not exist, or no longer",
            Some(ErrorCode::OrderAlreadyShipped) => "has already shipped",
            _ => return Err(error.into()),
        },
    };
    writeln!(std::io::stdout(), "order {order_id} {text}")?;
    Ok(())
}
