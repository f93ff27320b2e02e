// cargo add --git <REPOSITORY> store-orders-client
// cargo add tokio --features macros,rt-multi-thread
use std::env;
use store_orders_client::Client;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::new(env::var("BASE_URL")?, env::var("API_KEY")?)?.v2();
    let order = client.get_order(1042).await.map_err(|error| error.to_string())?;
    match order.cancelled_at {
        Some(at) => println!("order {}: cancelled at {at}", order.id),
        None => println!("order {}: {}", order.id, order.status),
    }
    Ok(())
}
