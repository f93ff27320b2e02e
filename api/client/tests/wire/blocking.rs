//! The client without async code, against the server for users' tests.

use store_orders_client::testing::{KEY, Server};
use store_orders_client::{BuildError, Client, ErrorCode, Order, Pet, blocking};

#[test]
fn it_does_what_the_async_client_does() {
    let server = Server::start([Order::new(1, 7, 2), Order::new(2, 7, 1)]).unwrap();
    server.add_pet(Pet::new(7, "Rex"));
    let client = blocking::Client::new(server.base_url(), KEY).unwrap();
    let ids: Vec<_> = client.list_orders().unwrap().into_iter().map(|order| order.id).collect();
    assert_eq!(ids, [1.into(), 2.into()]);
    server.fail_next(ErrorCode::ServiceUnavailable);
    assert_eq!(client.cancel_order(1).unwrap().attempts(), 2);
    let error = client.cancel_order(1).unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::OrderNotFound));
    #[expect(deprecated, reason = "it has the deprecated operation, too")]
    let pet = client.get_pet(7).unwrap();
    assert_eq!(pet.name, "Rex");
}

#[test]
fn clones_work_on_several_threads() {
    let server = Server::start((1..=8).map(|id| Order::new(id, 7, 1))).unwrap();
    let client = blocking::Client::new(server.base_url(), KEY).unwrap();
    std::thread::scope(|scope| {
        for id in 1..=8 {
            let client = client.clone();
            scope.spawn(move || client.cancel_order(id).unwrap());
        }
    });
    assert!(client.list_orders().unwrap().is_empty());
}

#[test]
fn it_is_built_with_options_and_refuses_what_the_async_client_refuses() {
    let server = Server::start([]).unwrap();
    let builder = Client::builder(server.base_url(), KEY).without_retries();
    let client = builder.build_blocking().unwrap();
    server.fail_next(ErrorCode::ServiceUnavailable);
    assert_eq!(client.list_orders().unwrap_err().attempts(), 1);
    let error = blocking::Client::new("http://orders.example/v2", KEY).unwrap_err();
    assert!(matches!(error, BuildError::BaseUrl(_)), "{error:?}");
    assert!(!format!("{client:?}").contains(KEY));
}

#[cfg(feature = "v2-beta")]
#[test]
fn version_2_is_iterated_over_page_by_page() {
    use store_orders_client::v2::{OrderStatus, blocking};

    let server = Server::start((1..=7).map(|id| Order::new(id, 7, 1))).unwrap();
    server.ship(4);
    let client = blocking::Client::new(server.v2_base_url(), KEY).unwrap();
    let request = client.list_orders().pet_id(7).status(OrderStatus::Pending).limit(2);
    assert_eq!(request.clone().send().unwrap().orders.len(), 2);
    for order in request.clone() {
        client.cancel_order(order.unwrap().id).unwrap();
    }
    assert_eq!(server.orders().iter().map(|order| *order.id).collect::<Vec<_>>(), [4]);
    server.fail_next(ErrorCode::Unauthorized);
    let results: Vec<_> = client.list_orders().into_iter().collect();
    assert_eq!(results.len(), 1);
    assert!(results[0].as_ref().unwrap_err().cursor().is_none());
    assert!(!format!("{client:?}").contains(KEY));
}
