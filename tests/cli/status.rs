//! `status` names the server of a store in a data directory; what is for PostgreSQL alone, or
//! not for it, says so.

use serde_json::json;
use testbed::CliSandbox;

/// Nothing listens there, and nothing is asked to.
const NOWHERE: &str = "postgres://store:hidden-word@127.0.0.1:1/store";

#[test]
fn the_server_of_a_store_is_named() {
    let sandbox = CliSandbox::new();
    let missing = sandbox.run(&["status"]).unavailable();
    assert!(missing.contains("there is no store at"), "{missing}");
    sandbox.run(&["accounts", "create", "acme", "--plan", "pro"]).done();
    let stopped = sandbox.run(&["status", "--json"]).json();
    assert_eq!(stopped, json!({ "store": "./store-orders-data", "server": null }));
    let server = sandbox.serve(&["--listen", "127.0.0.1:0"]);
    let (pid, address) = (server.process().pid().unwrap(), server.address().unwrap());
    let text = sandbox.run(&["status"]).done();
    assert_eq!(text, format!("./store-orders-data: served (pid {pid}, {address})\n"));
    let served = sandbox.run(&["status", "--json"]).json();
    assert_eq!(
        served["server"],
        json!({ "pid": pid.to_string().parse::<u32>().unwrap(), "address": address.to_string() })
    );
}

#[test]
fn backup_names_the_tools_of_postgresql() {
    let sandbox = CliSandbox::new();
    let refused = sandbox.run(&["backup", "copy.sqlite", "--store", NOWHERE]).error();
    assert!(refused.contains("pg_dump") && refused.contains("point-in-time"), "{refused}");
    assert!(!sandbox.path("copy.sqlite").exists());
}

#[test]
fn migrate_is_for_postgresql() {
    let sandbox = CliSandbox::new();
    let refused = sandbox.run(&["migrate"]).error();
    assert!(refused.contains("name it with --store"), "{refused}");
    assert!(!sandbox.path("store-orders-data").exists());
}

#[test]
fn a_store_that_cannot_be_reached_is_named_without_its_password() {
    let sandbox = CliSandbox::new();
    for command in [&["check"][..], &["status"], &["migrate"], &["orders", "list"]] {
        let refused = sandbox.run(&[command, &["--store", NOWHERE]].concat()).unavailable();
        assert!(refused.contains("store postgres://store@127.0.0.1:1/store"), "{refused}");
        assert!(!refused.contains("hidden-word"), "{refused}");
    }
}

#[test]
fn a_password_that_is_not_encoded_is_refused_with_the_way_to_write_it() {
    let refused = CliSandbox::new().run(&["status", "--store", "postgres://u:se?cret@h/d"]).usage();
    assert!(refused.contains("percent-encode the URL's parts: %40 for an at sign"), "{refused}");
    assert!(!refused.contains("cret"), "{refused}");
}
