//! `check` finds the problems of a damaged store. In a sound store, it finds none.

use super::damage;
use serde_json::json;
use testbed::{CliSandbox, str};

fn sandbox_with_store() -> CliSandbox {
    let sandbox = CliSandbox::new();
    let rows: String = (1..=3_000)
        .map(|id| {
            let status = if id % 10 == 0 { "shipped" } else { "pending" };
            format!("{id},1,1,2026-06-15T12:00:00Z,{status}\n")
        })
        .collect();
    sandbox.write("orders.csv", format!("id,petId,quantity,shipDate,status\n{rows}"));
    sandbox.run(&["orders", "import", "orders.csv"]).done();
    sandbox.run(&["accounts", "create", "acme", "--plan", "pro"]).done();
    sandbox.run(&["keys", "issue", "--account", "acme"]);
    sandbox
}

fn execute_sql(sandbox: &CliSandbox, sql: &str) {
    let connection =
        rusqlite::Connection::open(sandbox.path("store-orders-data/store.sqlite")).unwrap();
    connection.execute_batch(sql).unwrap();
}

#[test]
fn a_sound_store_is_counted_while_a_server_runs() {
    let sandbox = sandbox_with_store();
    let _server = sandbox.serve(&["--listen", "127.0.0.1:0"]);
    let mut report = sandbox.run(&["check", "--json"]).json();
    // Ignore `countedAccounts`, because the server may not have saved its request counts yet.
    report.as_object_mut().unwrap().remove("countedAccounts");
    let expected = json!({
        "orders": { "pending": 2_700, "shipped": 300, "cancelled": 0 },
        "ordersChangeNumber": 1, "keysChangeNumber": 2,
        "pets": 0, "accounts": 1, "keys": 1, "problems": [],
    });
    assert_eq!(report, expected);
}

#[test]
fn a_damaged_page_is_found_and_unreadable_orders_are_not_counted_as_none() {
    let sandbox = sandbox_with_store();
    damage(&sandbox.path("store-orders-data/store.sqlite"), 20);
    sandbox.session(str![[r#"
$ store-orders check
./store-orders-data: not sound
...
  orders cannot be read: database disk image is malformed
orders    unreadable; change 1
pets      0
accounts  1
keys      1; change 2
(1) error: ./store-orders-data: [..] problems found
$ store-orders check --json
{"orders":null,"ordersChangeNumber":1,"keysChangeNumber":2,"pets":0,"accounts":1,"keys":1,"problems":[[..],"orders cannot be read: database disk image is malformed"],"countedAccounts":null}
(1) error: ./store-orders-data: [..] problems found
"#]]);
}

#[test]
fn missing_rows_old_change_numbers_and_invalid_values_are_found() {
    let sandbox = sandbox_with_store();
    execute_sql(
        &sandbox,
        "UPDATE orders SET ship_date = '2026-02-31T00:00:00Z' WHERE id = 7;
         PRAGMA ignore_check_constraints = ON; UPDATE orders SET status = 'lost' WHERE id = 8;
         PRAGMA foreign_keys = OFF; DELETE FROM accounts;
         DELETE FROM identity; UPDATE last_changes SET orders = 0",
    );
    sandbox.write("store-orders-data/limits.snapshot", "what is this? ".repeat(100).as_str());
    sandbox.session(str![[r#"
$ store-orders check
./store-orders-data: not sound
  CHECK constraint failed in orders
  keys: row 1 refers to a row that is not in accounts
  last_changes: the change number of orders is 0, behind 1 of an order
  identity: 0 rows instead of one
  orders: ship_date of 7 is not a date in UTC: "2026-02-31T00:00:00Z"
  limits.snapshot: not a counts file of this version
orders    2699 pending, 300 shipped, 0 cancelled; change 0
pets      0
accounts  0
keys      1; change 2
(1) error: ./store-orders-data: 6 problems found
"#]]);
    execute_sql(&sandbox, "DELETE FROM last_changes");
    sandbox.session(str![[r#"
$ store-orders check 2> /dev/null | grep -E 'version|change'
  last_changes: 0 rows instead of one
  limits.snapshot: not a counts file of this version
orders    2699 pending, 300 shipped, 0 cancelled; change unreadable
keys      1; change unreadable
"#]]);
}

#[test]
fn ids_that_javascript_rounds_are_named_in_a_sound_store() {
    let sandbox = CliSandbox::new();
    sandbox.write("orders.csv", "id,petId,quantity\n1,1,1\n2,1,1\n");
    sandbox.run(&["orders", "import", "orders.csv"]).done();
    sandbox.write("pets.csv", "id,name\n3,Rex\n");
    sandbox.run(&["pets", "import", "pets.csv"]).done();
    execute_sql(
        &sandbox,
        "UPDATE orders SET id = 9007199254740993 WHERE id = 1;
         UPDATE orders SET pet_id = -9007199254740992 WHERE id = 2;
         UPDATE pets SET id = 9007199254740992",
    );
    sandbox.session(str![[r#"
$ store-orders check
./store-orders-data: sound
orders    2 pending, 0 shipped, 0 cancelled; change 1
pets      1
accounts  0
keys      0; change 0
! warning: orders: id is not from -(2^53-1) to 2^53-1 (9007199254740991) in 9007199254740993. Clients in JavaScript read another number. Import the orders again with ids in this range, and cancel those with these ids: `store-orders orders cancel ID --reason TEXT`
! warning: orders: pet_id is not from -(2^53-1) to 2^53-1 (9007199254740991) in 2. Clients in JavaScript read another number. Import the orders again with ids in this range, and cancel those with these ids: `store-orders orders cancel ID --reason TEXT`
! warning: pets: id is not from -(2^53-1) to 2^53-1 (9007199254740991) in 9007199254740992. Clients in JavaScript read another number. Import the pets again with ids in this range
$ store-orders orders list
              id              petId  quantity  complete  status
               2  -9007199254740992         1  false     pending
9007199254740993                  1         1  false     pending
$ store-orders orders cancel 9007199254740993 --reason "id too large"
cancelled 1 order
"#]]);
}
