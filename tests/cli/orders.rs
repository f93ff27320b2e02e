//! Tests the `orders` commands other than `import`.

use super::{store, wait};
use chrono::DateTime;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::{Duration, Instant};
use store_orders::store::{Cancellation, Store};
use testbed::{CliSandbox, str};

#[test]
fn orders_are_shipped_all_or_none() {
    CliSandbox::new().session(str![[r#"
$ printf 'id,petId,quantity\n-3,1,1\n1,1,1\n2,1,1\n' | store-orders orders import -
created a new store in [DIRECTORY]/store-orders-data
imported 3 orders
$ store-orders orders ship -3
shipped 1 order
$ store-orders orders ship 1 2 99
(3) error: there is no order 99; nothing was changed
$ store-orders orders list
id  petId  quantity  complete  status
-3      1         1  false     shipped
 1      1         1  false     pending
 2      1         1  false     pending
$ store-orders orders ship 1 -3 --json
{"shipped":[1],"alreadyShipped":[-3]}
$ store-orders orders ship 2 1 -3 2
shipped 1 order
2 have shipped already: -3, 1
"#]]);
}

/// Cancels an order as a server does for a request with the key `key_x`.
pub fn cancel(sandbox: &CliSandbox, order_id: i64) {
    let cancelled_at = DateTime::from_timestamp(1_781_524_800, 0).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let cancellation = Cancellation {
        order_id,
        key_id: "key_x".into(),
        at: cancelled_at,
        deadline,
        unchanged_since: None,
    };
    wait(store(sandbox).cancel([cancellation].into())).unwrap();
}

fn status_of(sandbox: &CliSandbox, id: &str) -> String {
    let order = sandbox.run(&["orders", "show", id, "--json"]).json();
    order["status"].as_str().unwrap().to_string()
}

#[test]
fn an_order_is_shown_whatever_its_status() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([-3, 4]);
    cancel(&sandbox, 4);
    sandbox.session(str![[r#"
$ store-orders orders show -3
id           -3
petId        1
quantity     1
complete     false
status       pending
$ store-orders orders show 4 --json
{"id":4,"petId":1,"quantity":1,"complete":false,"status":"cancelled","cancelledAt":"2026-06-15T12:00:00Z","cancelledBy":"key_x"}
$ store-orders orders ship 4
(1) error: order 4 is cancelled and cannot be shipped; nothing was changed
"#]]);
}

#[test]
fn a_list_can_be_filtered_and_limited() {
    CliSandbox::new().session(str![[r#"
$ echo id,petId,quantity | store-orders orders import -
created a new store in [DIRECTORY]/store-orders-data
imported 0 orders
$ store-orders orders list --json
[]
$ store-orders orders list
id  petId  quantity  shipDate  complete  status
$ printf 'id,petId,quantity\n1,1,1\n2,1,1\n3,1,1\n4,1,1\n' | store-orders orders import -
imported 4 orders
$ store-orders orders ship 2 4
shipped 2 orders
$ store-orders orders list --status shipped --limit 1
id  petId  quantity  complete  status
 2      1         1  false     shipped
$ store-orders orders list --status pending
id  petId  quantity  complete  status
 1      1         1  false     pending
 3      1         1  false     pending
$ store-orders orders list --limit 3
id  petId  quantity  complete  status
 1      1         1  false     pending
 2      1         1  false     shipped
 3      1         1  false     pending
$ store-orders orders list --limit 0 --json
[]
$ store-orders orders list --status cancelled --json
[]
"#]]);
}

#[test]
fn a_list_can_be_filtered_by_pet_and_ship_date() {
    CliSandbox::new().session(str![[r#"
$ cat > orders.csv <<END
> id,petId,quantity,shipDate,status
> 1,7,1,2001-05-31T23:59:59.9Z,pending
> 2,7,1,2001-06-01T00:00:00Z,pending
> 3,7,1,2001-07-01T01:59:59+02:00,shipped
> 4,7,1,2001-07-01T00:00:00Z,pending
> 5,8,1,2001-06-15T00:00:00Z,pending
> 6,7,1,,pending
> END
$ store-orders orders import orders.csv | tail -n 1
imported 6 orders
$ store-orders orders list --from 2001-06-01 --to 2001-06-30
id  petId  quantity  shipDate    complete  status
 2      7         1  2001-06-01  false     pending
 3      7         1  2001-06-30  false     shipped
 5      8         1  2001-06-15  false     pending
$ store-orders orders list --pet 7 --to 2001-06-30 --status pending
id  petId  quantity  shipDate    complete  status
 1      7         1  2001-05-31  false     pending
 2      7         1  2001-06-01  false     pending
$ store-orders orders list --pet 7 --from 2001-06-01 --limit 2
id  petId  quantity  shipDate    complete  status
 2      7         1  2001-06-01  false     pending
 3      7         1  2001-06-30  false     shipped
$ store-orders orders list --pet -7 --json
[]
$ store-orders orders list --from 2001-6-1
(2) error: invalid value '2001-6-1' for '--from <DATE>': not a day like 2026-06-15
"#]]);
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
fn a_closed_pipe_ends_a_list_quietly() {
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
    sandbox.session(str![[r#"
$ printf '3\r\n\n  1\n3\n' > ids.txt
$ store-orders orders ship --file ids.txt --json
{"shipped":[1,3],"alreadyShipped":[]}
$ printf '2\n3\n' | store-orders orders ship -
shipped 1 order
1 has shipped already: 3
$ printf '4\nfour\n99\n' | store-orders orders ship - --json
{"error":{"code":"failed","message":"standard input: nothing was changed, because of:\n  line 2: id must be a 64-bit integer, not \"four\"\n  line 3: there is no order 99\n2 bad rows"},"changed":0,"badRows":2,"errors":[{"line":2,"field":"id","problem":"id must be a 64-bit integer, not \"four\""},{"line":3,"field":"id","problem":"there is no order 99"}]}
(1) error: standard input: nothing was changed, because of:
(1)   line 2: id must be a 64-bit integer, not "four"
(1)   line 3: there is no order 99
(1) 2 bad rows
$ store-orders orders list
id  petId  quantity  complete  status
 1      1         1  false     shipped
 2      1         1  false     shipped
 3      1         1  false     shipped
 4      1         1  false     pending
 5      1         1  false     pending
$ echo | store-orders orders ship -
(1) error: standard input has no id; write one on each line
$ echo 4 | store-orders orders ship - 5
(2) error: orders ship takes ids or -, not both
$ store-orders orders ship 5 --file ids.txt
(2) error: the argument '[ID]...' cannot be used with '--file <FILE>'
"#]]);
}

#[test]
fn orders_are_cancelled_all_or_none_without_a_key() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending(1..=5);
    cancel(&sandbox, 5);
    sandbox.session(str![[r#"
$ store-orders orders ship 4
shipped 1 order
$ store-orders orders cancel 1 99 --reason test
(3) error: there is no order 99; nothing was changed
$ store-orders orders cancel 1 4 --reason test
(1) error: order 4 has shipped and cannot be cancelled; nothing was changed
$ printf '2\n2\n\n1\n' > ids.txt
$ store-orders orders cancel --file ids.txt --reason 'ticket 4711' --json
{"cancelled":[1,2],"alreadyCancelled":[]}
$ printf '5\n2\n3\n' | store-orders orders cancel - --reason recall
cancelled 1 order
2 were cancelled already: 2, 5
$ store-orders orders cancel 1 --reason recall
cancelled 0 orders
1 was cancelled already: 1
$ store-orders orders list --status cancelled --json
[
{"id":1,"petId":1,"quantity":1,"complete":false,"status":"cancelled","cancelledAt":"YYYY-MM-DDThh:mm:ssZ","cancelledBy":"operator:[..]"},
{"id":2,"petId":1,"quantity":1,"complete":false,"status":"cancelled","cancelledAt":"YYYY-MM-DDThh:mm:ssZ","cancelledBy":"operator:[..]"},
{"id":3,"petId":1,"quantity":1,"complete":false,"status":"cancelled","cancelledAt":"YYYY-MM-DDThh:mm:ssZ","cancelledBy":"operator:[..]"},
{"id":5,"petId":1,"quantity":1,"complete":false,"status":"cancelled","cancelledAt":"2026-06-15T12:00:00Z","cancelledBy":"key_x"}
]
$ echo 4 | store-orders orders cancel - 5 --reason test
(2) error: orders cancel takes ids or -, not both
$ store-orders orders cancel 4 --reason ' '
(2) error: invalid value ' ' for '--reason <TEXT>': a reason is a text, such as a ticket's number
$ store-orders orders cancel 4
(2) error: the following required arguments were not provided:
(2)   --reason <TEXT>
"#]]);
}

/// The exit status is 3 if every problem is a missing order. It is 1 if the status of an order
/// forbids the change.
#[test]
fn orders_from_arguments_and_files_have_the_same_exit_status() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending(1..=2);
    cancel(&sandbox, 2);
    sandbox.session(str![[r#"
$ printf 'id,complete\n1,true\n98,true\n99,true\n' > update.csv
$ store-orders orders update update.csv
(3) error: update.csv: nothing was changed, because of:
(3)   line 3: there is no order 98
(3)   line 4: there is no order 99
(3) 2 bad rows
$ printf '1\n99\n' | store-orders orders ship - --json
{"error":{"code":"not_found","message":"standard input: line 2: there is no order 99; nothing was changed"},"changed":0,"badRows":1,"errors":[{"line":2,"field":"id","problem":"there is no order 99"}]}
(3) error: standard input: line 2: there is no order 99; nothing was changed
$ store-orders orders ship 1 99
(3) error: there is no order 99; nothing was changed
$ printf 'id,complete\n-1,true\n2,true\n' | store-orders orders update -
(1) error: standard input: nothing was changed, because of:
(1)   line 2: there is no order -1
(1)   line 3: order 2 is cancelled and cannot be updated
(1) 2 bad rows
$ store-orders orders ship -1 2
(1) error: order 2 is cancelled and cannot be shipped; nothing was changed
"#]]);
}

#[test]
fn ship_dates_and_completion_are_updated_by_a_file_that_is_checked_whole() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending(1..=3);
    sandbox.session(str![[r#"
$ store-orders orders ship 2
shipped 1 order
$ printf 'id,shipDate,complete\n1,2001-12-01T09:30:00+02:00,\n2,,TRUE\n' > update.csv
$ store-orders orders update update.csv --dry-run --json
{"updated":2,"dryRun":true}
$ store-orders orders list
id  petId  quantity  complete  status
 1      1         1  false     pending
 2      1         1  false     shipped
 3      1         1  false     pending
$ store-orders orders update update.csv
updated 2 orders
$ store-orders orders list --json
[
{"id":1,"petId":1,"quantity":1,"shipDate":"2001-12-01T07:30:00Z","complete":false,"status":"pending"},
{"id":2,"petId":1,"quantity":1,"complete":true,"status":"shipped"},
{"id":3,"petId":1,"quantity":1,"complete":false,"status":"pending"}
]
$ echo '{"id": 1, "complete": true}' | store-orders orders update -
updated 1 order
$ cat > wrong.json <<END
> [{"id": 3, "complete": true},
> {"id": 3, "complete": false},
> {"id": 2, "shipDate": null},
> {"id": 9, "shipDate": "soon"},
> {"id": 8, "complete": true}]
> END
$ store-orders orders update wrong.json --json
{"error":{"code":"failed","message":"wrong.json: nothing was changed, because of:\n  line 2, column 1: order 3 is in the file twice, first on line 1, column 2\n  line 3, column 1: has neither shipDate nor complete\n  line 4, column 1: shipDate must be an RFC 3339 date-time like 2026-01-15T09:30:00Z, in the years 0000 to 9999 in UTC, not \"soon\"\n  line 5, column 1: there is no order 8\n4 bad rows"},"changed":0,"badRows":4,"errors":[{"line":2,"column":1,"field":"id","problem":"order 3 is in the file twice, first on line 1, column 2"},{"line":3,"column":1,"problem":"has neither shipDate nor complete"},{"line":4,"column":1,"field":"shipDate","problem":"shipDate must be an RFC 3339 date-time like 2026-01-15T09:30:00Z, in the years 0000 to 9999 in UTC, not \"soon\""},{"line":5,"column":1,"field":"id","problem":"there is no order 8"}]}
(1) error: wrong.json: nothing was changed, because of:
(1)   line 2, column 1: order 3 is in the file twice, first on line 1, column 2
(1)   line 3, column 1: has neither shipDate nor complete
(1)   line 4, column 1: shipDate must be an RFC 3339 date-time like 2026-01-15T09:30:00Z, in the years 0000 to 9999 in UTC, not "soon"
(1)   line 5, column 1: there is no order 8
(1) 4 bad rows
$ echo '{"id": 3, "quantity": 2}' | store-orders orders update -
(1) error: standard input: line 1: "quantity" is unknown; the names are id, shipDate, complete; nothing was changed
$ store-orders orders list
id  petId  quantity  shipDate    complete  status
 1      1         1  2001-12-01  true      pending
 2      1         1              true      shipped
 3      1         1              false     pending
"#]]);
}

/// While a server runs, a command changes 500 orders per transaction. So a change of 1,200 orders
/// raises the change number by three.
#[test]
fn many_orders_are_changed_in_steps() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending(1..=1_200);
    let server = sandbox.serve(&["--listen", "127.0.0.1:0"]);
    let changes =
        || sandbox.run(&["check", "--json"]).json()["ordersChangeNumber"].as_i64().unwrap();
    let before = changes();
    // All ids are checked before the first step, so one unknown id prevents all changes.
    sandbox.session(str![[r#"
$ store-orders orders ship $(seq 600) 99999
(3) error: there is no order 99999; nothing was changed
"#]]);
    assert_eq!(changes(), before);
    sandbox.session(str![[r#"
$ seq 1200 | store-orders orders ship -
shipped 1200 orders
"#]]);
    assert_eq!(changes() - before, 3);
    drop(server);
}
