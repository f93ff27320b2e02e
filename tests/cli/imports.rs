//! `orders import` and `pets import`: all of a file or nothing, and why not; long ones in steps.

use chrono::Utc;
use serde_json::json;
use std::fs::File;
use std::time::{Duration, Instant};
use store_orders::store::{
    Cancellation, NewOrder, OperatorStore, OrderCommands, Records, STEP_RECORDS,
    STEP_RECORDS_BESIDE_SERVERS, Store,
};
use testbed::{ChildProcess, CliSandbox, Signal};

const CSV: &str = "id,petId,quantity,shipDate,complete,status\n\
                   1001,3,2,2026-12-01T01:00:00+02:00,true,shipped\n\
                   -7,4,1,,,\n";

#[test]
fn every_format_arrives_in_the_store() {
    let json = r#"[
        {"id": 1001, "petId": 3, "quantity": 2, "shipDate": "2026-11-30T23:00:00Z",
         "complete": true, "status": "shipped"},
        {"id": -7, "petId": 4, "quantity": 1}
    ]"#;
    let lines = "{\"id\":-7,\"petId\":4,\"quantity\":1,\"status\":\"pending\"}\n\
                 {\"id\":1001,\"petId\":3,\"quantity\":2,\"complete\":true,\
                 \"shipDate\":\"2026-11-30T23:00:00.000Z\",\"status\":\"shipped\"}\n";
    for content in [CSV, json, lines, &format!("\u{feff}{CSV}")] {
        let sandbox = CliSandbox::new();
        sandbox.write("orders", content);
        assert_eq!(sandbox.run(&["orders", "import", "orders"]).done(), "imported 2 orders\n");
        assert_eq!(
            json!(sandbox.listed(&["orders"])),
            json!([
                {"id": -7, "petId": 4, "quantity": 1, "complete": false, "status": "pending"},
                {"id": 1001, "petId": 3, "quantity": 2, "shipDate": "2026-11-30T23:00:00Z",
                 "complete": true, "status": "shipped"},
            ])
        );
    }
}

#[test]
fn standard_input_is_a_file_too() {
    let sandbox = CliSandbox::new();
    let output = sandbox.run_with_input(&["orders", "import", "-", "--json"], CSV.as_bytes());
    assert_eq!(output.json(), json!({"imported": 2, "skipped": 0, "inexactInJavascript": 0}));
    let output = sandbox.run_with_input(&["orders", "import", "-"], b"");
    assert!(output.error().starts_with("standard input: there is nothing in it; "));
}

#[test]
fn one_bad_row_and_nothing_is_stored() {
    let sandbox = CliSandbox::new();
    sandbox.write("orders.csv", format!("{CSV}5,1,0,,,\n"));
    assert_eq!(
        sandbox.run(&["orders", "import", "orders.csv"]).error(),
        "orders.csv: line 4: quantity must be an integer from 1 to 2147483647, not \"0\"; \
         nothing was imported"
    );
    let refused = sandbox.run(&["orders", "import", "orders.csv", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&refused.stdout).unwrap();
    let problem = "quantity must be an integer from 1 to 2147483647, not \"0\"";
    let errors = json!([{ "line": 4, "field": "quantity", "problem": problem }]);
    let message = format!("orders.csv: line 4: {problem}; nothing was imported");
    let error = json!({ "code": "failed", "message": message });
    assert_eq!(said, json!({ "error": error, "imported": 0, "badRows": 1, "errors": errors }));
    assert!(refused.status == 1 && refused.stderr.contains(problem), "{}", refused.stderr);
    assert_eq!(sandbox.order_ids(), [0_i64; 0]);
}

#[test]
fn why_a_file_cannot_be_read_is_data_with_json() {
    let cases = [
        ("id,petId,quantity,color\n", Some(1), "\"color\" is unknown"),
        ("1,7,2\n", Some(1), "there is no header row"),
        ("[\n{]", Some(2), "not a valid JSON array: "),
        ("", None, "there is nothing in it"),
    ];
    for (content, line, problem) in cases {
        let sandbox = CliSandbox::new();
        let input = content.as_bytes();
        let refused = sandbox.run_with_input(&["orders", "import", "-", "--json"], input);
        let said: serde_json::Value = serde_json::from_str(&refused.stdout).unwrap();
        assert_eq!((&said["imported"], &said["badRows"]), (&json!(0), &json!(0)), "{said}");
        assert_eq!(said["errors"][0]["line"].as_u64(), line, "{said}");
        assert!(said["errors"][0]["problem"].as_str().unwrap().contains(problem), "{said}");
        assert!(refused.status == 1 && refused.stderr.contains(problem), "{}", refused.stderr);
    }
}

#[test]
fn of_many_bad_rows_twenty_are_shown() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([500]);
    let mut csv = CSV.to_string();
    for id in 100..150 {
        csv.push_str(&format!("{id},1,0,,,\n"));
    }
    csv.push_str("500,1,1,,,\n1001,1,1,,,\n");
    sandbox.write("orders.csv", &csv);
    let lines = sandbox.run(&["orders", "import", "orders.csv"]).errors();
    assert_eq!(lines.len(), 22);
    assert_eq!(lines[0], "orders.csv: nothing was imported, because of:");
    assert!(lines[1].starts_with("  line 4: quantity must be"), "{}", lines[1]);
    assert!(lines[20].starts_with("  line 23: quantity must be"), "{}", lines[20]);
    // The order that the store has and the one that is in the file twice count.
    assert_eq!(lines[21], "52 bad rows, of which the first 20 are shown");
    assert_eq!(sandbox.order_ids(), [500]);
}

