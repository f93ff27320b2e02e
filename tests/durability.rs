//! What was acknowledged stays, whatever becomes of the program; and a real file
//! of orders comes back complete.

use crate::harness::program::{Program, QUIETLY};
use crate::harness::{Key, refused};
use std::fmt::Write;
use std::process::Command;
use store_orders::store::sqlite::SqliteStore;
use store_orders_api::plans::Plan;
use store_orders_client::Client;

fn client(program: &Program, key: &Key) -> Client {
    Client::builder(program.base(), &key.text).without_retries().build().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_right_after_a_204_keeps_the_cancellation() {
    let directory = tempfile::tempdir().unwrap();
    let key = Key::of_a_new_account(directory.path(), Plan::Business);
    let orders: Vec<_> = (1..=60).map(crate::harness::pending_order).collect();
    SqliteStore::open(directory.path()).unwrap().import_orders(&orders, false, &|| ()).unwrap();
    let mut acknowledged = Vec::new();
    for round in 0..3_i64 {
        let program = Program::serve(directory.path(), &QUIETLY);
        // Several at once, and the kill comes while the others are under way.
        let client = client(&program, &key);
        let cancels = (1..=10).map(|n| {
            let client = client.clone();
            tokio::spawn(async move { (round * 20 + n, client.cancel_order(round * 20 + n).await) })
        });
        let cancels: Vec<_> = cancels.collect();
        let mut program = Some(program);
        for cancel in cancels {
            if let (id, Ok(answer)) = cancel.await.unwrap() {
                assert_eq!(answer.status(), 204);
                acknowledged.push(id);
                program.take().into_iter().for_each(Program::kill);
            }
        }
    }
    assert!(acknowledged.len() >= 3, "{acknowledged:?}");
    let program = Program::serve(directory.path(), &QUIETLY);
    let client = client(&program, &key);
    let listed = client.list_orders().await.unwrap();
    for id in acknowledged {
        assert!(listed.iter().all(|order| order.id != id), "order {id} is back");
        assert_eq!(refused(client.cancel_order(id).await).0, 404, "order {id}");
    }
    program.terminate().await;
}

#[tokio::test]
async fn a_real_file_of_100_000_orders_comes_back_complete() {
    let directory = tempfile::tempdir().unwrap();
    let key = Key::of_a_new_account(directory.path(), Plan::Free);
    let program = Program::serve(directory.path(), &QUIETLY);
    let mut file = "id,petId,quantity,shipDate,complete,status\n".to_string();
    for id in (1..=100_000_i64).rev() {
        let date = if id % 3 == 0 { "2026-12-24T10:30:00+01:00" } else { "" };
        writeln!(file, "{id},{},{},{date},{},pending", id * 7, 1 + id % 9, id % 2 == 0).unwrap();
    }
    let path = directory.path().join("orders.csv");
    std::fs::write(&path, file).unwrap();
    let import = Command::new(env!("CARGO_BIN_EXE_store-orders"))
        .args(["orders", "import", "--data-dir"])
        .args([directory.path(), &path])
        .output()
        .unwrap();
    assert!(import.status.success(), "{}", String::from_utf8_lossy(&import.stderr));

    let orders = client(&program, &key).list_orders().await.unwrap().into_inner();
    assert_eq!(orders.len(), 100_000);
    for (id, order) in (1..).zip(&orders) {
        assert_eq!((order.id, order.pet_id, order.quantity), (id, id * 7, 1 + id % 9));
        assert_eq!(order.complete, id % 2 == 0);
        let date = order.ship_date.map(|date| date.to_rfc3339());
        assert_eq!(date.as_deref(), (id % 3 == 0).then_some("2026-12-24T09:30:00+00:00"));
    }
    program.terminate().await;
}
