//! The data directory: which files are created in it, their modes, and which paths can be used.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use testbed::{CliSandbox, str};

#[test]
fn a_command_that_needs_a_store_creates_none() {
    let sandbox = CliSandbox::new();
    sandbox.write("orders.csv", "id,complete\n1,true\n");
    for command in [
        &["orders", "list"][..],
        &["orders", "show", "1"],
        &["orders", "ship", "1"],
        &["orders", "cancel", "1", "--reason", "test"],
        &["orders", "update", "orders.csv"],
        &["accounts", "list"],
        &["accounts", "show", "acme"],
        &["accounts", "rename", "acme", "other"],
        &["accounts", "close", "acme", "--yes"],
        &["accounts", "set-plan", "acme", "--plan", "pro"],
        &["keys", "list"],
        &["keys", "issue", "--account", "acme"],
        &["keys", "rotate", "key_x"],
        &["keys", "unban", "key_x"],
        &["keys", "revoke", "key_x"],
        &["check"],
        &["status"],
        &["backup", "b.sqlite"],
    ] {
        assert_eq!(
            sandbox.run(command).unavailable(),
            "there is no store at ./store-orders-data/store.sqlite; give its directory with --data-dir, or create one with `orders import`"
        );
        assert_eq!(sandbox.names(""), ["orders.csv"], "{command:?}");
    }
}

