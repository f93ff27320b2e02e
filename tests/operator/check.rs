//! `check` finds what is wrong with a store, and nothing with a sound one.

use super::{Place, damage};
use serde_json::{Value, json};

/// A store of 3,000 orders, a tenth of them shipped, with an account and a key.
fn stocked() -> Place {
    let place = Place::new();
    let rows: String = (1..=3_000)
        .map(|id| {
            let status = if id % 10 == 0 { "shipped" } else { "pending" };
            format!("{id},1,1,2026-06-15T12:00:00Z,{status}\n")
        })
        .collect();
    place.write("orders.csv", format!("id,petId,quantity,shipDate,status\n{rows}"));
    place.run(&["orders", "import", "orders.csv"]).done();
    place.run(&["accounts", "create", "acme", "--plan", "pro"]).done();
    place.run(&["keys", "issue", "--account", "acme"]);
    place
}

fn spoil(place: &Place, sql: &str) {
    let connection =
        rusqlite::Connection::open(place.path("store-orders-data/store.sqlite")).unwrap();
    connection.execute_batch(sql).unwrap();
}

/// The problems of a store, which make the command fail.
fn problems(place: &Place) -> Vec<String> {
    let said = place.run(&["check", "--json"]);
    assert_eq!(said.status, 1, "{}", said.out);
    assert!(said.err.contains("found"), "{}", said.err);
    let found: Value = serde_json::from_str(&said.out).unwrap();
    serde_json::from_value(found["problems"].clone()).unwrap()
}

#[test]
fn a_sound_store_is_counted_beside_a_server_too() {
    let place = stocked();
    let _server = place.serve(&["--listen", "127.0.0.1:0"]);
    let mut found = place.run(&["check", "--json"]).json();
    // The server may have recorded its counts by now, or not.
    found.as_object_mut().unwrap().remove("countedAccounts");
    let expected = json!({
        "orders": { "pending": 2_700, "shipped": 300, "cancelled": 0 },
        "ordersVersion": 1, "keysVersion": 2,
        "pets": 0, "accounts": 1, "keys": 1, "problems": [],
    });
    assert_eq!(found, expected);
    let text = place.run(&["check"]).done();
    assert!(text.contains("sound\norders    2700 pending, 300 shipped, 0 cancelled"), "{text}");
}

#[test]
fn there_has_to_be_a_store() {
    let place = Place::new();
    let error = place.run(&["check"]).error();
    assert!(error.contains("there is no store at "), "{error}");
    assert!(!place.path("store-orders-data").exists());
}

#[test]
fn a_damaged_page_is_found() {
    let place = stocked();
    damage(&place.path("store-orders-data/store.sqlite"), 20);
    assert!(!problems(&place).is_empty());
    let error = place.run(&["backup", "b.sqlite"]).error();
    assert!(error.contains("is not sound"), "{error}");
    assert!(!place.path("b.sqlite").exists());
}

#[test]
fn a_version_behind_its_orders_is_found() {
    let place = stocked();
    spoil(&place, "UPDATE versions SET orders = 0");
    let expected = "versions: orders is at 0, behind an order that changed at 1";
    assert_eq!(problems(&place), [expected]);
    spoil(&place, "DELETE FROM versions");
    assert_eq!(problems(&place), ["versions: 0 rows instead of one"]);
}

#[test]
fn a_date_that_is_none_is_found() {
    let place = stocked();
    spoil(&place, "UPDATE orders SET ship_date = '2026-02-31T00:00:00Z' WHERE id = 7");
    let expected = "orders: ship_date of 7 is not a date in UTC: \"2026-02-31T00:00:00Z\"";
    assert_eq!(problems(&place), [expected]);
}

#[test]
fn a_key_without_its_account_is_found() {
    let place = stocked();
    spoil(&place, "PRAGMA foreign_keys = OFF; DELETE FROM accounts");
    assert_eq!(problems(&place), ["keys: row 1 refers to a row that is not in accounts"]);
}

#[test]
fn a_status_that_is_none_is_found() {
    let place = stocked();
    spoil(
        &place,
        "PRAGMA ignore_check_constraints = ON; UPDATE orders SET status = 'lost' WHERE id = 7",
    );
    let problems = problems(&place);
    assert!(problems.iter().any(|problem| problem.contains("CHECK constraint")), "{problems:?}");
}

#[test]
fn damaged_counts_are_found() {
    let place = stocked();
    place.write("store-orders-data/limits.sqlite", "what is this? ".repeat(100).as_str());
    let problems = problems(&place);
    assert!(problems[0].starts_with("limits.sqlite: "), "{problems:?}");
}
