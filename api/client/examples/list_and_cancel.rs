//! Lists the orders and cancels one, if its id is given.
//!
//! ```text
//! STORE_ORDERS_KEY=sto_live_… cargo run --example list_and_cancel -- https://HOST/v1 [ORDER_ID]
//! ```

use std::error::Error;
use std::io::Write;
use store_orders_client::{Client, ErrorCode, OrderId};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let base_url = arguments.next().ok_or("no base URL given, such as https://HOST/v1")?;
    let order_id = arguments.next().map(|id| id.parse::<OrderId>()).transpose()?;
    let key = std::env::var("STORE_ORDERS_KEY").map_err(|_| "STORE_ORDERS_KEY is not set")?;
    let mut out = std::io::stdout().lock();

    let client = Client::new(base_url, key)?;
    let orders = client.list_orders().await?;
    for order in &orders {
        writeln!(out, "order {}: {} of pet {}", order.id, order.quantity, order.pet_id)?;
    }
    if let Some(limit) = orders.rate_limit() {
        writeln!(out, "{} of {} requests remain", limit.remaining, limit.limit)?;
    }

    let Some(order_id) = order_id else { return Ok(()) };
    match client.cancel_order(order_id).await {
        Ok(_) => writeln!(out, "order {order_id} is cancelled")?,
        Err(error) if error.code() == Some(ErrorCode::OrderNotFound) => {
            // An attempt whose response was lost may have cancelled it.
            writeln!(out, "order {order_id} is gone, or was never there: {error}")?;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}
