//! One server a store, and everybody else beside it.

use super::Place;

#[test]
fn a_second_server_is_refused_and_commands_go_on_beside_the_first() {
    let place = Place::new();
    let first = place.serve(&["--listen", "127.0.0.1:0"]);
    let address = first.url.strip_prefix("http://").unwrap().strip_suffix("/v1").unwrap();
    let error = place.run(&["serve", "--listen", "127.0.0.1:0"]).error();
    let holder = format!("a server (pid {}, {address}) has the store in ", first.child.id());
    assert!(error.starts_with(&holder), "{error}");

    place.write("orders.csv", "id,petId,quantity\n7,1,1\n");
    place.run(&["orders", "import", "orders.csv"]).done();
    let orders = place.run(&["orders", "list", "--json"]).json();
    assert_eq!(orders[0]["id"], 7);

    // Killed, it leaves its file, but not its lock.
    first.kill();
    assert!(place.path("store-orders-data/server.lock").exists());
    place.serve(&["--listen", "127.0.0.1:0"]);
}
