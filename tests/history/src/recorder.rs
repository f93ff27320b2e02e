//! Records a history: clients that list and clients that cancel the same orders
//! at once, alongside an operator's commands, while the server is killed and
//! restarted on the same data directory.

use crate::clients::{Clients, Seen, client};
use crate::{FinalTable, History, IdSet};
use serde::Deserialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};
use testbed::{DataDir, Key, ServerProcess};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// One order of this many has shipped.
const SHIPPED_STEP: usize = 20;

/// A life of the server ends after this, however little it has done.
const LIFE_LIMIT: Duration = Duration::from_secs(10);

/// How much is recorded.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// How many orders there are.
    pub orders: i64,
    /// How often the server is started; each time but the last it is killed. Each
    /// of its lives cancels its part of the orders.
    pub lives: i64,
    /// Clients that list.
    pub listers: i64,
    /// Clients that cancel.
    pub cancellers: i64,
}

/// Records what clients see.
pub struct HistoryRecorder<'a> {
    data: &'a DataDir,
    serve: &'a dyn Fn() -> anyhow::Result<ServerProcess>,
    key: Key,
    workload: Workload,
    clock: Instant,
}

impl HistoryRecorder<'_> {
    /// Records a history on a data directory that has the orders `1..=orders`, all
    /// pending, with a key that no limit holds up. `serve` starts a server on it.
    pub fn record(
        data: &DataDir,
        serve: &dyn Fn() -> anyhow::Result<ServerProcess>,
        key: &Key,
        workload: Workload,
    ) -> anyhow::Result<History> {
        let all = 1..=usize::try_from(workload.orders)?;
        let shipped: Vec<usize> = all.clone().step_by(SHIPPED_STEP).collect();
        let ids: Vec<String> = shipped.iter().map(ToString::to_string).collect();
        let ship = ["orders", "ship"].into_iter().chain(ids.iter().map(String::as_str));
        data.run(&ship.collect::<Vec<_>>())?;
        let mut history = History {
            orders: all.collect(),
            shipped: shipped.into_iter().collect(),
            ..History::default()
        };
        let (key, clock) = (key.clone(), Instant::now());
        let recorder = HistoryRecorder { data, serve, key, workload, clock };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        for life in 0..workload.lives {
            recorder.live(&runtime, life, &mut history)?;
        }
        let server = serve()?;
        let clients = recorder.clients(&server, workload.lives)?;
        history.add(runtime.block_on(clients.look_back()));
        server.stop()?;
        history.table = final_table(data)?;
        Ok(history)
    }

    /// One life of the server, with all clients and an operator.
    fn live(&self, runtime: &Runtime, life: i64, history: &mut History) -> anyhow::Result<()> {
        let server = (self.serve)()?;
        let clients = Arc::new(self.clients(&server, life)?);
        let data = self.data;
        std::thread::scope(|scope| {
            let operator = scope.spawn(|| operate(data, &clients.over));
            let seen = runtime.block_on(self.drive(&clients, server, life));
            clients.over.store(true, Ordering::Relaxed);
            operator.join().map_err(|_| anyhow::anyhow!("the operator panicked"))??;
            seen?.into_iter().for_each(|seen| history.add(seen));
            Ok(())
        })
    }

    /// Lists and cancels until this life's orders are through or, in every life
    /// but the last, until the server is killed in the middle.
    async fn drive(
        &self,
        clients: &Arc<Clients>,
        server: ServerProcess,
        life: i64,
    ) -> anyhow::Result<Vec<Seen>> {
        let mut all = vec![clients.look_back().await];
        let mut listers = JoinSet::new();
        for lister in 0..self.workload.listers {
            listers.spawn(Arc::clone(clients).list_until_over(lister % 2 == 0));
        }
        let mut cancellers = JoinSet::new();
        for canceller in 0..self.workload.cancellers {
            cancellers.spawn(Arc::clone(clients).cancel_in_turn(canceller as u64));
        }
        let lives = self.workload.lives;
        if life + 1 == lives {
            all.extend(cancellers.join_all().await);
            clients.over.store(true, Ordering::Relaxed);
            all.extend(listers.join_all().await);
            server.stop()?;
        } else {
            // Earlier in one life and later in the next.
            clients.reach(clients.attempts * (life + 1) / (lives + 1)).await;
            clients.killed.store(true, Ordering::SeqCst);
            server.kill()?;
            all.extend(cancellers.join_all().await);
            all.extend(listers.join_all().await);
        }
        Ok(all)
    }

    /// The clients of a life of the server.
    fn clients(&self, server: &ServerProcess, life: i64) -> anyhow::Result<Clients> {
        let orders = self.workload.orders / self.workload.lives;
        Ok(Clients {
            plain: client(false)?,
            gzip: client(true)?,
            orders_url: format!("{}/store/orders", server.base_url()),
            key: self.key.text.clone(),
            clock: self.clock,
            first: 1 + life * orders,
            // Two cancels for each order, on average.
            attempts: 2 * orders,
            attempt: AtomicI64::new(0),
            killed: AtomicBool::new(false),
            over: AtomicBool::new(false),
            deadline: Instant::now() + LIFE_LIMIT,
        })
    }
}

/// An operator's commands open and close the store alongside the server: if it
/// has lost its locks on it, they checkpoint and delete the log that it writes to.
fn operate(data: &DataDir, over: &AtomicBool) -> anyhow::Result<()> {
    while !over.load(Ordering::Relaxed) {
        data.run(&["orders", "show", "1"])?;
    }
    Ok(())
}

#[derive(Deserialize)]
struct TableRow {
    id: usize,
    status: String,
}

fn final_table(data: &DataDir) -> anyhow::Result<FinalTable> {
    let rows: Vec<TableRow> = serde_json::from_value(data.run_json(&["orders", "list"])?)?;
    let of = |status: &str| -> IdSet {
        rows.iter().filter(|row| row.status == status).map(|row| row.id).collect()
    };
    Ok(FinalTable { pending: of("pending"), shipped: of("shipped"), cancelled: of("cancelled") })
}
