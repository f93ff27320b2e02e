//! Records a history: clients that list and clients that cancel the same orders
//! at once, alongside an operator's commands, while the server is killed and
//! restarted on the same data directory.

use crate::clients::{Clients, KEY, SERVER, client};
use crate::event::{Beginning, FaultBegun, What};
use crate::{IdSet, Journal};
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

/// Records what clients see, and checks it.
pub struct HistoryRecorder<'a> {
    data: &'a DataDir,
    serve: &'a dyn Fn() -> anyhow::Result<ServerProcess>,
    key: Key,
    workload: Workload,
    journal: Arc<Journal>,
}

impl HistoryRecorder<'_> {
    /// Records a history on a data directory that has the orders `1..=orders`, all
    /// pending, with a key that no limit holds up. `serve` starts a server on it.
    pub fn record(
        data: &DataDir,
        serve: &dyn Fn() -> anyhow::Result<ServerProcess>,
        key: &Key,
        workload: Workload,
    ) -> anyhow::Result<Arc<Journal>> {
        let all = 1..=usize::try_from(workload.orders)?;
        let shipped: IdSet = all.clone().step_by(SHIPPED_STEP).collect();
        let ids: Vec<String> = shipped.iter().map(|id| id.to_string()).collect();
        let ship = ["orders", "ship"].into_iter().chain(ids.iter().map(String::as_str));
        data.run(&ship.collect::<Vec<_>>())?;
        let journal = Arc::new(Journal::new(None));
        let _canary = journal.watch_machine()?;
        let pending = all.filter(|id| !shipped.contains(*id)).collect();
        journal.note(What::Begins(Beginning { pending, shipped, ..Beginning::default() }));
        let (name, account) = (KEY.to_string(), KEY.to_string());
        journal.note(What::Key { key: name, account, per_minute: u32::MAX, per_day: None });
        let recorder = HistoryRecorder { data, serve, key: key.clone(), workload, journal };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        for life in 0..workload.lives {
            recorder.live(&runtime, life)?;
        }
        let server = serve()?;
        let clients = recorder.clients(&server, workload.lives)?;
        runtime.block_on(clients.look_back());
        server.stop()?;
        recorder.journal.note(What::Ends(recorder.journal.orders.table(data)?));
        Ok(recorder.journal)
    }

    /// One life of the server, with all clients and an operator.
    fn live(&self, runtime: &Runtime, life: i64) -> anyhow::Result<()> {
        let server = (self.serve)()?;
        if life > 0 {
            self.journal.note(What::Undone);
        }
        let clients = Arc::new(self.clients(&server, life)?);
        let data = self.data;
        std::thread::scope(|scope| {
            let operator = scope.spawn(|| operate(data, &clients.over));
            let driven = runtime.block_on(self.drive(&clients, server, life));
            clients.over.store(true, Ordering::Relaxed);
            operator.join().map_err(|_| anyhow::anyhow!("the operator panicked"))??;
            driven
        })
    }

    /// Lists and cancels until this life's orders are through or, in every life
    /// but the last, until the server is killed in the middle.
    async fn drive(
        &self,
        clients: &Arc<Clients>,
        server: ServerProcess,
        life: i64,
    ) -> anyhow::Result<()> {
        clients.look_back().await;
        let mut listers = JoinSet::new();
        for lister in 0..self.workload.listers {
            listers.spawn(Arc::clone(clients).list_until_over(lister));
        }
        let mut cancellers = JoinSet::new();
        for canceller in 0..self.workload.cancellers {
            cancellers.spawn(Arc::clone(clients).cancel_in_turn(canceller));
        }
        let lives = self.workload.lives;
        if life + 1 == lives {
            cancellers.join_all().await;
            clients.over.store(true, Ordering::Relaxed);
            listers.join_all().await;
            server.stop()?;
        } else {
            // Earlier in one life and later in the next.
            clients.reach(clients.attempts * (life + 1) / (lives + 1)).await;
            let (name, servers) = ("kill -9".to_string(), vec![SERVER.to_string()]);
            let fault = FaultBegun { name, servers, ..FaultBegun::default() };
            self.journal.note(What::Fault(fault));
            server.kill()?;
            cancellers.join_all().await;
            listers.join_all().await;
        }
        Ok(())
    }

    /// The clients of a life of the server.
    fn clients(&self, server: &ServerProcess, life: i64) -> anyhow::Result<Clients> {
        let orders = self.workload.orders / self.workload.lives;
        Ok(Clients {
            plain: client(false)?,
            gzip: client(true)?,
            orders_url: format!("{}/store/orders", server.base_url()),
            key: self.key.text.clone(),
            journal: Arc::clone(&self.journal),
            first: 1 + life * orders,
            // Two cancels for each order, on average.
            attempts: 2 * orders,
            attempt: AtomicI64::new(0),
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
