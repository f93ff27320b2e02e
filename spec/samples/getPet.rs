// cargo add --git <REPOSITORY> store-orders-client
// cargo add tokio --features macros,rt-multi-thread
use std::env;
use store_orders_client::Client;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::new(env::var("BASE_URL")?, env::var("API_KEY")?)?;
    #[expect(deprecated, reason = "until we keep the names of pets ourselves")]
    let pet = client.get_pet(7).await.map_err(|error| error.to_string())?;
    println!("{}", pet.name);
    Ok(())
}
