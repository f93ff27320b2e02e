//! The audit log: a line for each change that a command makes.

use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use testbed::{CliSandbox, str};

const LOG: &str = "store-orders-data/audit.log";

/// Returns the lines of the audit log without time and user, because the test cannot predict the
/// two values.
fn lines(sandbox: &CliSandbox) -> Vec<String> {
    let log = std::fs::read_to_string(sandbox.path(LOG)).unwrap();
    let line = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let fields = line.as_object_mut().unwrap();
        let [time, user] = ["time", "user"].map(|name| fields.shift_remove(name).unwrap());
        assert!(time.as_str().unwrap().ends_with('Z') && !user.as_str().unwrap().is_empty());
        line.to_string()
    };
    log.lines().map(line).collect()
}

#[test]
fn each_change_has_a_line_without_a_key() {
    let sandbox = CliSandbox::new();
    sandbox.write("orders.csv", "id,petId,quantity\n3,1,1\n-1,1,1\n2,1,1\n");
    sandbox.run(&["orders", "import", "orders.csv"]).done();
    sandbox.run(&["accounts", "create", "acme", "--plan", "pro"]).done();
    sandbox.run(&["accounts", "rename", "acme", "globex"]).done();
    let issue = ["keys", "issue", "--account", "globex", "--json"];
    let issued = sandbox.run(&issue).json();
    let (key, id) = (issued["key"].as_str().unwrap(), issued["id"].as_str().unwrap());
    let rotated = sandbox.run(&["keys", "rotate", id, "--json"]).json();
    let successor = rotated["id"].as_str().unwrap();
    sandbox.run(&["keys", "revoke", id]).done();
    sandbox.run(&["orders", "ship", "2", "3"]).done();
    sandbox.run(&["orders", "cancel", "-1", "--reason", "ticket \"4711\""]).done();
    sandbox.run_with_input(&["orders", "update", "-"], b"id,complete\n2,true\n").done();
    sandbox.run(&["accounts", "close", "globex", "--yes"]).done();
    // The next three commands add no line to the log, because they do not change the store.
    sandbox.run(&["orders", "list"]).done();
    sandbox.run(&["orders", "ship", "2", "3"]).done();
    assert_eq!(sandbox.run(&["orders", "ship", "99"]).status, 3);
    let acme = r#""account":1,"name""#;
    assert_eq!(
        lines(&sandbox),
        [
            r#"{"command":"orders import","file":"orders.csv","ids":[-1,3],"imported":3}"#.into(),
            format!(r#"{{"command":"accounts create",{acme}:"acme"}}"#),
            format!(r#"{{"command":"accounts rename",{acme}:"globex"}}"#),
            format!(r#"{{"command":"keys issue","name":"globex","key":"{id}"}}"#),
            format!(r#"{{"command":"keys rotate","key":"{id}","successor":"{successor}"}}"#),
            format!(r#"{{"command":"keys revoke","key":"{id}"}}"#),
            r#"{"command":"orders ship","orders":[2,3]}"#.into(),
            r#"{"command":"orders cancel","orders":[-1],"reason":"ticket \"4711\""}"#.into(),
            r#"{"command":"orders update","orders":[2]}"#.into(),
            format!(r#"{{"command":"accounts close",{acme}:"globex"}}"#),
        ]
    );
    let log = std::fs::read_to_string(sandbox.path(LOG)).unwrap();
    assert!(!log.contains(key) && !log.contains("sto_"), "{log}");
    let mode = std::fs::metadata(sandbox.path(LOG)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_restore_begins_the_log_of_the_new_store() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([1]);
    sandbox.run(&["backup", "b.sqlite"]).done();
    sandbox.run(&["restore", "b.sqlite", "--data-dir", "new"]).done();
    let log = std::fs::read_to_string(sandbox.path("new/audit.log")).unwrap();
    assert!(log.contains(r#""command":"restore","file":"b.sqlite"}"#), "{log}");
}

/// The test puts a directory at the path of SQLite's file `store.sqlite-shm`. So the command cannot
/// open the restored store to log the restore.
#[test]
fn a_restore_that_cannot_be_logged_succeeds_with_a_warning() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([1]);
    sandbox.run(&["backup", "b.sqlite"]).done();
    sandbox.session(str![[r#"
$ mkdir -p new/store.sqlite-shm
$ store-orders restore b.sqlite --data-dir new
restored new
...
! warning: the audit log lacks this restore: [..]
$ rmdir new/store.sqlite-shm
$ store-orders check --data-dir new
new: sound
...
"#]]);
}

#[test]
fn a_change_that_cannot_be_logged_is_made_with_a_warning() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([1]);
    sandbox.session(str![[r#"
$ echo other > other; ln -sf ../other store-orders-data/audit.log
$ store-orders orders ship 1
shipped 1 order
! warning: the audit log lacks this orders ship: cannot write ./store-orders-data/audit.log: ./store-orders-data/audit.log is a symbolic link
$ cat other
other
"#]]);
}
