// cargo add --git <REPOSITORY> store-orders-client --features v2-beta
// cargo add tokio --features macros,rt-multi-thread
use std::env;
use store_orders_client::v2::Client;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::new(env::var("BASE_URL")?, env::var("API_KEY")?)?;
    let order = client.get_order(1042).await.map_err(|error| error.to_string())?;
    match order.cancelled_at {
        Some(at) => println!("order {}: cancelled at {at}", order.id),
        None => println!("order {}: {}", order.id, order.status),
    }
    Ok(())
}
