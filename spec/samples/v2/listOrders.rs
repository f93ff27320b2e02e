// Prints the pending orders of pet 7.
// cargo add --git <REPOSITORY> store-orders-client
// cargo add tokio --features macros,rt-multi-thread
use std::env;
use store_orders_client::{Client, v2::OrderStatus};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::new(env::var("BASE_URL")?, env::var("API_KEY")?)?.v2();
    let mut orders = client.list_orders().pet_id(7).status(OrderStatus::Pending).stream();
    while let Some(order) = orders.next().await {
        let order = order.map_err(|error| error.to_string())?;
        println!("order {}: {} of pet {}", order.id, order.quantity, order.pet_id);
    }
    Ok(())
}
