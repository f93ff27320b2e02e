//! Backups: a copy contains the store as it was at one moment, and is restored completely or not at
//! all.

use super::{damage, store};
use rusqlite::Connection;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};
use store_orders::store::sqlite::{ServerLock, SqliteStore, back_up, check, restore};
use store_orders::store::{KeyCommands, OperatorStore};
use test_server::TestSetup;
use testbed::{ChildProcess, CliSandbox, Signal, WAIT_TIMEOUT, str};

const ORDERS: i64 = 50_000;

fn cancelled_ids(file: &Path) -> Vec<i64> {
    let connection = Connection::open(file).unwrap();
    let mut statement =
        connection.prepare("SELECT id FROM orders WHERE status = 'cancelled' ORDER BY id").unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Backs up a store. After the first step, waits for 20 more cancellations, so that the store
/// changes during the backup. Returns the number of cancellations before the wait.
fn copy_while_cancelled(directory: &Path, file: &Path, cancelled_count: &AtomicI64) -> i64 {
    let began = AtomicI64::new(0);
    let progress = |copied, all| {
        assert!(copied <= all);
        if began.load(Ordering::SeqCst) == 0 {
            assert!(copied < all, "the store is too small to be copied in steps");
            began.store(cancelled_count.load(Ordering::SeqCst), Ordering::SeqCst);
            let started = Instant::now();
            while cancelled_count.load(Ordering::SeqCst) < began.load(Ordering::SeqCst) + 20 {
                assert!(started.elapsed() < WAIT_TIMEOUT, "no more orders are cancelled");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    };
    back_up(directory, file, &progress, &|| false).unwrap();
    began.into_inner()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_taken_during_cancellations_has_the_store_at_one_moment() {
    let setup = TestSetup::new();
    let key = setup.enterprise_key(1_000_000, 1_000_000);
    setup.pending(1..=ORDERS);
    let server = setup.serve().await;
    let cancelled_count = Arc::new(AtomicI64::new(0));
    let sandbox = CliSandbox::new();
    let file = sandbox.path("backup.sqlite");

    let client = server.client(&key);
    let mut copying = None;
    for id in 1..=ORDERS {
        client.cancel_order(id).await.unwrap();
        cancelled_count.store(id, Ordering::SeqCst);
        if id == 10 {
            let (directory, file) = (server.setup.directory.path().to_path_buf(), file.clone());
            let cancelled_count = Arc::clone(&cancelled_count);
            let copy = move || copy_while_cancelled(&directory, &file, &cancelled_count);
            copying = Some(tokio::task::spawn_blocking(copy));
        }
        if copying.as_ref().is_some_and(tokio::task::JoinHandle::is_finished) {
            break;
        }
    }
    let began = copying.unwrap().await.unwrap();

    let report = restore(&file, &sandbox.path("restored"), &|_, _| ()).unwrap();
    let orders = report.orders.unwrap();
    assert_eq!(orders.pending + orders.shipped + orders.cancelled, ORDERS);
    assert!(cancelled_count.load(Ordering::SeqCst) >= began + 20);
    // The store may have had one more cancellation than the client had counted in `began`.
    assert!((10..=began + 1).contains(&orders.cancelled), "{orders:?}, began at {began}");
    // The client cancels in ascending order of id, so the cancelled ids have no gap. The import and
    // each cancellation raise the change number by one.
    let ids = cancelled_ids(&sandbox.path("restored/store.sqlite"));
    assert_eq!(ids, (1..=orders.cancelled).collect::<Vec<_>>());
    assert_eq!(report.orders_change_number, Some(orders.cancelled + 1));
    assert_eq!(check(&sandbox.path("restored")).unwrap(), report);
    let store = SqliteStore::open(&sandbox.path("restored")).unwrap();
    assert_eq!(store.key_records().unwrap().len(), 1);
}

fn sandbox_with_backup() -> CliSandbox {
    let sandbox = CliSandbox::new();
    sandbox.write("orders.csv", "id,petId,quantity\n7,1,1\n");
    sandbox.run(&["orders", "import", "orders.csv"]).done();
    sandbox.run(&["backup", "backup.sqlite"]).done();
    sandbox
}

#[test]
fn a_backup_is_one_file_of_its_owner_and_overwrites_nothing() {
    sandbox_with_backup().session(str![[r#"
$ stat -c %a backup.sqlite
600
$ echo something else > taken
$ store-orders backup taken
(1) error: taken is there already and is not overwritten
$ cat taken
something else
$ store-orders backup nowhere/backup.sqlite
(1) error: cannot write nowhere/backup.sqlite: No such file or directory (os error 2)
$ ls -A
backup.sqlite
orders.csv
store-orders-data
taken
"#]]);
}

#[test]
fn a_restored_store_has_a_new_id_and_reuses_no_ids_of_keys_or_accounts() {
    let sandbox = sandbox_with_backup();
    sandbox.run(&["accounts", "create", "acme", "--plan", "free"]).done();
    for _ in 0..3 {
        sandbox.run(&["keys", "issue", "--account", "acme"]).done();
    }
    let old = store(&sandbox);
    sandbox.run(&["backup", "with-keys.sqlite"]).done();
    let mut ids = vec![old.id().unwrap()];
    for (backup, directory, highest) in [
        ("with-keys.sqlite", "first", 3),
        ("with-keys.sqlite", "second", 3),
        ("backup.sqlite", "none", 0),
    ] {
        sandbox.run(&["restore", backup, "--data-dir", directory]).done();
        sandbox.run(&["check", "--data-dir", directory]).done();
        let store = SqliteStore::open(&sandbox.path(directory)).unwrap();
        assert!(!ids.contains(&store.id().unwrap()), "{ids:?}");
        ids.push(store.id().unwrap());
        let arguments = ["accounts", "create", "globex", "--plan", "free"];
        sandbox.run(&[&arguments[..], &["--data-dir", directory]].concat()).done();
        let arguments = ["keys", "issue", "--account", "globex", "--data-dir", directory];
        sandbox.run(&arguments).done();
        let connection = Connection::open(store.path()).unwrap();
        let query = "SELECT max(row), max(account) FROM keys";
        let ids = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let (row, account): (i64, i64) = connection.query_row(query, [], ids).unwrap();
        assert!(row > highest + 1_000_000 && account > 1_000_000, "{row}, {account}");
    }
}

#[test]
fn a_restore_overwrites_no_store() {
    let sandbox = sandbox_with_backup();
    // A restore also refuses if it finds a WAL file without a store. SQLite would apply the WAL
    // file to the restored store.
    sandbox.session(str![[r#"
$ printf 'id,petId,quantity\n8,1,1\n' | store-orders orders import -
imported 1 order
$ store-orders restore backup.sqlite
(1) error: ./store-orders-data/store.sqlite is there already and is not overwritten; `store-orders restore --replace` moves the old store to a new directory in ./store-orders-data
$ store-orders orders list
id  petId  quantity  complete  status
 7      1         1  false     pending
 8      1         1  false     pending
$ mv store-orders-data/store.sqlite away.sqlite; touch store-orders-data/store.sqlite-wal
$ store-orders restore backup.sqlite
(1) error: ./store-orders-data/store.sqlite-wal is there already and is not overwritten; `store-orders restore --replace` moves the old store to a new directory in ./store-orders-data
$ ls store-orders-data
audit.log
last-backup
store.sqlite-wal
write-intent.lock
"#]]);
}

#[test]
fn a_restore_is_refused_while_a_server_runs() {
    let sandbox = sandbox_with_backup();
    // While a restore runs, a server must refuse to start.
    let (file, directory) = (sandbox.path("backup.sqlite"), sandbox.path("new"));
    let refused = AtomicI64::new(0);
    let serve = |_, _| {
        let error = ServerLock::take(&directory).unwrap_err().to_string();
        assert!(error.starts_with("a command, such as restore, uses the store"), "{error}");
        refused.fetch_add(1, Ordering::Relaxed);
    };
    restore(&file, &directory, &serve).unwrap();
    assert!(refused.into_inner() > 0);
    let _server = sandbox.serve(&["--listen", "127.0.0.1:0"]);
    sandbox.session(str![[r#"
$ store-orders restore backup.sqlite
(1) error: a server (pid [PID], 127.0.0.1:[PORT], admin off) has the store in ./store-orders-data already; stop it first, or choose another --data-dir
"#]]);
}

#[test]
fn a_damaged_or_foreign_file_is_not_restored() {
    let sandbox = sandbox_with_backup();
    let other = Connection::open(sandbox.path("other.sqlite")).unwrap();
    other.execute("CREATE TABLE a (b)", []).unwrap();
    sandbox.session(str![[r#"
$ store-orders restore orders.csv --data-dir new
(1) error: orders.csv is not a store of Store Orders
$ store-orders restore other.sqlite --data-dir new
(1) error: other.sqlite is not a store of Store Orders
$ test ! -e new
"#]]);
    damage(&sandbox.path("backup.sqlite"), 3);
    let output = sandbox.run(&["restore", "backup.sqlite", "--data-dir", "new"]);
    assert_eq!(output.status, 1, "{}", output.stdout);
    assert!(sandbox.names("new").is_empty());
}

#[test]
fn a_file_that_is_cut_short_is_named() {
    let sandbox = sandbox_with_backup();
    sandbox.session(str![[r#"
$ LENGTH=$(wc -c < backup.sqlite)
$ for length in 50 4096 $((LENGTH / 2)) $((LENGTH - 4096)); do
>   head -c $length backup.sqlite > cut.sqlite; store-orders restore cut.sqlite --data-dir new
> done
(1) error: cut.sqlite is not sound: database disk image is malformed; fix: copy the file again if it is itself a copy, or restore an earlier backup
(1) error: cut.sqlite is not sound: database disk image is malformed; fix: copy the file again if it is itself a copy, or restore an earlier backup
(1) error: cut.sqlite is not sound: database disk image is malformed; fix: copy the file again if it is itself a copy, or restore an earlier backup
(1) error: cut.sqlite is not sound: database disk image is malformed; fix: copy the file again if it is itself a copy, or restore an earlier backup
$ head -c $((LENGTH / 2)) backup.sqlite > store-orders-data/store.sqlite
$ store-orders backup b.sqlite
(1) error: ./store-orders-data/store.sqlite is not sound: database disk image is malformed; fix: copy the file again if it is itself a copy, or restore an earlier backup
"#]]);
}

#[test]
fn an_interrupted_backup_leaves_nothing() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending(1..=ORDERS);
    let interrupted = AtomicBool::new(false);
    let progress = |_, _| {
        assert_eq!(sandbox.names("").len(), 2, "a copy is in progress");
        assert!(!interrupted.swap(true, Ordering::SeqCst), "the backup continued");
    };
    let file = sandbox.path("b.sqlite");
    let is_interrupted = || interrupted.load(Ordering::SeqCst);
    let store = sandbox.path("store-orders-data");
    let error = back_up(&store, &file, &progress, &is_interrupted).unwrap_err();
    assert_eq!(error.to_string(), "interrupted; there is no copy");
    assert_eq!(sandbox.names(""), ["store-orders-data"]);
}

fn start_copy(sandbox: &CliSandbox, arguments: &[&str]) -> ChildProcess {
    let mut command = sandbox.command(arguments);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    ChildProcess::new(child, "backup or restore")
}

fn wait_until_or_exit(command: &mut ChildProcess, condition: impl Fn() -> bool) {
    while command.is_running() && !condition() {
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// True if the directory contains an unfinished copy.
fn has_copy(sandbox: &CliSandbox, directory: &str) -> bool {
    let is_copy = |name: &String| name.starts_with(".store-orders-");
    sandbox.path(directory).exists() && sandbox.names(directory).iter().any(is_copy)
}

#[test]
fn a_signal_leaves_a_whole_backup_or_none() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending(1..=ORDERS);
    for (signal, status) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let mut backup = start_copy(&sandbox, &["backup", "b.sqlite"]);
        wait_until_or_exit(&mut backup, || has_copy(&sandbox, ""));
        backup.signal(signal).unwrap();
        match backup.wait().unwrap().code() {
            Some(0) => std::fs::remove_file(sandbox.path("b.sqlite")).unwrap(),
            code => assert_eq!(code, Some(status)),
        }
        assert_eq!(sandbox.names(""), ["store-orders-data"]);
    }
}

/// SIGTERM ends a restore immediately. The partial copy has a temporary name, so no server opens
/// it.
#[test]
fn a_signal_leaves_a_whole_restored_store_or_none() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending(1..=ORDERS);
    sandbox.run(&["backup", "b.sqlite"]).done();
    for directory in ["copying", "copied"] {
        let restored = sandbox.path(directory).join("store.sqlite");
        let mut restore = start_copy(&sandbox, &["restore", "b.sqlite", "--data-dir", directory]);
        wait_until_or_exit(&mut restore, || has_copy(&sandbox, directory));
        if directory == "copied" {
            wait_until_or_exit(&mut restore, || restored.exists());
        }
        restore.signal(Signal::TERM).unwrap();
        restore.wait().unwrap();
        if !restored.exists() {
            sandbox.run(&["restore", "b.sqlite", "--data-dir", directory]).done();
        }
        let report = check(&sandbox.path(directory)).unwrap();
        assert_eq!((report.problems.len(), report.orders.unwrap().pending), (0, ORDERS));
    }
}

/// For a dynamic user, systemd makes the data directory a symbolic link. A restore must keep this
/// link.
#[test]
fn a_restore_replaces_a_store_and_keeps_the_old_files_in_the_directory() {
    let sandbox = sandbox_with_backup();
    drop(sandbox.serve(&["--listen", "127.0.0.1:0"]));
    sandbox.session(str![[r#"
$ mkdir private; mv store-orders-data private/data; ln -s private/data store-orders-data
$ printf 'id,petId,quantity\n8,1,1\n' | store-orders orders import -
imported 1 order
$ store-orders restore backup.sqlite
(1) error: ./store-orders-data/store.sqlite is there already and is not overwritten; `store-orders restore --replace` moves the old store to a new directory in ./store-orders-data
$ store-orders restore --replace backup.sqlite
restored ./store-orders-data
orders    1 pending, 0 shipped, 0 cancelled; change 1
pets      0
accounts  0
keys      0; change 0
replaced  ./store-orders-data/replaced-1
$ stat -c '%F %N' store-orders-data; stat -c %a store-orders-data/replaced-1
symbolic link 'store-orders-data' -> 'private/data'
700
$ ls -A store-orders-data store-orders-data/replaced-1
store-orders-data:
audit.log
last-backup
replaced-1
server.pid
store.sqlite
write-intent.lock

store-orders-data/replaced-1:
limits.snapshot
store.sqlite
$ store-orders orders list --data-dir store-orders-data/replaced-1
id  petId  quantity  complete  status
 7      1         1  false     pending
 8      1         1  false     pending
$ store-orders orders list
id  petId  quantity  complete  status
 7      1         1  false     pending
$ : > store-orders-data/store.sqlite; store-orders restore --replace backup.sqlite --json | grep '"replaced"'
{"orders":{"pending":1,"shipped":0,"cancelled":0},"ordersChangeNumber":1,"keysChangeNumber":0,"pets":0,"accounts":0,"keys":0,"problems":[],"countedAccounts":null,"replaced":"./store-orders-data/replaced-2"}
$ store-orders restore --replace backup.sqlite --data-dir new | tail -n 1
keys      0; change 0
$ store-orders restore --replace orders.csv
(1) error: orders.csv is not a store of Store Orders
$ ls store-orders-data | grep replaced
replaced-1
replaced-2
$ store-orders restore --replace backup.sqlite --store postgres://localhost/orders
(1) error: --replace is for a data directory; fix: restore into an empty database
"#]]);
    let _server = sandbox.serve(&["--listen", "127.0.0.1:0"]);
    let refused = sandbox.run(&["restore", "--replace", "backup.sqlite"]).error();
    assert!(refused.contains("has the store in ./store-orders-data already"), "{refused}");
}

#[test]
fn a_store_that_a_command_uses_is_not_replaced() {
    let sandbox = sandbox_with_backup();
    let command = store(&sandbox);
    assert_eq!(
        sandbox.run(&["restore", "--replace", "backup.sqlite"]).error(),
        "a command uses the store in ./store-orders-data; try again when it has ended"
    );
    drop(command);
    sandbox.run(&["restore", "--replace", "backup.sqlite"]).done();
}

/// A killed command may have moved only some of the old files. The next `restore --replace` moves
/// the remaining files to the same directory.
#[test]
fn an_unfinished_replacement_is_finished_by_the_same_command() {
    let names = ["store.sqlite", "store.sqlite-wal", "limits.snapshot"];
    for moved in 0..=names.len() {
        let sandbox = sandbox_with_backup();
        let path = |name: &str| sandbox.path("store-orders-data").join(name);
        for name in &names[1..] {
            std::fs::write(path(name), name).unwrap();
        }
        std::fs::create_dir(path(".store-orders-replaced")).unwrap();
        for name in &names[..moved] {
            std::fs::rename(path(name), path(".store-orders-replaced").join(name)).unwrap();
        }
        if moved > 0 {
            let error = sandbox.run(&["accounts", "create", "a", "--plan", "free"]).error();
            let unfinished = "has not finished, as .store-orders-replaced in it shows";
            assert!(error.contains(unfinished) && error.contains("the same"), "{error}");
            let error = sandbox.run(&["restore", "backup.sqlite"]).error();
            assert!(error.contains("--replace"), "{error}");
        }
        sandbox.run(&["restore", "--replace", "backup.sqlite"]).done();
        let old_files = sandbox.names("store-orders-data/replaced-1");
        assert_eq!(old_files, ["limits.snapshot", "store.sqlite", "store.sqlite-wal"]);
        assert_eq!(check(&sandbox.path("store-orders-data")).unwrap().problems.len(), 0);
        assert!(!path(".store-orders-replaced").exists() && !path("store.sqlite-wal").exists());
    }
}

#[test]
fn a_signal_leaves_the_old_store_or_a_whole_new_one() {
    let sandbox = CliSandbox::new();
    sandbox.import_pending(1..=ORDERS);
    sandbox.run(&["backup", "b.sqlite"]).done();
    sandbox.run(&["orders", "ship", "1"]).done();
    let data = sandbox.path("store-orders-data");
    let shipped = || check(&data).unwrap().orders.unwrap().shipped;
    for moment in [".store-orders-restore-", ".store-orders-replaced"] {
        let mut restore = start_copy(&sandbox, &["restore", "--replace", "b.sqlite"]);
        let begins = |name: &String| name.starts_with(moment);
        let has_begun = || sandbox.names("store-orders-data").iter().any(begins);
        wait_until_or_exit(&mut restore, has_begun);
        restore.signal(Signal::KILL).unwrap();
        restore.wait().unwrap();
        if !data.join("store.sqlite").exists() {
            sandbox.run(&["restore", "--replace", "b.sqlite"]).done();
        }
        let is_replaced = data.join("replaced-1").exists();
        assert_eq!(shipped(), if is_replaced { 0 } else { 1 }, "{moment}");
        let report = check(&data).unwrap();
        assert_eq!(report.problems.len(), 0);
    }
    sandbox.run(&["restore", "--replace", "b.sqlite"]).done();
    let old = check(&data.join("replaced-1")).unwrap();
    assert_eq!((old.problems.len(), old.orders.unwrap().shipped), (0, 1));
}
