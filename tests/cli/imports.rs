//! Tests `orders import` and `pets import`. An import first checks the whole file, and then stores
//! it in steps. Each step is stored completely or not at all, even if the import ends early.

use super::orders::cancel;
use super::{store, wait};
use crate::server::unchecked_client;
use rustix::process::{WaitOptions, waitpid};
use serde_json::json;
use std::fs::File;
use std::process::Stdio;
use std::time::Duration;
use store_orders::store::{STEP_RECORDS, STEP_RECORDS_BESIDE_SERVERS, Store};
use testbed::{ChildProcess, CliSandbox, DataDir, Preload, Signal, str};

const CSV: &str = "id,petId,quantity,shipDate,complete,status\n\
                   1001,3,2,2025-12-01T01:00:00+02:00,true,shipped\n\
                   -7,4,1,,,\n";

#[test]
fn standard_input_is_imported() {
    let sandbox = CliSandbox::new();
    sandbox.write("orders.csv", CSV);
    sandbox.session(str![[r#"
$ store-orders orders import - --json < orders.csv
{"imported":2,"skipped":0,"newStore":"[DIRECTORY]/store-orders-data"}
$ store-orders orders list --json
[
{"id":-7,"petId":4,"quantity":1,"complete":false,"status":"pending"},
{"id":1001,"petId":3,"quantity":2,"shipDate":"2025-11-30T23:00:00Z","complete":true,"status":"shipped"}
]
"#]]);
}

#[test]
fn one_bad_row_prevents_the_import() {
    let sandbox = CliSandbox::new();
    sandbox.write("orders.csv", format!("{CSV}5,1,0,,,\n"));
    sandbox.session(str![[r#"
$ store-orders orders import orders.csv --json
{"error":{"code":"failed","message":"orders.csv: line 4: quantity must be an integer from 1 to 2147483647, not \"0\"; nothing was imported"},"imported":0,"badRows":1,"errors":[{"line":4,"field":"quantity","problem":"quantity must be an integer from 1 to 2147483647, not \"0\""}]}
(1) error: orders.csv: line 4: quantity must be an integer from 1 to 2147483647, not "0"; nothing was imported
$ store-orders orders list
(4) error: there is no store at ./store-orders-data/store.sqlite; give its directory with --data-dir, or create one with `orders import`
"#]]);
}

#[test]
fn an_import_that_creates_a_store_says_so_and_where() {
    let sandbox = CliSandbox::new();
    sandbox.write("pets.csv", "id,name\n1,Rex\n");
    sandbox.session(str![[r#"
$ store-orders pets import pets.csv --dry-run
would create a new store in [DIRECTORY]/store-orders-data
would import 1 pet
$ store-orders pets import pets.csv --dry-run --json
{"imported":1,"skipped":0,"newStore":"[DIRECTORY]/store-orders-data","dryRun":true}
$ echo id,name,,,,, | store-orders pets import - 2> /dev/null; ls
pets.csv
$ store-orders pets import pets.csv --json
{"imported":1,"skipped":0,"newStore":"[DIRECTORY]/store-orders-data"}
$ store-orders pets import pets.csv --data-dir new/store
created a new store in [DIRECTORY]/new/store
imported 1 pet
$ store-orders pets import pets.csv --skip-existing
imported 0 pets
skipped 1, already in the store
"#]]);
}

#[test]
fn with_json_the_problems_of_a_file_are_json() {
    CliSandbox::new().session(str![[r#"
$ echo id,petId,quantity,color | store-orders orders import - --json 2> /dev/null
{"error":{"code":"failed","message":"standard input: line 1 has to name the columns, separated by commas: \"color\" is unknown; the names are id, petId, quantity, shipDate, complete, status"},"imported":0,"badRows":0,"errors":[{"line":1,"problem":"standard input: line 1 has to name the columns, separated by commas: \"color\" is unknown; the names are id, petId, quantity, shipDate, complete, status"}]}
(1)
$ printf '' | store-orders orders import - --json
{"error":{"code":"failed","message":"standard input: there is nothing in it; write a JSON array, JSON lines, or CSV with a header row"},"imported":0,"badRows":0,"errors":[{"problem":"standard input: there is nothing in it; write a JSON array, JSON lines, or CSV with a header row"}]}
(1) error: standard input: there is nothing in it; write a JSON array, JSON lines, or CSV with a header row
"#]]);
}

#[test]
fn twenty_bad_rows_are_shown_unless_all_are_wanted() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([500]);
    sandbox.write("orders.csv", CSV);
    // A row is also bad if its id is already in the store or on an earlier line of the file.
    sandbox.session(str![[r#"
$ seq -f '%g,1,0,,,' 100 149 >> orders.csv; printf '500,1,1,,,\n1001,1,1,,,\n' >> orders.csv
$ store-orders orders import orders.csv
(1) error: orders.csv: nothing was imported, because of:
(1)   line 4: quantity must be an integer from 1 to 2147483647, not "0"
...
(1)   line 23: quantity must be an integer from 1 to 2147483647, not "0"
(1) 52 bad rows, of which the first 20 are shown; --all-errors shows all; --skip-existing passes over ids that are in the store
$ store-orders orders import orders.csv --all-errors 2>&1 | tail -n 4
  line 53: quantity must be an integer from 1 to 2147483647, not "0"
  line 54: order 500 is already in the store
  line 55: order 1001 is in the file twice, first on line 2
52 bad rows; --skip-existing passes over ids that are in the store
$ store-orders orders import orders.csv --json 2> /dev/null | grep -o '"line":5[0-9]' | tail -n 2
"line":54
"line":55
$ store-orders orders list
 id  petId  quantity  complete  status
500      1         1  false     pending
"#]]);
}

#[test]
fn an_existing_id_is_an_error_unless_it_is_skipped() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([1, 2]);
    cancel(&sandbox, 2);
    // Orders that are skipped must stay unchanged.
    sandbox.session(str![[r#"
$ printf 'id,petId,quantity\n3,1,1\n2,9,9\n1,9,9\n' > orders.csv
$ store-orders orders import orders.csv
(1) error: orders.csv: nothing was imported, because of:
(1)   line 3: order 2 is already in the store
(1)   line 4: order 1 is already in the store
(1) 2 bad rows; --skip-existing passes over ids that are in the store
$ (cat orders.csv; echo 3,1,1) | store-orders orders import - --skip-existing
(1) error: standard input: line 5: order 3 is in the file twice, first on line 2; nothing was imported
$ store-orders orders list
id  petId  quantity  complete  status
 1      1         1  false     pending
 2      1         1  false     cancelled
$ store-orders orders import orders.csv --skip-existing
imported 1 order
skipped 2, already in the store
$ store-orders orders list | cut -c -38
id  petId  quantity  complete  status
 1      1         1  false     pending
 2      1         1  false     cancell
 3      1         1  false     pending
$ store-orders orders import orders.csv --skip-existing --json
{"imported":0,"skipped":3}
"#]]);
}

#[test]
fn pets_are_imported_by_the_same_rules() {
    let sandbox = CliSandbox::new();
    sandbox.session(str![[r#"
$ printf 'id,name\n1,Rex\n2,"Min, ka"\n' | store-orders pets import -
created a new store in [DIRECTORY]/store-orders-data
imported 2 pets
$ echo '[{"id":3,"name":"Luna"},{"id":1,"name":"Balu"}]' > more.json
$ store-orders pets import more.json
(1) error: more.json: line 1, column 25: pet 1 is already in the store; nothing was imported; --skip-existing passes over ids that are in the store
"#]]);
    assert_eq!(wait(store(&sandbox).pet(2)).unwrap().unwrap().name, "Min, ka");
    assert_eq!(wait(store(&sandbox).pet(3)).unwrap(), None);
    sandbox.session(str![[r#"
$ store-orders pets import more.json --skip-existing --json
{"imported":1,"skipped":1}
"#]]);
    assert_eq!(wait(store(&sandbox).pet(1)).unwrap().unwrap().name, "Rex");
}

#[test]
fn a_dry_run_reports_the_result_and_writes_nothing() {
    let sandbox = CliSandbox::new();
    sandbox.write("orders.csv", CSV);
    sandbox.session(str![[r#"
$ store-orders orders import orders.csv --dry-run
would create a new store in [DIRECTORY]/store-orders-data
would import 2 orders
$ ls
orders.csv
"#]]);
    sandbox.import_pending([1001]);
    let before = wait(store(&sandbox).poll_changes()).unwrap().last_changes;
    sandbox.session(str![[r#"
$ store-orders orders import orders.csv --dry-run
(1) error: orders.csv: line 2: order 1001 is already in the store; nothing was imported; --skip-existing passes over ids that are in the store
$ store-orders orders import orders.csv --dry-run --skip-existing
would import 1 order
would skip 1, already in the store
$ store-orders orders import orders.csv --dry-run --skip-existing --json
{"imported":1,"skipped":1,"dryRun":true}
$ store-orders orders list
  id  petId  quantity  complete  status
1001      1         1  false     pending
"#]]);
    assert_eq!(wait(store(&sandbox).poll_changes()).unwrap().last_changes, before);
}

#[test]
fn ids_that_javascript_rounds_are_refused() {
    CliSandbox::new().session(str![[r#"
$ cat > orders.csv <<END
> id,petId,quantity
> 9007199254740991,-9007199254740991,1
> 9007199254740992,1,1
> 3,-9007199254740992,1
> -9223372036854775808,9223372036854775807,1
> END
$ store-orders orders import orders.csv
(1) error: orders.csv: nothing was imported, because of:
(1)   line 3: id must be an integer from -9007199254740991 to 9007199254740991, not "9007199254740992"
(1)   line 4: petId must be an integer from -9007199254740991 to 9007199254740991, not "-9007199254740992"
(1)   line 5: id must be an integer from -9007199254740991 to 9007199254740991, not "-9223372036854775808"; petId must be an integer from -9007199254740991 to 9007199254740991, not "9223372036854775807"
(1) 3 bad rows
$ head -n 2 orders.csv | store-orders orders import -
created a new store in [DIRECTORY]/store-orders-data
imported 1 order
$ echo '[{"id": 9007199254740992, "name": "Rex"}]' | store-orders pets import -
(1) error: standard input: line 1, column 2: id must be an integer from -9007199254740991 to 9007199254740991, not 9007199254740992; nothing was imported
$ echo '{"id": -9007199254740991, "name": "Rex"}' | store-orders pets import -
imported 1 pet
"#]]);
}

#[test]
fn unknown_columns_are_ignored_on_demand_and_named() {
    CliSandbox::new().session(str![[r#"
$ printf 'ID,Note,PETID,quantity,COMPLETE\n1,hello,2,3,TRUE\n' > orders.csv
$ store-orders orders import orders.csv --ignore-unknown
created a new store in [DIRECTORY]/store-orders-data
imported 1 order
ignored the fields "Note"
$ store-orders orders list
id  petId  quantity  complete  status
 1      2         3  true      pending
$ cat > orders.ndjson <<END
> {"id":4,"petId":1,"quantity":1,"a":{}}
> {"id":5,"petId":1,"quantity":1,"b":1,"a":2}
> END
$ store-orders orders import orders.ndjson --ignore-unknown --json
{"imported":2,"skipped":0,"ignoredFields":["a","b"]}
"#]]);
}

#[test]
fn an_unreadable_file_is_reported_in_one_line() {
    CliSandbox::new().session(str![[r#"
$ echo id,petId,quantity | gzip > orders.csv.gz
$ store-orders orders import orders.csv.gz
(1) error: orders.csv.gz: it is compressed with gzip; decompress it to standard input, as in `zcat FILE | store-orders orders import -`
$ rm orders.csv.gz
$ store-orders orders import missing.csv
(1) error: cannot read missing.csv: No such file or directory (os error 2)
$ store-orders orders import .
(1) error: cannot read .: Is a directory (os error 21)
$ ls
"#]]);
}

/// The number of orders in a long import. The import takes two steps, or 40 smaller ones while a
/// server runs.
const LONG: usize = 2 * STEP_RECORDS;

fn long_csv() -> String {
    let rows: String = (1..=LONG).map(|id| format!("{id},1,1\n")).collect();
    format!("id,petId,quantity\n{rows}")
}

/// While a server runs, the import pauses after each step for three times as long as the step took.
/// So SIGINT is likely to arrive in a pause.
#[test]
fn an_interrupted_import_reports_its_progress_and_is_completed_with_skip_existing() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([-1]);
    let server = sandbox.serve(&["--listen", "127.0.0.1:0"]);
    sandbox.write("orders.csv", long_csv());
    let mut import = sandbox.command(&["orders", "import", "orders.csv"]);
    import.stderr(File::create(sandbox.path("said")).unwrap());
    let mut import = ChildProcess::new(import.spawn().unwrap(), "orders import");
    let store = store(&sandbox);
    let connection = rusqlite::Connection::open(store.path()).unwrap();
    let count = "SELECT count(*) - 1 FROM orders";
    let stored = || connection.query_one(count, [], |row| row.get::<_, i64>(0)).unwrap() as usize;
    while stored() == 0 {
        assert!(import.is_running(), "the import ended before it was interrupted");
    }
    import.signal(Signal::INT).unwrap();
    let (status, stored) = (import.wait().unwrap(), stored());
    assert!(stored < LONG && stored.is_multiple_of(STEP_RECORDS_BESIDE_SERVERS), "{stored}");
    assert_eq!(status.code(), Some(130));
    assert_eq!(
        std::fs::read_to_string(sandbox.path("said")).unwrap(),
        format!(
            "error: interrupted; {stored} of {LONG} orders were imported; the same command with \
             --skip-existing imports the rest\n"
        )
    );
    let finished = sandbox.run(&["orders", "import", "orders.csv", "--skip-existing", "--json"]);
    let rest = LONG - stored;
    let expected = json!({"imported": rest, "skipped": stored});
    assert_eq!(finished.json(), expected);
    drop(server);
}

/// Slow syncs make each step hold the write lock for at least half a second. The test sends SIGTSTP
/// as soon as the lock is held, so the signal arrives during a step.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_import_does_not_hold_up_cancellations() {
    let (data, disk) = (DataDir::temporary().unwrap(), Preload::disk().unwrap());
    data.import_pending(-20..=-1).unwrap();
    let key = data.issue_key("acme", "business").unwrap();
    let server = data.serve(&[]).unwrap();
    let client = unchecked_client(&server, &key);
    let file = data.path().join("orders.csv");
    std::fs::write(&file, long_csv()).unwrap();
    disk.set(500).unwrap();
    let mut command = data.command();
    let import = disk.put_into(command.args(["orders", "import"]).arg(file));
    import.stdout(Stdio::null()).stderr(Stdio::null());
    let mut import = ChildProcess::new(import.spawn().unwrap(), "orders import");
    let store = rusqlite::Connection::open(data.path().join("store.sqlite")).unwrap();
    store.busy_timeout(Duration::ZERO).unwrap();
    while store.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok() {
        assert!(import.is_running(), "the import ended before it was suspended");
    }
    import.signal(Signal::TSTP).unwrap();
    let (_, status) = waitpid(import.pid().ok(), WaitOptions::UNTRACED).unwrap().unwrap();
    assert!(status.stopped(), "{status:?}");
    for id in -20..=-1 {
        assert_eq!(client.cancel_order(id).await.unwrap().status(), 204, "order {id}");
    }
    disk.set(0).unwrap();
    import.signal(Signal::CONT).unwrap();
    assert!(import.wait().unwrap().success());
    assert_eq!(client.list_orders().await.unwrap().len(), LONG);
}

/// During the first step, a trigger inserts an order whose id is also in the second step. The check
/// before the first step cannot find this conflict, so the second step fails.
#[test]
fn an_import_that_fails_midway_reports_its_progress_and_the_cause() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([-1]);
    let store = store(&sandbox);
    let existing_id = LONG as i64 - 1;
    let trigger = format!(
        "CREATE TRIGGER other AFTER INSERT ON orders WHEN new.id = 1 BEGIN
             INSERT INTO orders (id, pet_id, quantity, complete, status, change_number)
             VALUES ({existing_id}, 7, 1, 0, 'pending', 1);
         END"
    );
    rusqlite::Connection::open(store.path()).unwrap().execute_batch(&trigger).unwrap();
    sandbox.write("orders.csv", long_csv());
    let failed = sandbox.run(&["orders", "import", "orders.csv", "--json"]);
    let stored = LONG - STEP_RECORDS;
    let problem = format!(
        "{stored} of {LONG} orders were imported; the same command with --skip-existing imports \
         the rest: order {existing_id} is already in the store"
    );
    assert_eq!((failed.status, failed.stderr), (1, format!("error: {problem}\n")));
    let printed: serde_json::Value = serde_json::from_str(&failed.stdout).unwrap();
    let (error, errors) =
        (json!({ "code": "failed", "message": problem }), json!([{ "problem": problem }]));
    let expected = json!({ "error": error, "imported": stored, "badRows": 0, "errors": errors });
    assert_eq!(printed, expected);
}
