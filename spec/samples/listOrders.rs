// cargo add --git <REPOSITORY> store-orders-client
// cargo add tokio --features macros,rt-multi-thread
use std::env;
use store_orders_client::Client;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::new(env::var("BASE_URL")?, env::var("API_KEY")?)?;
    let orders = client.list_orders().await.map_err(|error| error.to_string())?;
    for order in &orders {
        println!("order {}: {} of pet {}", order.id, order.quantity, order.pet_id);
    }
    Ok(())
}
