//! Errors before a command begins: the command line, the data directory. And the
//! commands that need no store.

use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use testbed::CliSandbox;

#[test]
fn help_is_everywhere_and_a_wrong_command_line_is_2() {
    let sandbox = CliSandbox::new();
    for command in ["orders import", "orders ship", "accounts create", "keys rotate", "openapi"] {
        let arguments: Vec<_> = command.split(' ').chain(["--help"]).collect();
        let help = sandbox.run(&arguments).done();
        assert!(help.contains(&format!("store-orders {command}")) && help.contains("Example"));
        // Colours are for terminals.
        assert!(!help.contains('\u{1b}'));
    }
    assert!(sandbox.run(&["--version"]).done().starts_with("store-orders "));
    for arguments in [&[][..], &["order"], &["orders", "list", "--limit", "x"], &["--data-dir"]] {
        let usage = sandbox.run(arguments).usage();
        assert!(usage.contains("--help") || usage.contains("Usage:"), "{usage}");
    }
    assert!(!sandbox.path("store-orders-data").exists());
    let served = sandbox.run(&["openapi", "--served", "--contact-email", "a@orders.test"]).json();
    assert_eq!(served["info"]["contact"]["email"], "a@orders.test");
    assert_eq!(served["servers"][0]["url"], "/v1");
    let wrong = sandbox.run(&["openapi", "--served", "--production-url", "orders.test"]).usage();
    assert!(wrong.contains("https://orders.example.com/v1"), "{wrong}");
    let below = ["openapi", "--served", "--production-url", "https://pets.test/orders/v1"];
    let refused = sandbox.run(&below).usage();
    assert!(refused.contains("no path may stand before /v1, because"), "{refused}");
}

#[test]
fn an_address_in_use_names_its_option_once_in_the_log() {
    let sandbox = CliSandbox::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let other = ["--listen", "127.0.0.1:0", "--admin-listen", &address];
    for (option, flags) in [
        ("--listen", &["--listen", address.as_str(), "--admin-listen", "off"][..]),
        ("--admin-listen", &other),
    ] {
        let error =
            sandbox.run(&[&["serve", "--log-level", "off"], flags].concat()).failed_server();
        assert_eq!(
            error,
            format!(
                "cannot listen on {address}: another program listens there; fix: stop it, or \
                 choose another port with {option}"
            )
        );
    }
    // A demonstration is for people.
    let error = sandbox.run(&["demo", "--listen", &address]).error();
    assert!(error.starts_with(&format!("cannot listen on {address}: ")), "{error}");
    for wrong in ["here", "8080", "no such host:1"] {
        let error = sandbox.run(&["serve", "--listen", wrong]).usage();
        assert!(error.contains("write HOST:PORT"), "{error}");
    }
}

#[test]
fn the_document_is_printed_as_it_is_checked_in_and_as_it_is_served() {
    let sandbox = CliSandbox::new();
    let document = sandbox.run(&["openapi"]).done();
    assert_eq!(document, include_str!("../../spec/openapi.json"));
    let beta = sandbox.run(&["openapi", "--beta"]).done();
    assert_eq!(beta, include_str!("../../spec/openapi-v2.json"));
    assert!(serde_json::from_str::<Value>(&document).unwrap()["paths"].is_object());
    assert!(!sandbox.path("store-orders-data").exists());
}

