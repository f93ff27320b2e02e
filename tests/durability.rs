//! Durability: acknowledged cancellations survive `kill -9`, power cuts and disk faults, and a
//! large import is listed completely.

use crate::server::admin::ask;
use crate::server::client;
use history::event::{FaultBegun, What};
use history::workload::Load;
use history::{Clients, IdSet, Journal};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store_orders::store::OrderCommands;
use store_orders::store::sqlite::{SqliteStore, back_up, restore};
use store_orders_client::Client;
use test_server::error_of;
use test_server::wire_check::WireCheckProxy;
use testbed::relay::Relay;
use testbed::{DataDir, Key, Report, ServerProcess, Signal, wait_until};

/// The server can detect a failed disk only because it syncs each cancellation before it responds.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn no_cancellation_is_answered_204_while_syncs_fail() {
    let (data, disk) = (DataDir::temporary().unwrap(), testbed::Preload::disk().unwrap());
    let key = data.issue_key("acme", "business").unwrap();
    data.import_pending(1..=2).unwrap();
    let server = data.start(disk.put_into(&mut data.command()), &[]).unwrap();
    let (_proxy, client) = client(&server, &key);
    // The first commit to a new WAL file makes an extra sync. Make this commit before the fault, so
    // that the fault affects only the sync that every commit makes.
    assert_eq!(client.cancel_order(1).await.unwrap().status(), 204);
    disk.set(-1).unwrap();
    assert_eq!(error_of(client.cancel_order(2).await).0, 503);
    disk.set(0).unwrap();
    assert_eq!(client.cancel_order(2).await.unwrap().status(), 204);
}

/// A hanging write returns no error, so the server can notice it only by how long it takes.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_disk_is_logged_when_counts_are_saved() {
    let (data, disk) = (DataDir::temporary().unwrap(), testbed::Preload::disk().unwrap());
    let key = data.issue_key("acme", "business").unwrap();
    let server = data.start(disk.put_into(&mut data.command()), &[]).unwrap();
    let (_proxy, client) = client(&server, &key);
    disk.set(-3).unwrap();
    client.list_orders().await.unwrap();
    let lines = |level: &str, msg: &str| {
        let log = server.log();
        let line = format!(r#""level":"{level}","msg":"{msg}""#);
        log.matches(&line).count()
    };
    let begun = || lines("WARN", "counts file write hangs");
    wait_until("the hang is logged", || async { begun() > 0 }).await;
    disk.set(0).unwrap();
    let ended = || lines("INFO", "counts file write ended");
    wait_until("the end is logged", || async { ended() > 0 }).await;
    assert_eq!((begun(), ended()), (1, 1), "{}", server.log());
    server.stop().unwrap();
}

/// A power cut loses unsynced data. `kill -9` does not, because the data stays in the page cache.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_power_cut_right_after_a_204_keeps_the_cancellation() {
    let (after, disk) = (tempfile::tempdir().unwrap(), testbed::Preload::disk().unwrap());
    let data = DataDir::temporary().unwrap().keep_synced(&disk, after.path());
    let key = data.issue_key("acme", "business").unwrap();
    data.import_pending(1..=320).unwrap();
    let server = data.serve(&[]).unwrap();
    let (_proxy, client) = client(&server, &key);
    // The write-ahead log starts over after 250 commits, so it starts over during these 310
    // cancellations.
    for id in 1..=310 {
        assert_eq!(client.cancel_order(id).await.unwrap().status(), 204);
    }
    server.kill().unwrap();
    let data = DataDir::at(&testbed::Program::built().unwrap(), after.path());
    let server = data.serve(&[]).unwrap();
    let (_proxy, client) = crate::server::client(&server, &key);
    let listed = client.list_orders().await.unwrap();
    let ids: Vec<i64> = listed.iter().map(|order| *order.id).collect();
    assert_eq!(ids, (311..=320).collect::<Vec<i64>>());
}

