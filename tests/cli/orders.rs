//! `orders ship`, `show` and `list`.

use chrono::DateTime;
use serde_json::json;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::{Duration, Instant};
use store_orders::store::{Cancellation, Store};
use testbed::CliSandbox;

#[test]
fn shipping_is_for_all_or_none() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([-3, 1, 2]);
    assert_eq!(sandbox.run(&["orders", "ship", "-3"]).done(), "shipped 1 order\n");
    assert_eq!(
        sandbox.run(&["orders", "ship", "1", "2", "99"]).missing(),
        "there is no order 99; nothing was changed"
    );
    assert_eq!(status_of(&sandbox, "1"), "pending");
    // One that has shipped already stays as it is.
    let output = sandbox.run(&["orders", "ship", "1", "-3", "--json"]);
    assert_eq!(output.json(), json!({"shipped": [1], "alreadyShipped": [-3]}));
    assert_eq!(
        sandbox.run(&["orders", "ship", "2", "1", "-3", "2"]).done(),
        "shipped 1 order\n2 have shipped already: -3, 1\n"
    );
    assert_eq!(
        sandbox.run(&["orders", "ship", "1"]).done(),
        "shipped 0 orders\n1 has shipped already: 1\n"
    );
    assert_eq!(status_of(&sandbox, "1"), "shipped");
    sandbox.run(&["orders", "ship"]).usage();
    sandbox.run(&["orders", "ship", "01"]).usage();
}

fn status_of(sandbox: &CliSandbox, id: &str) -> String {
    let order = sandbox.run(&["orders", "show", id, "--json"]).json();
    order["status"].as_str().unwrap().to_string()
}

#[test]
fn an_order_is_shown_whatever_its_status() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([-3, 4]);
    assert_eq!(
        sandbox.run(&["orders", "show", "-3"]).done(),
        "id           -3\npetId        1\nquantity     1\ncomplete     false\nstatus       pending\n"
    );
    let at = DateTime::from_timestamp(1_781_524_800, 0).unwrap();
    let cancellation = Cancellation {
        order_id: 4,
        key_id: "key_x".into(),
        at,
        deadline: Instant::now() + Duration::from_secs(60),
    };
    sandbox.store().cancel(&[cancellation]).unwrap();
    assert_eq!(
        sandbox.run(&["orders", "show", "4", "--json"]).json(),
        json!({"id": 4, "petId": 1, "quantity": 1, "complete": false, "status": "cancelled",
               "cancelledAt": "2026-06-15T12:00:00Z", "cancelledBy": "key_x"})
    );
    assert_eq!(
        sandbox.run(&["orders", "ship", "4"]).error(),
        "order 4 is cancelled and cannot be shipped; nothing was changed"
    );
    assert_eq!(
        sandbox.run(&["orders", "show", "5"]).missing(),
        "there is no order 5; `store-orders orders list` shows those there are"
    );
}

#[test]
fn a_list_can_be_narrowed() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([]);
    assert_eq!(sandbox.run(&["orders", "list", "--json"]).done(), "[]\n");
    assert_eq!(
        sandbox.run(&["orders", "list"]).done(),
        "id  petId  quantity  shipDate  complete  status\n"
    );
    sandbox.import_pending(1..=4);
    sandbox.run(&["orders", "ship", "2", "4"]).done();
    let list = |arguments: &[&str]| sandbox.run(&[&["orders", "list"], arguments].concat());
    assert_eq!(
        list(&["--status", "shipped", "--limit", "1"]).done(),
        "id  petId  quantity  complete  status\n 2      1         1  false     shipped\n"
    );
    assert_eq!(
        list(&["--status", "shipped", "--limit", "1", "--wide"]).done(),
        "id  petId  quantity  shipDate  complete  status   cancelledAt  cancelledBy\n \
         2      1         1            false     shipped\n"
    );
    let ids = |arguments: &[&str]| {
        let orders = list(&[arguments, &["--json"]].concat()).json();
        orders.as_array().unwrap().iter().map(|order| order["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&["--status", "pending"]), [1, 3]);
    assert_eq!(ids(&["--limit", "3"]), [1, 2, 3]);
    assert_eq!(ids(&["--limit", "0"]), [0; 0]);
    assert_eq!(ids(&["--status", "cancelled"]), [0; 0]);
    list(&["--status", "gone"]).usage();
}

#[test]
fn a_command_that_waits_to_write_says_so() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([1]);
    let other = sandbox.path("store-orders-data/store.sqlite");
    let other = rusqlite::Connection::open(other).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut ship = sandbox.command(&["orders", "ship", "1"]);
    let mut child = ship.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "waiting for the server or another command to write\n");
    other.execute_batch("ROLLBACK").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(status_of(&sandbox, "1"), "shipped");
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending(1..=20_000);
    for arguments in [&["orders", "list"][..], &["orders", "list", "--json"]] {
        let mut command = sandbox.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::with_capacity(64, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty());
        let status = child.wait().unwrap();
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!((status.code(), err.as_str()), (Some(0), ""));
    }
}

