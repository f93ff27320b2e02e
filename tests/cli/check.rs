//! `check` finds what is wrong with a store, and nothing with a sound one.

use super::damage;
use serde_json::{Value, json};
use testbed::CliSandbox;

/// A store of 3,000 orders, a tenth of them shipped, with an account and a key.
fn stocked() -> CliSandbox {
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

fn spoil(sandbox: &CliSandbox, sql: &str) {
    let connection =
        rusqlite::Connection::open(sandbox.path("store-orders-data/store.sqlite")).unwrap();
    connection.execute_batch(sql).unwrap();
}

/// The problems of a store, which make the command fail.
fn problems(sandbox: &CliSandbox) -> Vec<String> {
    let output = sandbox.run(&["check", "--json"]);
    assert_eq!(output.status, 1, "{}", output.stdout);
    let found: Value = serde_json::from_str(&output.stdout).unwrap();
    let problems: Vec<String> = serde_json::from_value(found["problems"].clone()).unwrap();
    let counted = format!(": {} problem", problems.len());
    assert!(output.stderr.contains(&counted), "{}", output.stderr);
    problems
}

#[test]
fn a_sound_store_is_counted_beside_a_server_too() {
    let sandbox = stocked();
    let _server = sandbox.serve(&["--listen", "127.0.0.1:0"]);
    let mut found = sandbox.run(&["check", "--json"]).json();
    // The server may have recorded its counts by now, or not.
    found.as_object_mut().unwrap().remove("countedAccounts");
    let expected = json!({
        "orders": { "pending": 2_700, "shipped": 300, "cancelled": 0 },
        "ordersVersion": 1, "keysVersion": 2,
        "pets": 0, "accounts": 1, "keys": 1, "problems": [],
    });
    assert_eq!(found, expected);
    let text = sandbox.run(&["check"]).done();
    assert!(text.contains("sound\norders    2700 pending, 300 shipped, 0 cancelled"), "{text}");
}

#[test]
fn there_has_to_be_a_store() {
    let sandbox = CliSandbox::new();
    let error = sandbox.run(&["check"]).unavailable();
    assert!(error.contains("there is no store at "), "{error}");
    assert!(!sandbox.path("store-orders-data").exists());
}

#[test]
fn a_store_without_an_id_is_found() {
    let sandbox = stocked();
    spoil(&sandbox, "DELETE FROM identity");
    assert_eq!(problems(&sandbox), ["identity: 0 rows instead of one"]);
}

#[test]
fn a_damaged_page_is_found() {
    let sandbox = stocked();
    damage(&sandbox.path("store-orders-data/store.sqlite"), 20);
    assert!(!problems(&sandbox).is_empty());
    let error = sandbox.run(&["backup", "b.sqlite"]).error();
    assert!(error.contains("is not sound"), "{error}");
    assert!(!sandbox.path("b.sqlite").exists());
}

#[test]
fn what_cannot_be_read_is_not_counted_as_none() {
    let sandbox = stocked();
    let file = sandbox.path("store-orders-data/store.sqlite");
    let root: usize = {
        let connection = rusqlite::Connection::open(&file).unwrap();
        let query = "SELECT rootpage FROM sqlite_schema WHERE name = 'orders'";
        connection.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap() as usize
    };
    damage(&file, root - 1);
    let output = sandbox.run(&["check"]);
    assert_eq!(output.status, 1);
    let counts =
        "\norders    unreadable; version 1\npets      0\naccounts  1\nkeys      1; version 2\n";
    assert!(output.stdout.ends_with(counts), "{}", output.stdout);
    let found: Value = serde_json::from_str(&sandbox.run(&["check", "--json"]).stdout).unwrap();
    assert_eq!((&found["orders"], &found["keys"]), (&Value::Null, &json!(1)));
}

#[test]
fn a_change_number_behind_its_orders_is_found() {
    let sandbox = stocked();
    spoil(&sandbox, "UPDATE versions SET orders = 0");
    let expected = "versions: orders is at 0, behind an order that changed at 1";
    assert_eq!(problems(&sandbox), [expected]);
    spoil(&sandbox, "DELETE FROM versions");
    assert_eq!(problems(&sandbox), ["versions: 0 rows instead of one"]);
}

#[test]
fn a_date_that_is_none_is_found() {
    let sandbox = stocked();
    spoil(&sandbox, "UPDATE orders SET ship_date = '2026-02-31T00:00:00Z' WHERE id = 7");
    let expected = "orders: ship_date of 7 is not a date in UTC: \"2026-02-31T00:00:00Z\"";
    assert_eq!(problems(&sandbox), [expected]);
}

#[test]
fn a_key_without_its_account_is_found() {
    let sandbox = stocked();
    spoil(&sandbox, "PRAGMA foreign_keys = OFF; DELETE FROM accounts");
    assert_eq!(problems(&sandbox), ["keys: row 1 refers to a row that is not in accounts"]);
}

#[test]
fn a_status_that_is_none_is_found() {
    let sandbox = stocked();
    spoil(
        &sandbox,
        "PRAGMA ignore_check_constraints = ON; UPDATE orders SET status = 'lost' WHERE id = 7",
    );
    let problems = problems(&sandbox);
    assert!(problems.iter().any(|problem| problem.contains("CHECK constraint")), "{problems:?}");
}

#[test]
fn damaged_counts_are_found() {
    let sandbox = stocked();
    sandbox.write("store-orders-data/limits.snapshot", "what is this? ".repeat(100).as_str());
    let problems = problems(&sandbox);
    assert!(problems[0].starts_with("limits.snapshot: "), "{problems:?}");
}