#[test]
fn the_data_directory_comes_from_the_flag_then_the_environment() {
    let sandbox = CliSandbox::new();
    let create = |arguments: &[&str]| {
        let mut command = sandbox.command(&["accounts", "create", "acme", "--plan", "pro"]);
        command.args(arguments).env("STORE_ORDERS_DATA_DIR", "from/environment");
        assert!(command.output().unwrap().status.success());
    };
    create(&["--json"]);
    create(&["--data-dir", "from/flag"]);
    for directory in ["from/environment", "from/flag"] {
        assert!(sandbox.path(directory).join("store.sqlite").exists());
        let mode = sandbox.path(directory).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
    let before = ["--data-dir", "from/flag", "accounts", "list", "--json"];
    assert_eq!(sandbox.run(&before).json().as_array().unwrap().len(), 1);
}

#[test]
fn a_data_directory_that_cannot_be_used_is_one_line() {
    let sandbox = CliSandbox::new();
    sandbox.write("file", "");
    let create = ["accounts", "create", "acme", "--plan", "pro"];
    let refused =
        |directory: &str| sandbox.run(&[&create[..], &["--data-dir", directory]].concat());
    assert_eq!(
        refused("file").error(),
        "cannot use the data directory file: it is a file; choose another --data-dir"
    );
    let error = refused("file/below").unavailable();
    assert!(error.starts_with("cannot use the data directory file/below: "), "{error}");
    // Not even root can create a directory there.
    let error = refused("/proc/store-orders").unavailable();
    assert!(error.starts_with("cannot use the data directory /proc/store-orders: "), "{error}");
}

#[test]
fn a_store_that_cannot_be_opened_is_one_line() {
    let sandbox = CliSandbox::new();
    // Not even root, who may write in any directory, can open this.
    std::fs::create_dir_all(sandbox.path("closed/store.sqlite")).unwrap();
    let create = ["accounts", "create", "acme", "--plan", "pro", "--data-dir", "closed"];
    let error = sandbox.run(&create).unavailable();
    assert!(error.starts_with("data directory closed: the store cannot be opened: "), "{error}");
}

#[test]
fn a_file_that_is_no_store_of_ours_stays_as_it_is() {
    let sandbox = CliSandbox::new();
    let foreign = "is not a store of Store Orders; choose another --data-dir";
    for (directory, statement, error) in [
        ("other", "CREATE TABLE t (x)", foreign),
        (
            "newer",
            "PRAGMA application_id = 0x73746f72; PRAGMA user_version = 99",
            "was written by a newer version of store-orders",
        ),
    ] {
        std::fs::create_dir(sandbox.path(directory)).unwrap();
        let file = sandbox.path(directory).join("store.sqlite");
        rusqlite::Connection::open(&file).unwrap().execute_batch(statement).unwrap();
        let before = std::fs::read(&file).unwrap();
        let output = sandbox.run(&["keys", "list", "--data-dir", directory]).unavailable();
        assert!(output.starts_with(&format!("{directory}/store.sqlite {error}")), "{output}");
        assert_eq!(std::fs::read(&file).unwrap(), before);
    }
    std::fs::create_dir(sandbox.path("text")).unwrap();
    sandbox.write("text/store.sqlite", "no database, but long enough for a header".repeat(20));
    let output = sandbox.run(&["keys", "list", "--data-dir", "text"]).unavailable();
    assert_eq!(output, format!("text/store.sqlite {foreign}"));
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
fn an_error_is_data_with_json_and_its_status_tells_what_kind() {
    let sandbox = CliSandbox::new();
    let failed = |arguments: &[&str]| {
        let output = sandbox.run(&[arguments, &["--json"]].concat());
        let said: Value = serde_json::from_str(&output.stdout).expect("one JSON document");
        let text = output.stderr.strip_prefix("error: ").unwrap().to_string();
        let message = said["error"]["message"].as_str().unwrap();
        assert!(text.starts_with(message), "{message:?} is not {text:?}");
        (said["error"]["code"].as_str().unwrap().to_string(), output.status)
    };
    let unavailable = ("store_unavailable".to_string(), 4);
    assert_eq!(failed(&["orders", "list"]), unavailable);
    let nowhere = "postgres://store@127.0.0.1:1/store";
    assert_eq!(failed(&["keys", "list", "--store", nowhere]), unavailable);
    sandbox.run(&["accounts", "create", "acme", "--plan", "pro"]).done();
    for missing in [
        &["orders", "show", "7"][..],
        &["accounts", "show", "globex"],
        &["keys", "revoke", "key_none"],
        &["orders", "ship", "7"],
    ] {
        assert_eq!(failed(missing), ("not_found".to_string(), 3));
    }
    let exists = ["accounts", "create", "acme", "--plan", "free"];
    assert_eq!(failed(&exists), ("failed".to_string(), 1));
    assert_eq!(failed(&["orders", "show", "x"]), ("invalid_command_line".to_string(), 2));
    // A command that shows its data shows no second document.
    let not_ready = sandbox.run(&["health", "--admin-listen", "127.0.0.1:1", "--json"]);
    let said: Value = serde_json::from_str(&not_ready.stdout).unwrap();
    assert_eq!((not_ready.status, &said["ready"]), (1, &Value::Bool(false)));
}

#[test]
fn a_plan_without_its_flag_is_told_the_flag() {
    let error = CliSandbox::new().run(&["accounts", "set-plan", "acme", "free"]).usage();
    assert!(error.contains("tip: to give the plan, write '--plan free'"), "{error}");
}

#[test]
fn no_row_of_a_file_shows_a_key() {
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
        assert!(text.contains("sto_live_..."), "{arguments:?} says nothing of it");
        assert!(!text.contains(&key[9..20]), "{arguments:?} shows a key");
    }
}

#[test]
fn a_failure_is_told_although_standard_output_is_closed() {
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
