//! A backup is the store as of one moment, and comes back whole or not at all.

use super::{Place, damage};
use crate::harness::World;
use rusqlite::Connection;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use store_orders::store::sqlite::{SqliteStore, back_up, check, restore};

const ORDERS: i64 = 50_000;

/// The ids of cancelled orders in a store.
fn cancelled(file: &Path) -> Vec<i64> {
    let connection = Connection::open(file).unwrap();
    let mut statement =
        connection.prepare("SELECT id FROM orders WHERE status = 'cancelled' ORDER BY id").unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Backs a store up, and goes on after the first step only when 20 more orders
/// have been cancelled. Answers how many were when it began.
fn copy_while_cancelled(directory: &Path, file: &Path, done: &AtomicI64) -> i64 {
    let began = AtomicI64::new(0);
    back_up(directory, file, &|copied, all| {
        assert!(copied <= all);
        if began.load(Ordering::SeqCst) == 0 {
            assert!(copied < all, "it is too small to be copied in steps");
            began.store(done.load(Ordering::SeqCst), Ordering::SeqCst);
            while done.load(Ordering::SeqCst) < began.load(Ordering::SeqCst) + 20 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    })
    .unwrap();
    began.into_inner()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_taken_while_cancels_go_on_restores_one_moment() {
    let world = World::new();
    let key = world.enterprise_key(1_000_000, 1_000_000);
    world.pending(1..=ORDERS);
    let server = world.serve().await;
    let done = Arc::new(AtomicI64::new(0));
    let place = Place::new();
    let file = place.path("backup.sqlite");

    // One client cancels orders in ascending order of id until the backup is
    // written; the backup waits within itself until more have been cancelled.
    let client = server.client(&key);
    let mut copying = None;
    for id in 1.. {
        client.cancel_order(id).await.unwrap();
        done.store(id, Ordering::SeqCst);
        if id == 10 {
            let (directory, file) = (server.world.directory.path().to_path_buf(), file.clone());
            let done = Arc::clone(&done);
            let copy = move || copy_while_cancelled(&directory, &file, &done);
            copying = Some(tokio::task::spawn_blocking(copy));
        }
        if copying.as_ref().is_some_and(tokio::task::JoinHandle::is_finished) {
            break;
        }
    }
    let began = copying.unwrap().await.unwrap();

    let found = restore(&file, &place.path("restored"), &|_, _| ()).unwrap();
    let orders = found.orders;
    assert_eq!(orders.pending + orders.shipped + orders.cancelled, ORDERS);
    assert!(done.load(Ordering::SeqCst) >= began + 20);
    // One more may have been under way.
    assert!((10..=began + 1).contains(&orders.cancelled), "{orders:?}, began at {began}");
    // Sequential, so the copy has a beginning of them without a gap, each with
    // the version of its own transaction after the import's.
    let ids = cancelled(&place.path("restored/store.sqlite"));
    assert_eq!(ids, (1..=orders.cancelled).collect::<Vec<_>>());
    assert_eq!(found.orders_version, orders.cancelled + 1);
    assert_eq!(check(&place.path("restored")).unwrap(), found);
    let store = SqliteStore::open(&place.path("restored")).unwrap();
    assert_eq!(store.key_records().unwrap().len(), 1);
}

/// A store with one order, and a backup of it.
fn backed_up() -> Place {
    let place = Place::new();
    place.write("orders.csv", "id,petId,quantity\n7,1,1\n");
    place.run(&["orders", "import", "orders.csv"]).done();
    place.run(&["backup", "backup.sqlite"]).done();
    place
}

#[test]
fn a_backup_is_one_file_of_its_owner_and_overwrites_nothing() {
    let place = backed_up();
    let names = ["backup.sqlite", "orders.csv", "store-orders-data"];
    assert_eq!(place.names("."), names);
    let mode = place.path("backup.sqlite").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    place.write("taken", "something else");
    let error = place.run(&["backup", "taken"]).error();
    assert_eq!(error, "taken is there already and is not overwritten");
    assert_eq!(std::fs::read_to_string(place.path("taken")).unwrap(), "something else");
    let error = place.run(&["backup", "nowhere/backup.sqlite"]).error();
    assert!(error.starts_with("cannot write nowhere/backup.sqlite: No such file"), "{error}");
    let error = place.run(&["backup", "new", "--data-dir", "none"]).error();
    assert_eq!(error, "there is no store at none/store.sqlite");
    assert!(!place.path("none").exists());
}

#[test]
fn what_was_backed_up_comes_back() {
    let place = backed_up();
    let said = place.run(&["restore", "backup.sqlite", "--data-dir", "new"]).done();
    assert!(said.starts_with("restored new\norders    1 pending"), "{said}");
    let orders = place.run(&["orders", "list", "--json", "--data-dir", "new"]).json();
    assert_eq!(orders[0]["id"], 7);
}

#[test]
fn a_restore_replaces_no_store() {
    let place = backed_up();
    let store = place.path("store-orders-data/store.sqlite");
    place.write("orders.csv", "id,petId,quantity\n8,1,1\n");
    place.run(&["orders", "import", "orders.csv"]).done();
    let error = place.run(&["restore", "backup.sqlite"]).error();
    assert!(error.ends_with("store.sqlite is there already and is not overwritten"), "{error}");
    assert_eq!(place.run(&["orders", "list", "--json"]).json().as_array().unwrap().len(), 2);

    // What a store has left there would become part of the restored one.
    std::fs::rename(&store, place.path("away.sqlite")).unwrap();
    place.write("store-orders-data/store.sqlite-wal", "left behind");
    let error = place.run(&["restore", "backup.sqlite"]).error();
    assert!(error.contains("store.sqlite-wal is there already"), "{error}");
    assert!(!store.exists());
}

#[test]
fn nothing_is_restored_beside_a_server() {
    let place = backed_up();
    let _server = place.serve(&["--listen", "127.0.0.1:0"]);
    let error = place.run(&["restore", "backup.sqlite"]).error();
    assert!(error.starts_with("a server (pid "), "{error}");
}

#[test]
fn what_is_no_sound_store_is_not_restored() {
    let place = backed_up();
    let error = place.run(&["restore", "orders.csv", "--data-dir", "new"]).error();
    assert_eq!(error, "orders.csv is not a store of Store Orders");
    Connection::open(place.path("other.sqlite"))
        .unwrap()
        .execute("CREATE TABLE a (b)", [])
        .unwrap();
    let error = place.run(&["restore", "other.sqlite", "--data-dir", "new"]).error();
    assert_eq!(error, "other.sqlite is not a store of Store Orders");
    assert!(!place.path("new").exists());

    damage(&place.path("backup.sqlite"), 3);
    let said = place.run(&["restore", "backup.sqlite", "--data-dir", "new"]);
    assert_eq!(said.status, 1, "{}", said.out);
    assert_eq!(place.names("new"), ["server.lock"]);
}
