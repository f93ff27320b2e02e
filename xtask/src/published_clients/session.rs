//! What programs do that were written for the oldest and the newest published document of each
//! version: they list, cancel, go through pages, and meet errors. Written by `cargo xtask
//! published-clients`, which compiles it with the clients that are generated from these documents.

use std::error::Error;

/// A value of the environment.
fn var(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

fn id(name: &str) -> i64 {
    var(name).parse().unwrap()
}

macro_rules! session {
    ($client:ident, $pending:expr) => {
        pub async fn run() -> Result<(), Box<dyn Error>> {
            let [of_v1, of_v2] = $pending.map(|offset: i64| id("PENDING") + offset);
            stable(of_v1).await?;
            beta(of_v2).await?;
            errors().await?;
            Ok(())
        }

        fn client(key: &str) -> Result<$client::Client, Box<dyn Error>> {
            let client = $client::Client::builder(var("BASE_URL"), var(key));
            Ok(client.without_retries().build()?)
        }

        async fn stable(pending: i64) -> Result<(), Box<dyn Error>> {
            let client = client("KEY")?;
            let before = client.list_orders().await?.into_inner();
            client.cancel_order(pending).await?;
            let again = client.cancel_order(pending).await.unwrap_err();
            assert_eq!(again.code(), Some($client::ErrorCode::OrderNotFound));
            let after = client.list_orders().await?.into_inner();
            assert_eq!(after.len(), before.len() - 1);
            assert!(after.iter().all(|order| i64::from(order.id) != pending));
            assert!(after.iter().any(|order| order.ship_date.is_some()));
            #[expect(deprecated, reason = "programs of that time call it")]
            let pet = client.get_pet(7).await?.into_inner();
            assert_eq!(pet.name, "Pet 7");
            Ok(())
        }

        async fn beta(pending: i64) -> Result<(), Box<dyn Error>> {
            let stable = client("KEY")?;
            let client = stable.v2();
            let listed = stable.list_orders().await?.into_inner();
            let mut pages = client.list_orders().pet_id(7).limit(50).stream();
            let mut paged = Vec::new();
            while let Some(order) = pages.next().await {
                paged.push(i64::from(order?.id));
            }
            let listed: Vec<_> = listed.iter().map(|order| i64::from(order.id)).collect();
            assert!(listed.len() > 100 && paged == listed, "{} of {}", paged.len(), listed.len());
            client.cancel_order(pending).await?;
            let again = client.cancel_order(pending).await.unwrap_err();
            assert_eq!(again.code(), Some($client::ErrorCode::OrderNotFound));
            let pending = $client::v2::OrderStatus::Pending;
            let mut pages = client.list_orders().status(pending).limit(50).stream();
            let first = pages.next().await.ok_or("no order is pending")??;
            assert_eq!(first.status, $client::v2::OrderStatus::Pending);
            Ok(())
        }

        async fn errors() -> Result<(), Box<dyn Error>> {
            let shipped = client("KEY")?.cancel_order(id("SHIPPED")).await.unwrap_err();
            assert_eq!(shipped.code(), Some($client::ErrorCode::OrderAlreadyShipped));
            assert_eq!(shipped.status().map(|status| status.as_u16()), Some(409));
            let refused = client("WRONG_KEY")?.list_orders().await.unwrap_err();
            assert_eq!(refused.code(), Some($client::ErrorCode::Unauthorized));
            let wrong = client("KEY")?.v2().list_orders().limit(0).send().await.unwrap_err();
            assert_eq!(wrong.code(), Some($client::ErrorCode::InvalidParameter));
            let limited = client("LIMITED_KEY")?;
            let _first = limited.list_orders().await;
            let limited = limited.list_orders().await.unwrap_err();
            assert_eq!(limited.code(), Some($client::ErrorCode::RateLimitExceeded));
            assert!(limited.retry_after().is_some());
            assert!(limited.request_id().is_some());
            Ok(())
        }
    };
}

mod of_oldest {
    use super::*;
    session!(oldest, [0, 3]);
}

mod of_newest {
    use super::*;
    session!(newest, [6, 9]);
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    of_oldest::run().await?;
    of_newest::run().await
}
