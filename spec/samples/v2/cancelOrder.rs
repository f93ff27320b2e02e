// Cancels the orders whose ids are arguments: cargo run -- 1042 1043
// cargo add --git <REPOSITORY> store-orders-client
// cargo add tokio --features macros,rt-multi-thread
use std::env;
use store_orders_client::{CancelOrderOutcome, Client, ErrorCode, OrderId};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // It waits for the limits, sends again what got no response or a 5xx, and fails if a wait would
    // end after 2 minutes: a ban, or the requests of the day are used up.
    let client = Client::new(env::var("BASE_URL")?, env::var("API_KEY")?)?.v2();
    for id in env::args().skip(1) {
        let id: OrderId = id.parse()?;
        match client.cancel_order(id).await {
            Ok(outcome) => match *outcome {
                CancelOrderOutcome::Cancelled => println!("order {id}: cancelled"),
                CancelOrderOutcome::AlreadyGone => {
                    println!("order {id}: not there, probably cancelled by an earlier attempt");
                }
            },
            Err(error) => match error.code() {
                Some(ErrorCode::OrderNotFound | ErrorCode::OrderAlreadyShipped) => {
                    println!("order {id}: {error}");
                }
                _ => return Err(format!("order {id}: {error}").into()),
            },
        }
    }
    Ok(())
}