#[test]
fn orders_are_shipped_from_a_file_and_from_standard_input() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending(1..=5);
    sandbox.write("ids.txt", "3\r\n\n  1\n3\n");
    let shipped = sandbox.run(&["orders", "ship", "--file", "ids.txt", "--json"]).json();
    assert_eq!(shipped, json!({"shipped": [1, 3], "alreadyShipped": []}));
    let ship = |input: &str, more: &[&str]| {
        sandbox.run_with_input(&[&["orders", "ship", "-"], more].concat(), input.as_bytes())
    };
    assert_eq!(ship("2\n3\n", &[]).done(), "shipped 1 order\n1 has shipped already: 3\n");

    let refused = ship("4\nfour\n99\n", &["--json"]);
    let said: serde_json::Value = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!((refused.status, &said["changed"], &said["badRows"]), (1, &json!(0), &json!(2)));
    let id_must_be = "id must be a 64-bit integer, not \"four\"";
    assert_eq!(
        said["errors"],
        json!([{"line": 2, "field": "id", "problem": id_must_be},
               {"line": 3, "field": "id", "problem": "there is no order 99"}])
    );
    assert_eq!(status_of(&sandbox, "4"), "pending");
    assert!(ship("\n", &[]).error().contains("has no id"));
    ship("4\n", &["5"]).usage();
    sandbox.run(&["orders", "ship", "5", "--file", "ids.txt"]).usage();
}

#[test]
fn ship_dates_and_completion_are_updated_by_a_file_that_is_checked_whole() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending(1..=3);
    sandbox.run(&["orders", "ship", "2"]).done();
    let update = |input: &str, more: &[&str]| {
        sandbox.run_with_input(&[&["orders", "update", "-"], more].concat(), input.as_bytes())
    };
    let csv = "id,shipDate,complete\n1,2026-12-01T09:30:00+02:00,\n2,,TRUE\n";
    let planned = update(csv, &["--dry-run", "--json"]).json();
    assert_eq!(planned, json!({"updated": 2, "dryRun": true}));
    assert_eq!(sandbox.listed(&["orders"])[0]["shipDate"], json!(null));
    assert_eq!(update(csv, &[]).done(), "updated 2 orders\n");
    let orders = sandbox.listed(&["orders"]);
    assert_eq!(orders[0]["shipDate"], "2026-12-01T07:30:00Z");
    assert_eq!((&orders[0]["complete"], &orders[1]["complete"]), (&json!(false), &json!(true)));
    assert_eq!(update("{\"id\": 1, \"complete\": true}", &[]).done(), "updated 1 order\n");

    let wrong = "[{\"id\": 3, \"complete\": true},\n{\"id\": 3, \"complete\": false},\n\
                 {\"id\": 2, \"shipDate\": null},\n{\"id\": 9, \"shipDate\": \"soon\"},\n\
                 {\"id\": 8, \"complete\": true}]";
    let refused = update(wrong, &["--json"]);
    let said: serde_json::Value = serde_json::from_str(&refused.stdout).unwrap();
    let found: Vec<_> = said["errors"].as_array().unwrap().iter().collect();
    let fields: Vec<_> =
        found.iter().map(|error| (error["line"].clone(), error["field"].clone())).collect();
    let expected = [(2, json!("id")), (3, json!(null)), (4, json!("shipDate")), (5, json!("id"))];
    assert_eq!(fields, expected.map(|(line, field)| (json!(line), field)));
    assert_eq!((refused.status, &said["error"]["code"]), (1, &json!("failed")));
    assert!(
        update("{\"id\": 3, \"quantity\": 2}", &[]).error().contains("\"quantity\" is unknown")
    );
    assert_eq!(sandbox.listed(&["orders"])[2]["complete"], json!(false));
}

/// Next to a server a step is smaller, and each is one change of the list.
#[test]
fn many_orders_are_changed_in_steps() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending(1..=1_200);
    let server = sandbox.serve(&["--listen", "127.0.0.1:0"]);
    let changes = || sandbox.run(&["check", "--json"]).json()["ordersVersion"].as_i64().unwrap();
    let before = changes();
    // All are checked before the first step.
    let mut ship: Vec<String> = ["orders", "ship"].map(str::to_string).into();
    ship.extend((1..=600).map(|id| id.to_string()));
    ship.push("99999".to_string());
    let ship: Vec<&str> = ship.iter().map(String::as_str).collect();
    assert_eq!(sandbox.run(&ship).missing(), "there is no order 99999; nothing was changed");
    assert_eq!(changes(), before);
    let ids: String = (1..=1_200).map(|id| format!("{id}\n")).collect();
    let shipped = sandbox.run_with_input(&["orders", "ship", "-"], ids.as_bytes());
    assert_eq!(shipped.done(), "shipped 1200 orders\n");
    assert_eq!(changes() - before, 3);
    drop(server);
}
