//! Tests that `status` names the server of a data directory. Also tests the errors of commands that
//! support only one kind of store.

use serde_json::json;
use testbed::{CliSandbox, str};

#[test]
fn the_server_of_a_store_is_named() {
    let sandbox = CliSandbox::new();
    sandbox.session(str![[r#"
$ store-orders accounts create acme --plan pro > /dev/null
$ store-orders status
./store-orders-data: no server runs
$ store-orders status --json
{"store":"./store-orders-data","server":null}
"#]]);
    let server = sandbox.serve(&["--listen", "127.0.0.1:0"]);
    let (pid, address) = (server.process().pid().unwrap(), server.address().unwrap());
    let text = sandbox.run(&["status"]).done();
    assert_eq!(text, format!("./store-orders-data: served (pid {pid}, {address}, admin off)\n"));
    let server = json!({ "pid": pid.as_raw_nonzero().get(), "address": address.to_string(), "adminListen": "off" });
    let status = sandbox.run(&["status", "--json"]).json();
    assert_eq!(status, json!({ "store": "./store-orders-data", "server": server }));
}

#[test]
fn commands_for_one_kind_of_store_say_so() {
    CliSandbox::new().session(str![[r#"
$ store-orders backup copy.sqlite --store postgres://store:hidden-word@127.0.0.1:1/store
(1) error: a store in PostgreSQL is backed up with its own tools: pg_dump for a copy, a base backup and archived WAL (pg_basebackup, archive_command) for point-in-time recovery
$ store-orders migrate
(1) error: only a store in PostgreSQL is migrated by a command: name it with --store; the one in a data directory is brought up to date when it is opened
$ ls
"#]]);
}