#[test]
fn an_id_of_the_store_is_taken_unless_passed_over() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([1, 2]);
    let cancellation = Cancellation {
        order_id: 2,
        key_id: "key_x".into(),
        at: Utc::now(),
        deadline: Instant::now() + Duration::from_secs(60),
    };
    sandbox.store().cancel(&[cancellation]).unwrap();
    let csv = "id,petId,quantity\n3,1,1\n2,9,9\n1,9,9\n";
    let passed_over = "--skip-existing passes over ids that are in the store";

    let lines = sandbox.run_with_input(&["orders", "import", "-"], csv.as_bytes()).errors();
    assert_eq!(
        lines[1..],
        [
            "  line 3: order 2 is already in the store",
            "  line 4: order 1 is already in the store",
            &format!("2 bad rows; {passed_over}"),
        ]
    );
    assert_eq!(sandbox.order_ids(), [1, 2]);

    let skipping = ["orders", "import", "-", "--skip-existing"];
    let twice = sandbox.run_with_input(&skipping, format!("{csv}3,1,1\n").as_bytes());
    assert_eq!(
        twice.error(),
        "standard input: line 5: order 3 is in the file twice, first on line 2; nothing was \
         imported"
    );
    assert_eq!(sandbox.order_ids(), [1, 2]);

    let output = sandbox.run_with_input(&skipping, csv.as_bytes()).done();
    assert_eq!(output, "imported 1 order\nskipped 2, already in the store\n");
    // Those that were passed over stay as they were.
    let statuses: Vec<_> = sandbox
        .listed(&["orders"])
        .iter()
        .map(|order| (order["petId"].clone(), order["status"].clone()))
        .collect();
    let expected = [(1, "pending"), (1, "cancelled"), (1, "pending")];
    assert_eq!(statuses, expected.map(|(pet, status)| (json!(pet), json!(status))));
    let again = sandbox.run_with_input(&[&skipping[..], &["--json"]].concat(), csv.as_bytes());
    assert_eq!(again.json(), json!({"imported": 0, "skipped": 3, "inexactInJavascript": 0}));
}

#[test]
fn an_id_taken_since_the_file_was_checked_is_refused_too() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([2]);
    let store = sandbox.store();
    let order = |id| NewOrder {
        id,
        pet_id: 9,
        quantity: 1,
        ship_date: None,
        complete: false,
        shipped: true,
    };
    let orders = [order(1), order(2), order(3)];
    let before = store.poll_changes().unwrap().last_changes;
    assert_eq!(
        store.import(Records::Orders(&orders), false).unwrap_err().to_string(),
        "order 2 is already in the store"
    );
    assert_eq!(
        (sandbox.order_ids(), store.poll_changes().unwrap().last_changes),
        (vec![2], before)
    );
    let outcome = store.import(Records::Orders(&orders), true).unwrap();
    assert_eq!((outcome.imported, outcome.skipped), (2, 1));
    assert_eq!(store.order(2).unwrap().unwrap().pet_id, 1);
    assert_eq!(sandbox.order_ids(), [1, 2, 3]);
}