/// A new, empty store would hide that the old store is missing.
#[test]
fn a_directory_that_lost_its_store_gets_no_new_one() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending(1..=3);
    drop(sandbox.serve(&["--listen", "127.0.0.1:0"]));
    sandbox.run(&["backup", "b.sqlite"]).done();
    sandbox.session(str![[r#"
$ rm store-orders-data/store.sqlite*
$ store-orders serve --admin-listen off 2>&1 | tail -n 1 | grep -o '"error".*'
"error":"./store-orders-data had a store, as limits.snapshot in it shows, but store.sqlite is missing: move it back, with store.sqlite-wal if you have that, or restore a backup with `store-orders restore --replace`; for a new store, empty the directory"}
$ store-orders accounts create acme --plan pro
(1) error: ./store-orders-data had a store, as limits.snapshot in it shows, but store.sqlite is missing: move it back, with store.sqlite-wal if you have that, or restore a backup with `store-orders restore --replace`; for a new store, empty the directory
$ rm store-orders-data/limits.snapshot
$ store-orders accounts create acme --plan pro
(1) error: ./store-orders-data had a store, as write-intent.lock in it shows, but store.sqlite is missing: move it back, with store.sqlite-wal if you have that, or restore a backup with `store-orders restore --replace`; for a new store, empty the directory
$ ls store-orders-data | grep sqlite
(1)
$ store-orders restore b.sqlite
restored ./store-orders-data
orders    3 pending, 0 shipped, 0 cancelled; change 1
pets      0
accounts  0
keys      0; change 0
"#]]);
}

/// Mode 000 does not restrict root, so as root the test runs the commands as another user.
#[test]
fn a_directory_without_access_is_not_taken_for_an_empty_one() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending(1..=3);
    sandbox.run(&["backup", "b.sqlite"]).done();
    sandbox.write("pets.csv", "id,name\n1,Rex\n");
    let mode = |name: &str, mode| {
        std::fs::set_permissions(sandbox.path(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    mode("", 0o777);
    mode("b.sqlite", 0o644);
    mode("store-orders-data", 0o000);
    let refused = |arguments: &[&str], status| {
        let mut command = sandbox.command(arguments);
        if rustix::process::geteuid().is_root() {
            command.uid(65_534).gid(65_534);
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let fix = "(fix: run the command as the owner of its files): Permission denied (os error 13)";
    for arguments in [
        &["orders", "list"][..],
        &["accounts", "create", "acme", "--plan", "pro"],
        &["pets", "import", "pets.csv", "--dry-run"],
        &["check"],
        &["status"],
        &["backup", "c.sqlite"],
    ] {
        let error = refused(arguments, 4);
        let expected = format!("error: cannot use the data directory ./store-orders-data {fix}\n");
        assert_eq!(error, expected, "{arguments:?}");
    }
    for arguments in [&["restore", "b.sqlite"][..], &["serve", "--admin-listen", "off"]] {
        let error = refused(arguments, 1);
        let expected = format!("cannot lock the data directory ./store-orders-data {fix}");
        assert!(error.contains(&expected), "{arguments:?}: {error}");
    }
    mode("store-orders-data", 0o700);
    mode("b.sqlite", 0o000);
    let error = refused(&["restore", "b.sqlite", "--data-dir", "new"], 1);
    assert!(error.contains("b.sqlite") && error.contains("Permission denied"), "{error}");
}

/// SQLite creates files in the store's directory even to read the store. File permissions do not
/// restrict root, so a test that runs as root executes the commands as another user.
#[test]
fn a_directory_that_cannot_be_written_is_named_with_the_reason() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([1]);
    let mode = |name: &str, mode| {
        std::fs::set_permissions(sandbox.path(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        for file in sandbox.names("store-orders-data") {
            let file = sandbox.path("store-orders-data").join(file);
            std::os::unix::fs::chown(file, Some(65_534), Some(65_534)).unwrap();
        }
        let directory = sandbox.path("store-orders-data");
        std::os::unix::fs::chown(directory, Some(65_534), Some(65_534)).unwrap();
    }
    mode("", 0o777);
    mode("store-orders-data", 0o500);
    for arguments in
        [&["orders", "list"][..], &["keys", "list"], &["orders", "ship", "1"], &["check"]]
    {
        let mut command = sandbox.command(arguments);
        if is_root {
            command.uid(65_534).gid(65_534);
        }
        let output = command.output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            error,
            "error: the data directory ./store-orders-data does not let this user create files, \
             and even to read a store, SQLite needs to write its locks next to it; run the command \
             as the owner, and give the directory mode 0700\n",
            "{arguments:?}"
        );
        assert_eq!(output.status.code(), Some(4), "{arguments:?}");
    }
    mode("store-orders-data", 0o700);
}

#[test]
fn only_the_owner_may_read_files_whatever_the_directorys_mode() {
    let sandbox = CliSandbox::new();
    std::fs::create_dir(sandbox.path("store-orders-data")).unwrap();
    let open = PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(sandbox.path("store-orders-data"), open).unwrap();
    sandbox.import_pending(1..=3);
    let server = sandbox.serve(&["--listen", "127.0.0.1:0"]);
    sandbox.run(&["orders", "ship", "1"]).done();
    let names = sandbox.names("store-orders-data");
    let expected = [
        "audit.log",
        "limits.snapshot",
        "server.pid",
        "store.sqlite",
        "store.sqlite-shm",
        "store.sqlite-wal",
        "write-intent.lock",
    ];
    assert!(expected.iter().all(|name| names.iter().any(|found| found == name)), "{names:?}");
    for name in names {
        let file = sandbox.path("store-orders-data").join(&name);
        // The server may have deleted the file since the directory was read.
        let Ok(metadata) = file.metadata() else { continue };
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{name}");
    }
    drop(server);
}

#[test]
fn a_linked_directory_is_used_and_a_linked_store_is_not() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([1]);
    sandbox.session(str![[r#"
$ ln -s store-orders-data linked; mkdir other; ln -s ../store-orders-data/store.sqlite other
$ mkdir hard; ln store-orders-data/store.sqlite hard/store.sqlite
$ store-orders orders list --data-dir hard
(4) error: hard/store.sqlite has another name (a hard link), so another process could use the store by another name, and they would overwrite each other's changes; keep the file under one name in its directory, and link or mount the directory instead
$ store-orders orders list
(4) error: ./store-orders-data/store.sqlite has another name (a hard link), so another process could use the store by another name, and they would overwrite each other's changes; keep the file under one name in its directory, and link or mount the directory instead
$ store-orders serve --admin-listen off 2>&1 | tail -n 1 | grep -o '"error".*'
"error":"./store-orders-data/store.sqlite has another name (a hard link), so another process could use the store by another name, and they would overwrite each other's changes; keep the file under one name in its directory, and link or mount the directory instead"}
$ rm hard/store.sqlite
$ store-orders orders list --data-dir linked
id  petId  quantity  complete  status
 1      1         1  false     pending
$ store-orders orders list --data-dir other
(4) error: other/store.sqlite is a symbolic link, so another process could use the store by another name, and they would overwrite each other's changes; keep the file under one name in its directory, and link or mount the directory instead
$ ls -A other
store.sqlite
"#]]);
}

/// A power cut or a full disk can empty the file. Creating a new store would hide the loss.
#[test]
fn an_emptied_store_is_not_replaced_by_a_new_one() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([1]);
    drop(sandbox.serve(&["--listen", "127.0.0.1:0"]));
    sandbox.session(str![[r#"
$ rm store-orders-data/store.sqlite-*; : > store-orders-data/store.sqlite
$ store-orders serve --admin-listen off 2>&1 | tail -n 1 | grep -o '"error".*'
"error":"./store-orders-data/store.sqlite is empty: a power cut, a full disk or an unfinished copy may have emptied it; restore a backup with `store-orders restore --replace`; for a new store, empty the directory"}
$ store-orders keys list
(4) error: ./store-orders-data/store.sqlite is empty: a power cut, a full disk or an unfinished copy may have emptied it; restore a backup with `store-orders restore --replace`; for a new store, empty the directory
$ store-orders accounts create acme --plan pro
(4) error: ./store-orders-data/store.sqlite is empty: a power cut, a full disk or an unfinished copy may have emptied it; restore a backup with `store-orders restore --replace`; for a new store, empty the directory
$ ls store-orders-data
audit.log
limits.snapshot
server.pid
store.sqlite
write-intent.lock
$ mkdir only; : > only/store.sqlite
$ store-orders orders list --data-dir only
(4) error: only/store.sqlite is empty: a power cut, a full disk or an unfinished copy may have emptied it; restore a backup with `store-orders restore --replace`; for a new store, empty the directory
$ store-orders serve --data-dir only --admin-listen off 2>&1 | tail -n 1 | grep -o '"error".*'
"error":"only/store.sqlite is empty: a power cut, a full disk or an unfinished copy may have emptied it; restore a backup with `store-orders restore --replace`; for a new store, empty the directory"}
$ ls only
server.pid
store.sqlite
$ store-orders accounts create acme --plan pro --data-dir new/store
created a new store in [DIRECTORY]/new/store
created account "acme": pro, 300 requests a minute, 10000 a day
$ store-orders accounts create other --plan pro --data-dir new/store
created account "other": pro, 300 requests a minute, 10000 a day
"#]]);
}

/// A restore that was killed leaves its temporary directory behind.
#[test]
fn an_unfinished_restore_counts_as_a_store() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([1]);
    sandbox.run(&["backup", "b.sqlite"]).done();
    sandbox.session(str![[r#"
$ mkdir -p new/.store-orders-restore-1; : > new/.store-orders-restore-1/copy.sqlite
$ store-orders serve --data-dir new --admin-listen off 2>&1 | tail -n 1 | grep -o '"error".*'
"error":"a restore into new has not finished, as .store-orders-restore-1 in it shows: if no restore is running, run the same `store-orders restore` again; for a new store, empty the directory"}
$ store-orders accounts create acme --plan pro --data-dir new
(1) error: a restore into new has not finished, as .store-orders-restore-1 in it shows: if no restore is running, run the same `store-orders restore` again; for a new store, empty the directory
$ store-orders restore b.sqlite --data-dir new
restored new
orders    1 pending, 0 shipped, 0 cancelled; change 1
pets      0
accounts  0
keys      0; change 0
$ ls -A new
audit.log
server.pid
store.sqlite
write-intent.lock
"#]]);
}

/// Root may run commands in another user's data directory. If the other user puts a link there,
/// root's commands must not write to the link's target.
#[test]
fn files_of_a_data_directory_are_not_opened_through_links() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending([1]);
    sandbox.session(str![[r#"
$ echo other > other; rm store-orders-data/write-intent.lock
$ ln -s ../other store-orders-data/write-intent.lock
$ store-orders orders ship 1
(4) error: cannot use the data directory ./store-orders-data: ./store-orders-data/write-intent.lock is a symbolic link
$ store-orders orders list
(4) error: cannot use the data directory ./store-orders-data: ./store-orders-data/write-intent.lock is a symbolic link
$ ln -f other store-orders-data/write-intent.lock
$ store-orders orders ship 1
(4) error: cannot use the data directory ./store-orders-data: ./store-orders-data/write-intent.lock has another name (a hard link)
$ rm store-orders-data/write-intent.lock; ln -s ../other store-orders-data/server.pid
$ store-orders serve --admin-listen off 2>&1 | tail -n 1
{"time":"YYYY-MM-DDThh:mm:ssZ","level":"ERROR","msg":"serve failed","error":"cannot write ./store-orders-data/server.pid: ./store-orders-data/server.pid is a symbolic link"}
$ store-orders status
./store-orders-data: no server runs
$ rm store-orders-data/server.pid; ln -s ../other store-orders-data/store.sqlite-wal
$ store-orders orders ship 1
(4) error: ./store-orders-data/store.sqlite-wal is a symbolic link
$ cat other
other
"#]]);
}

#[test]
fn a_path_that_looks_like_a_uri_is_a_path() {
    let sandbox = CliSandbox::new();
    let create = ["accounts", "create", "acme", "--plan", "pro", "--data-dir", "file:x"];
    sandbox.run(&create).done();
    assert!(sandbox.path("file:x/store.sqlite").exists());
    std::fs::create_dir(sandbox.path("file:y")).unwrap();
    sandbox.run(&["backup", "file:y/file:b", "--data-dir", "file:x"]).done();
    sandbox.run(&["restore", "file:y/file:b", "--data-dir", "file:z"]).done();
    drop(sandbox.serve(&["--listen", "127.0.0.1:0", "--data-dir", "file:z"]));
    sandbox.run(&["check", "--data-dir", "file:z"]).done();
    assert_eq!(sandbox.names(""), ["file:x", "file:y", "file:z", "log"]);
}