/// The `String` is the address of the admin listener.
async fn serve_with_one_cancelled()
-> (DataDir, Key, ServerProcess, (WireCheckProxy, Client), String) {
    let data = DataDir::temporary().unwrap();
    let key = data.issue_key("acme", "business").unwrap();
    data.import_pending(1..=30).unwrap();
    let server = data.serve(&["--admin-listen", "127.0.0.1:0"]).unwrap();
    let client = client(&server, &key);
    let admin = server.printed_after("admin listener on ").unwrap().to_string();
    assert_eq!(client.1.cancel_order(1).await.unwrap().status(), 204);
    (data, key, server, client, admin)
}

/// Asserts that the server acknowledges no cancellation while one of its files is missing. The
/// server must log the cause in one line.
async fn assert_refuses_without_file(
    server: &ServerProcess,
    client: &Client,
    admin: &str,
    file: &Path,
) {
    for id in 2..=21 {
        assert_eq!(error_of(client.cancel_order(id).await).0, 503, "{}", file.display());
    }
    // A read may rely on a file check from the last 50 ms, so wait until a check finds the loss.
    wait_until("the loss is noticed", || async { ask(admin, "/readyz").await.0 == 503 }).await;
    let (status, body) = ask(admin, "/readyz").await;
    let why = format!("{} was removed or moved", file.display());
    assert!(status == 503 && body.contains("store_refuses") && body.contains(&why), "{body}");
    assert_eq!(error_of(client.list_orders().await).0, 503, "{}", file.display());
    let lines = || {
        let log = server.log();
        let lines = log.lines().filter(|line| line.contains(r#""checking keys against"#));
        lines.map(ToString::to_string).collect::<Vec<_>>()
    };
    wait_until("the error is logged", || async { !lines().is_empty() }).await;
    let [line] = &lines()[..] else { panic!("{}", server.log()) };
    assert!(line.contains(r#""level":"ERROR""#) && line.contains(&why), "{line}");
}

/// SQLite writes to a deleted file without an error. If the server acknowledged a cancellation that
/// was written to a deleted file, the cancellation could be missing after the next start.
#[tokio::test(flavor = "multi_thread")]
async fn without_its_files_a_server_acknowledges_nothing() {
    for lost in ["store.sqlite", "store.sqlite-wal"] {
        let (data, key, server, (_proxy, client), admin) = serve_with_one_cancelled().await;
        let file = data.path().join(lost);
        std::fs::remove_file(&file).unwrap();
        assert_refuses_without_file(&server, &client, &admin, &file).await;
        server.stop().unwrap();
        if lost == "store.sqlite-wal" {
            // During the stop, the server copied the deleted WAL into the store's file, so order 1
            // stays cancelled.
            let server = data.serve(&[]).unwrap();
            let client = crate::server::unchecked_client(&server, &key);
            let listed = client.list_orders().await.unwrap();
            assert!(listed.iter().all(|order| *order.id != 1), "a cancellation is lost");
        }
    }
}

/// SQLite's locks are in the file `store.sqlite-shm`. If this file is removed, the next command
/// creates a new file with separate locks. The server and the command could then write at the same
/// time, so the server must stop writing.
#[tokio::test(flavor = "multi_thread")]
async fn after_the_logs_index_was_removed_only_one_process_writes() {
    for signal in [Signal::KILL, Signal::TERM] {
        let (data, key, server, (_proxy, client), admin) = serve_with_one_cancelled().await;
        let command_before = SqliteStore::open_for_command(data.path()).unwrap();
        let index = data.path().join("store.sqlite-shm");
        std::fs::remove_file(&index).unwrap();
        let other = data.issue_key("other", "business").unwrap();
        data.run(&["keys", "revoke", &other.id]).unwrap();
        data.run(&["orders", "ship", "2"]).unwrap();
        assert_refuses_without_file(&server, &client, &admin, &index).await;
        let error = command_before.ship_orders(&[3]).unwrap_err().to_string();
        assert!(error.contains("store.sqlite-shm was removed or moved"), "{error}");
        data.import_pending(31..=40).unwrap();
        server.signal(signal).unwrap();
        server.wait().unwrap();
        drop(command_before);

        data.run(&["check"]).unwrap();
        let server = data.serve(&[]).unwrap();
        let (_proxy, client) = crate::server::client(&server, &key);
        let listed = client.list_orders().await.unwrap();
        let ids: Vec<i64> = listed.iter().map(|order| *order.id).collect();
        assert_eq!(ids, (2..=40).collect::<Vec<i64>>(), "{signal:?}");
        assert_eq!(error_of(client.cancel_order(2).await).0, 409);
        client.cancel_order(3).await.unwrap();
        let (_proxy, revoked) = crate::server::client(&server, &other);
        assert_eq!(error_of(revoked.list_orders().await).0, 401);
        server.stop().unwrap();
    }
}

/// Copying over the store keeps its inode, as `cp` does, so SQLite does not notice.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_overwritten_under_a_server_is_not_served() {
    let (data, _, server, (_proxy, client), admin) = serve_with_one_cancelled().await;
    let (store, backup) = (data.path().join("store.sqlite"), data.path().with_extension("backup"));
    back_up(data.path(), &backup, &|_, _| (), &|| false).unwrap();
    std::fs::copy(&backup, &store).unwrap();
    for id in 2..=21 {
        assert_eq!(error_of(client.cancel_order(id).await).0, 503);
    }
    let (status, body) = ask(&admin, "/readyz").await;
    let why = format!("{} was overwritten while it was in use", store.display());
    assert!(status == 503 && body.contains(&why), "{body}");
    server.kill().unwrap();
    // The write-ahead log belongs to the store's former content, so nothing may open the store with
    // this log.
    for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &["orders", "list"]] {
        let output = data.command().args(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(&why), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_restored_in_place_of_a_served_directory_is_detected() {
    let (data, _, server, (_proxy, client), admin) = serve_with_one_cancelled().await;
    let name = |extension| data.path().with_extension(extension);
    back_up(data.path(), &name("backup"), &|_, _| (), &|| false).unwrap();
    std::fs::rename(data.path(), name("moved")).unwrap();
    restore(&name("backup"), data.path(), &|_, _| ()).unwrap();
    assert_refuses_without_file(&server, &client, &admin, &data.path().join("store.sqlite")).await;
    std::fs::rename(data.path(), name("restored")).unwrap();
    std::fs::rename(name("moved"), data.path()).unwrap();
    // On a busy machine, the server may read keys late and respond with 503, so repeat the
    // cancellation.
    wait_until("cancellations succeed again", || async { client.cancel_order(30).await.is_ok() })
        .await;
    wait_until("the server is ready", || async { ask(&admin, "/readyz").await.0 == 200 }).await;
    let listed = client.list_orders().await.unwrap();
    assert!(listed.iter().all(|order| ![1, 30].contains(&*order.id)), "{listed:?}");
    server.stop().unwrap();
}

/// The test kills the server three times. Meanwhile, clients list and cancel orders, and an
/// operator runs commands.
#[tokio::test(flavor = "multi_thread")]
async fn what_clients_saw_across_kills_breaks_no_rule() {
    const ORDERS: usize = 800;
    const LIVES: usize = 4;
    let data = Arc::new(DataDir::temporary().unwrap());
    data.import_pending(1..=ORDERS as i64).unwrap();
    let key = data.issue_enterprise_key("acme", u32::MAX, u32::MAX).unwrap();
    let shipped: IdSet = (1..=ORDERS).step_by(20).collect();
    let ids: Vec<String> = shipped.iter().map(|id| id.to_string()).collect();
    data.run(
        &["orders", "ship"].into_iter().chain(ids.iter().map(String::as_str)).collect::<Vec<_>>(),
    )
    .unwrap();
    // Clients connect through the relay. Port 1 is only a placeholder, because `serve` sets the
    // port of each new server.
    let relay = Relay::to(1).unwrap();
    let serve = || {
        let server = data.serve(&[]).unwrap();
        relay.retarget(server.address().unwrap().port());
        server
    };
    let mut server = serve();

    let base = format!("http://{}/v1", relay.address());
    let mut clients = Clients::new(vec![base.clone()], &key, ORDERS);
    clients.load = Load { writers: 12, listers: 3, walkers: 2 };
    clients.beginning.pending = (1..=ORDERS).filter(|id| !shipped.contains(*id)).collect();
    clients.beginning.shipped = shipped;
    clients.beginning.may_be_unavailable = false;
    let traffic = clients.start(Journal::new(None)).unwrap();
    let (pool, journal) = (&traffic.workload.pool, &traffic.workload.journal);
    // The commands open and close the store to test that the server keeps its file locks. Without
    // these locks, a command would checkpoint and delete the WAL that the server writes to.
    let is_done = Arc::new(AtomicBool::new(false));
    let operator = tokio::task::spawn_blocking({
        let (data, is_done) = (Arc::clone(&data), Arc::clone(&is_done));
        move || {
            while !is_done.load(Ordering::Relaxed) {
                data.run(&["orders", "show", "1"]).unwrap();
            }
        }
    });
    for life in 1..=LIVES {
        let remaining = ORDERS - ORDERS * life / LIVES;
        wait_until("the orders are cancelled", || async { pool.remaining() <= remaining }).await;
        if life < LIVES {
            let (name, servers) = ("kill -9".to_string(), vec![base.clone()]);
            journal.note(What::Fault(FaultBegun { name, servers, ..FaultBegun::default() }));
            server.kill().unwrap();
            server = serve();
            journal.note(What::Undone);
        }
    }
    is_done.store(true, Ordering::Relaxed);
    operator.await.unwrap();
    let journal = traffic.stop().await.unwrap();
    server.stop().unwrap();
    journal.end(&data).unwrap();
    let mut report = Report::default();
    journal.report_violations(&mut report);
    assert_eq!(report.violations(), <[&str; 0]>::default());
    let figures = journal.figures();
    let (lists, cancels, cancelled) =
        (figures.count_kind("lists"), figures.count_kind("cancels"), figures.acknowledged.len());
    println!("{lists} lists, {cancels} cancels, {cancelled} cancelled");
    assert!(lists > 10 && cancels > 50 && cancelled > 20, "{lists}, {cancels}, {cancelled}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_of_100_000_orders_is_listed_completely() {
    let data = DataDir::temporary().unwrap();
    let key = data.issue_key("acme", "free").unwrap();
    let server = data.serve(&[]).unwrap();
    let client = crate::server::unchecked_client(&server, &key);
    let mut file = "id,petId,quantity,shipDate,complete,status\n".to_string();
    for id in (1..=100_000_i64).rev() {
        let ship_date = if id % 3 == 0 { "2026-12-24T10:30:00+01:00" } else { "" };
        writeln!(file, "{id},{},{},{ship_date},{},pending", id * 7, 1 + id % 9, id % 2 == 0)
            .unwrap();
    }
    let path = data.path().join("orders.csv");
    std::fs::write(&path, file).unwrap();
    data.run(&["orders", "import", path.to_str().unwrap()]).unwrap();

    let orders = client.list_orders().await.unwrap().into_inner();
    assert_eq!(orders.len(), 100_000);
    for (id, order) in (1..).zip(&orders) {
        assert_eq!((*order.id, *order.pet_id, order.quantity), (id, id * 7, 1 + id % 9));
        assert_eq!(order.complete, id % 2 == 0);
        let ship_date = order.ship_date.map(|date| date.to_rfc3339());
        assert_eq!(ship_date.as_deref(), (id % 3 == 0).then_some("2026-12-24T09:30:00+00:00"));
    }
}
