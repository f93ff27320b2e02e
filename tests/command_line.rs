//! The operator's commands: the real program, each test in a directory of its
//! own.

mod accounts_and_keys;
mod imports;
mod orders;
mod refusals;

use crate::harness::place::Place;
use serde_json::Value;
use store_orders::store::sqlite::SqliteStore;

impl Place {
    /// The store, as the server opens it.
    fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.path("store-orders-data")).unwrap()
    }

    /// Imports orders of these ids, all pending.
    fn has_orders(&self, ids: impl IntoIterator<Item = i64>) {
        let rows: String = ids.into_iter().map(|id| format!("{id},1,1\n")).collect();
        let csv = format!("id,petId,quantity\n{rows}");
        self.run_with_input(&["orders", "import", "-"], csv.as_bytes()).done();
    }

    fn listed(&self, arguments: &[&str]) -> Vec<Value> {
        let all = [arguments, &["list", "--json"]].concat();
        serde_json::from_value(self.run(&all).json()).unwrap()
    }

    fn order_ids(&self) -> Vec<i64> {
        self.listed(&["orders"]).iter().map(|order| order["id"].as_i64().unwrap()).collect()
    }
}
