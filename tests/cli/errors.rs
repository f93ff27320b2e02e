//! Errors of the command line and of the data directory, and commands that need no store.

use codegen::compare::differing_pointers;
use testbed::{CliSandbox, str};

#[test]
fn a_wrong_command_line_exits_with_2() {
    CliSandbox::new().session(str![[r#"
$ store-orders > /dev/null 2>&1
(2)
$ store-orders order
(2) error: unrecognized subcommand 'order'
(2) 
(2)   tip: a similar subcommand exists: 'orders'
$ store-orders orders list --limit x
(2) error: invalid value 'x' for '--limit <N>': invalid digit found in string
$ store-orders --data-dir
(2) error: a value is required for '--data-dir <DIR>' but none was supplied
$ store-orders accounts set-plan acme free
(2) error: unexpected argument 'free' found
(2) 
(2)   tip: to give the plan, write '--plan free'
$ ls
"#]]);
}

#[test]
fn an_address_in_use_names_its_option_once_in_the_log() {
    let sandbox = CliSandbox::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    sandbox.write("address", address);
    // `serve` reports the error as a JSON log line. `demo` prints it as text, because a person
    // reads it.
    sandbox.session(str![[r#"
$ ADDRESS=$(cat address)
$ store-orders serve --log-level off --listen $ADDRESS --admin-listen off
(1) {"time":"YYYY-MM-DDThh:mm:ssZ","level":"ERROR","msg":"serve failed","error":"cannot listen on 127.0.0.1:[PORT]: another program listens there; fix: stop it, or choose another port with --listen"}
$ store-orders serve --log-level off --listen 127.0.0.1:0 --admin-listen $ADDRESS
(1) {"time":"YYYY-MM-DDThh:mm:ssZ","level":"ERROR","msg":"serve failed","error":"cannot listen on 127.0.0.1:[PORT]: another program listens there; fix: stop it, or choose another port with --admin-listen"}
$ store-orders demo --listen $ADDRESS
(1) error: cannot listen on 127.0.0.1:[PORT]: another program listens there; fix: stop it, or choose another port with --listen
"#]]);
}

#[test]
fn openapi_prints_the_checked_in_and_the_served_document() {
    let sandbox = CliSandbox::new();
    for (arguments, text) in [
        (&["openapi"][..], include_str!("../../spec/openapi.json")),
        (&["openapi", "--api", "v2"], include_str!("../../spec/openapi-v2.json")),
    ] {
        let printed = sandbox.run(arguments).done();
        let [checked_in, document] =
            [text, &printed].map(|text| serde_json::from_str(text).unwrap());
        assert_eq!(differing_pointers(&checked_in, &document), [""; 0], "{arguments:?}");
        assert!(printed == text, "{arguments:?} has another order or other white space");
    }
    let served = sandbox.run(&["openapi", "--served", "--contact-email", "a@orders.test"]).json();
    assert_eq!(served["info"]["contact"]["email"], "a@orders.test");
    assert_eq!(served["servers"][0]["url"], "/v1");
    assert!(!sandbox.path("store-orders-data").exists());
}

#[test]
fn the_data_directory_comes_from_the_flag_then_the_environment_then_the_file() {
    CliSandbox::new().session(str![[r#"
$ echo 'data_dir = "from/file"' > a.toml; export STORE_ORDERS_CONFIG=a.toml
$ store-orders accounts create acme --plan pro > /dev/null
$ export STORE_ORDERS_DATA_DIR=from/environment
$ store-orders accounts create acme --plan pro > /dev/null
$ store-orders accounts create globex --plan pro --data-dir from/flag > /dev/null
$ stat -c '%a %n' from/*
700 from/environment
700 from/file
700 from/flag
$ store-orders --data-dir from/flag accounts list --json
[
{"id":1,"name":"globex","plan":"pro","perMinute":300,"perDay":10000,"keys":0,"createdAt":"YYYY-MM-DDThh:mm:ssZ"}
]
"#]]);
}

/// Each of these directories must be unusable even for root, because the tests may run as root.
#[test]
fn an_unusable_data_directory_is_reported_in_one_line() {
    CliSandbox::new().session(str![[r#"
$ touch file; mkdir -p closed/store.sqlite
$ store-orders accounts create acme --plan pro --data-dir file
(1) error: cannot use the data directory file: it is a file; choose another --data-dir
$ store-orders accounts create acme --plan pro --data-dir file/below
(4) error: cannot use the data directory file/below: Not a directory (os error 20)
$ store-orders accounts create acme --plan pro --data-dir /proc/store-orders
(4) error: cannot use the data directory /proc/store-orders: No such file or directory (os error 2)
$ store-orders accounts create acme --plan pro --data-dir closed
(4) error: closed/store.sqlite is not a regular file, so another process could use the store by another name, and they would overwrite each other's changes; keep the file under one name in its directory, and link or mount the directory instead
"#]]);
}

#[test]
fn a_file_that_is_not_our_store_stays_unchanged() {
    let sandbox = CliSandbox::new();
    for (directory, statement) in [
        ("other", "CREATE TABLE t (x)"),
        ("newer", "PRAGMA application_id = 0x736f7264; PRAGMA user_version = 99"),
        ("earlier", "PRAGMA application_id = 0x73746f72; PRAGMA user_version = 7"),
    ] {
        std::fs::create_dir(sandbox.path(directory)).unwrap();
        let file = sandbox.path(directory).join("store.sqlite");
        rusqlite::Connection::open(&file).unwrap().execute_batch(statement).unwrap();
    }
    std::fs::create_dir(sandbox.path("text")).unwrap();
    sandbox.write("text/store.sqlite", "no database, but long enough for a header".repeat(20));
    sandbox.session(str![[r#"
$ sum() { cat other/store.sqlite newer/store.sqlite earlier/store.sqlite | cksum; }; BEFORE=$(sum)
$ store-orders keys list --data-dir other
(4) error: other/store.sqlite is not a store of Store Orders; choose another --data-dir
$ store-orders keys list --data-dir newer
(4) error: newer/store.sqlite was written by a newer version of store-orders (schema 99, this one knows up to [..]); use that version
$ store-orders keys list --data-dir earlier
(4) error: earlier/store.sqlite was made by a build before 2.0.0; create a new store, and import what that build prints with `store-orders orders list --json --status pending`, and with `--status shipped`
$ test "$(sum)" = "$BEFORE"
$ store-orders keys list --data-dir text
(4) error: text/store.sqlite is not a store of Store Orders; choose another --data-dir
"#]]);
}

#[test]
fn no_error_repeats_a_key_that_was_given_in_the_wrong_place() {
    let sandbox = CliSandbox::new();
    sandbox.run(&["accounts", "create", "acme", "--plan", "pro"]).done();
    let issued = sandbox.run(&["keys", "issue", "--account", "acme", "--json"]).json();
    let key = issued["key"].as_str().unwrap();
    let (equals, part) = (format!("--{key}=1"), &key[..20]);
    let refused = [
        &["keys", "revoke", key][..],
        &["keys", "rotate", part],
        &["keys", "issue", "--account", key],
        &["accounts", "set-plan", key, "--plan", "free"],
        &["orders", "import", key],
        &["orders", "show", key],
        &["orders", "list", "--status", key],
        &["check", key],
        &["check", &equals],
        &[key],
        &["check", "--config", key],
        &["serve", "--listen", key],
        &["serve", "--tls-cert", key, "--tls-key", key],
        &["backup", "/nowhere/backup", "--data-dir", key],
        &["restore", key, "--data-dir", "new"],
    ];
    for arguments in refused {
        let output = sandbox.command(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(!output.status.success(), "{} worked", arguments[0]);
        assert!(!text.concat().contains(&key[9..20]), "{} repeats a key", arguments[0]);
    }
}

#[test]
fn with_json_an_error_is_json_and_the_exit_status_is_its_kind() {
    // With `--json`, `health` prints its usual document instead of an error, even if the server is
    // not ready.
    CliSandbox::new().session(str![[r#"
$ store-orders keys list --store postgres://store@127.0.0.1:1/store --json
{"error":{"code":"store_unavailable","message":"store postgres://store@127.0.0.1:1/store: the store cannot be reached: 127.0.0.1:1: Connection refused (os error 111)"}}
(4) error: store postgres://store@127.0.0.1:1/store: the store cannot be reached: 127.0.0.1:1: Connection refused (os error 111)
$ store-orders accounts create acme --plan pro --json
{"id":1,"name":"acme","plan":"pro","perMinute":300,"perDay":10000,"keys":0,"createdAt":"YYYY-MM-DDThh:mm:ssZ"}
$ store-orders orders show 7 --json
{"error":{"code":"not_found","message":"there is no order 7; `store-orders orders list` shows those there are"}}
(3) error: there is no order 7; `store-orders orders list` shows those there are
$ store-orders accounts create acme --plan free --json
{"error":{"code":"failed","message":"there is an account \"acme\" already"}}
(1) error: there is an account "acme" already
$ store-orders orders show 01 --json
{"error":{"code":"invalid_command_line","message":"invalid value '01' for '<ID>': not a 64-bit integer in plain decimal"}}
(2) error: invalid value '01' for '<ID>': not a 64-bit integer in plain decimal
$ store-orders health --admin-listen 127.0.0.1:1 --json
{"url":"http://127.0.0.1:1/readyz","ready":false,"status":null,"reason":"cannot connect: Connection refused (os error 111)"}
(1) error: http://127.0.0.1:1/readyz: not ready: cannot connect: Connection refused (os error 111)
"#]]);
}

#[test]
fn errors_about_a_file_show_no_key() {
    let sandbox = CliSandbox::new();
    sandbox.run(&["accounts", "create", "acme", "--plan", "pro"]).done();
    let issued = sandbox.run(&["keys", "issue", "--account", "acme", "--json"]).json();
    let key = issued["key"].as_str().unwrap();
    let record = format!("{{\"id\": 1, \"petId\": \"{key}\", \"quantity\": 1, \"{key}\": 2}}");
    let column = format!("id,petId,quantity,{key}\n1,1,1,x\n");
    for (arguments, input) in [
        (&["orders", "import", "-", "--json"][..], &record),
        (&["orders", "update", "-", "--json"], &record),
        (&["orders", "ship", "-", "--json"], &key.to_string()),
        (&["orders", "import", "-", "--ignore-unknown", "--dry-run"], &column),
        (&["orders", "import", "-", "--ignore-unknown", "--dry-run", "--json"], &column),
    ] {
        let output = sandbox.run_with_input(arguments, input.as_bytes());
        let text = output.stdout + &output.stderr;
        assert!(text.contains("sto_live_..."), "{arguments:?} does not mention the key");
        assert!(!text.contains(&key[9..20]), "{arguments:?} shows a key");
    }
}

#[test]
fn a_failure_is_reported_although_standard_output_is_closed() {
    let sandbox = CliSandbox::new();
    sandbox.run(&["accounts", "create", "acme", "--plan", "pro"]).done();
    for (arguments, status) in [
        (&["orders", "show", "7", "--json"][..], 3),
        (&["health", "--admin-listen", "127.0.0.1:1", "--json"], 1),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = sandbox.command(arguments).stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
        assert!(output.stderr.starts_with(b"error: "), "{arguments:?}");
    }
}

/// A limit on the file size simulates the full disk.
#[test]
fn on_a_full_disk_commands_fail_with_one_line_and_leave_no_file() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending(1..=1);
    // While a server runs, opening the store writes nothing. So each command fails only at its own
    // write.
    let _server = sandbox.serve(&["--listen", "127.0.0.1:0"]);
    sandbox.session(str![[r#"
$ limited() { sh -c 'trap "" XFSZ; ulimit -f 0; exec store-orders "$@"' sh "$@"; }
$ full() { { limited "$@"; echo "exit status $?"; } 2>&1 | cat; }
$ full accounts create acme --plan free
error: data directory ./store-orders-data: the store cannot be written: disk I/O error: Error code 778: disk I/O error
exit status 4
$ full orders ship 1
error: data directory ./store-orders-data: the store cannot be written: disk I/O error: Error code 778: disk I/O error
exit status 4
$ full backup b.sqlite
error: data directory ./store-orders-data: cannot copy ./store-orders-data/store.sqlite to b.sqlite: the store cannot be copied: disk I/O error: Error code 778: disk I/O error
exit status 1
$ ls -A
log
store-orders-data
"#]]);
}