#[test]
fn pets_are_imported_by_the_same_rules() {
    let sandbox = CliSandbox::new();
    sandbox.write("pets.csv", "id,name\n1,Rex\n2,\"Min, ka\"\n");
    assert_eq!(sandbox.run(&["pets", "import", "pets.csv"]).done(), "imported 2 pets\n");
    assert_eq!(sandbox.store().pet(2).unwrap().unwrap().name, "Min, ka");
    sandbox.write("more.json", r#"[{"id":3,"name":"Luna"},{"id":1,"name":"Balu"}]"#);
    assert_eq!(
        sandbox.run(&["pets", "import", "more.json"]).error(),
        "more.json: line 1, column 25: pet 1 is already in the store; nothing was imported; \
         --skip-existing passes over ids that are in the store"
    );
    assert_eq!(sandbox.store().pet(3).unwrap(), None);
    let output = sandbox.run(&["pets", "import", "more.json", "--skip-existing", "--json"]);
    assert_eq!(output.json(), json!({"imported": 1, "skipped": 1, "inexactInJavascript": 0}));
    assert_eq!(sandbox.store().pet(1).unwrap().unwrap().name, "Rex");
}

#[test]
fn a_dry_run_says_what_would_be_and_writes_nothing() {
    let sandbox = CliSandbox::new();
    sandbox.write("orders.csv", CSV);
    let dry = ["orders", "import", "orders.csv", "--dry-run"];
    assert_eq!(sandbox.run(&dry).done(), "would import 2 orders\n");
    assert!(!sandbox.path("store-orders-data").exists());
    sandbox.import_pending([1001]);
    let before = sandbox.store().poll_changes().unwrap().last_changes;
    assert_eq!(
        sandbox.run(&dry).error(),
        "orders.csv: line 2: order 1001 is already in the store; nothing was imported; \
         --skip-existing passes over ids that are in the store"
    );
    let skipping = [&dry[..], &["--skip-existing"]].concat();
    assert_eq!(
        sandbox.run(&skipping).done(),
        "would import 1 order\nwould skip 1, already in the store\n"
    );
    assert_eq!(
        sandbox.run(&[&skipping[..], &["--json"]].concat()).json(),
        json!({"imported": 1, "skipped": 1, "inexactInJavascript": 0, "dryRun": true})
    );
    assert_eq!(sandbox.order_ids(), [1001]);
    assert_eq!(sandbox.store().poll_changes().unwrap().last_changes, before);
}

#[test]
fn ids_that_javascript_rounds_are_imported_with_a_warning() {
    let sandbox = CliSandbox::new();
    let csv = "id,petId,quantity\n9007199254740991,1,1\n9007199254740992,1,1\n\
               3,-9007199254740993,1\n-9223372036854775808,9223372036854775807,1\n";
    let import = ["orders", "import", "-"];
    let dry = [&import[..], &["--dry-run", "--json"]].concat();
    for (arguments, expected) in [(&dry[..], "\"inexactInJavascript\":3"), (&import, "imported 4")]
    {
        let output = sandbox.run_with_input(arguments, csv.as_bytes());
        assert_eq!(output.status, 0);
        assert!(output.stdout.contains(expected), "{}", output.stdout);
        assert_eq!(
            output.stderr,
            "warning: 3 orders with an id beyond 2^53-1 (9007199254740991): JavaScript rounds \
             it, so that a client in it may name another record\n"
        );
    }
    // Those that are passed over are in the store already.
    let again = [&import[..], &["--skip-existing"]].concat();
    sandbox.run_with_input(&again, csv.as_bytes()).done();
}

#[test]
fn unknown_columns_are_ignored_on_demand_and_named() {
    let sandbox = CliSandbox::new();
    let csv = "ID,Note,PETID,quantity,COMPLETE\n1,hello,2,3,TRUE\n";
    let import = ["orders", "import", "-"];
    let names = "the names are id, petId, quantity, shipDate, complete, status";
    assert_eq!(
        sandbox.run_with_input(&import, csv.as_bytes()).error(),
        format!(
            "standard input: line 1 has to name the columns, separated by commas: \"Note\" is \
             unknown; {names}"
        )
    );
    let ignoring = [&import[..], &["--ignore-unknown"]].concat();
    assert_eq!(
        sandbox.run_with_input(&ignoring, csv.as_bytes()).done(),
        "imported 1 order\nignored the fields \"Note\"\n"
    );
    let order = sandbox.run(&["orders", "show", "1", "--json"]).json();
    assert_eq!((&order["petId"], &order["complete"]), (&json!(2), &json!(true)));
    let lines = "{\"id\":4,\"petId\":1,\"quantity\":1,\"a\":{}}\n\
                 {\"id\":5,\"petId\":1,\"quantity\":1,\"b\":1,\"a\":2}\n";
    let output = sandbox.run_with_input(&[&ignoring[..], &["--json"]].concat(), lines.as_bytes());
    assert_eq!(
        output.json(),
        json!({"imported": 2, "skipped": 0, "inexactInJavascript": 0, "ignoredFields": ["a", "b"]})
    );
}

#[test]
fn a_file_that_cannot_be_read_is_one_line() {
    let sandbox = CliSandbox::new();
    sandbox.write("broken.json", "[\n{\"id\": 1,}\n]");
    sandbox.write("latin1.csv", b"id,name\n1,K\xe4the\n");
    sandbox.write("header.csv", "id,petId\n1,1\n");
    for (file, error) in [
        ("missing.csv", "cannot read missing.csv: No such file or directory (os error 2)"),
        (".", "cannot read .: Is a directory (os error 21)"),
        (
            "broken.json",
            "broken.json: not a valid JSON array: key must be a string at line 2 column 10",
        ),
        ("latin1.csv", "latin1.csv: line 2 is not UTF-8 text; save the file as UTF-8"),
        (
            "header.csv",
            "header.csv: line 1 has to name the columns, separated by commas: quantity is missing",
        ),
    ] {
        assert_eq!(sandbox.run(&["orders", "import", file]).error(), error);
    }
    assert!(!sandbox.path("store-orders-data").exists());
}

/// As many orders as two steps have, many next to a server.
const LONG: usize = 2 * STEP_RECORDS;

fn long_csv() -> String {
    let rows: String = (1..=LONG).map(|id| format!("{id},1,1\n")).collect();
    format!("id,petId,quantity\n{rows}")
}

/// Next to a server the steps rest, so that the signal comes between two of them.
#[test]
fn an_interrupted_import_says_how_many_it_stored_and_is_finished_by_skipping() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([-1]);
    let server = sandbox.serve(&["--listen", "127.0.0.1:0"]);
    sandbox.write("orders.csv", long_csv());
    let mut import = sandbox.command(&["orders", "import", "orders.csv"]);
    import.stderr(File::create(sandbox.path("said")).unwrap());
    let mut import = ChildProcess::new(import.spawn().unwrap(), "orders import");
    let store = sandbox.store();
    let connection = rusqlite::Connection::open(store.path()).unwrap();
    let count = "SELECT count(*) - 1 FROM orders";
    let stored = || connection.query_one(count, [], |row| row.get::<_, i64>(0)).unwrap() as usize;
    while stored() == 0 {
        assert!(import.is_running(), "it ended before it was interrupted");
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
    let expected = json!({"imported": rest, "skipped": stored, "inexactInJavascript": 0});
    assert_eq!(finished.json(), expected);
    drop(server);
}

/// The second step meets an order that came between the check of the file and it.
#[test]
fn an_import_that_fails_in_between_says_what_it_stored_and_why() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([-1]);
    let store = sandbox.store();
    let taken = LONG as i64 - 1;
    let trigger = format!(
        "CREATE TRIGGER other AFTER INSERT ON orders WHEN new.id = 1 BEGIN
             INSERT INTO orders VALUES ({taken}, 7, 1, NULL, 0, 'pending', 1, NULL, NULL);
         END"
    );
    rusqlite::Connection::open(store.path()).unwrap().execute_batch(&trigger).unwrap();
    sandbox.write("orders.csv", long_csv());
    let failed = sandbox.run(&["orders", "import", "orders.csv", "--json"]);
    let stored = LONG - STEP_RECORDS;
    let problem = format!(
        "{stored} of {LONG} orders were imported; the same command with --skip-existing imports \
         the rest: order {taken} is already in the store"
    );
    assert_eq!((failed.status, failed.stderr), (1, format!("error: {problem}\n")));
    let said: serde_json::Value = serde_json::from_str(&failed.stdout).unwrap();
    let (error, errors) =
        (json!({ "code": "failed", "message": problem }), json!([{ "problem": problem }]));
    let expected = json!({ "error": error, "imported": stored, "badRows": 0, "errors": errors });
    assert_eq!(said, expected);
}
