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
        sandbox.run(&["orders", "ship", "1", "2", "99"]).error(),
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
        sandbox.run(&["orders", "show", "5"]).error(),
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
