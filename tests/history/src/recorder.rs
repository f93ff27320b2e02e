//! Records a history: clients that list and clients that cancel the same orders at once, alongside
//! an operator's commands, while the server is killed and restarted on the same data directory.

use crate::event::{Beginning, FaultBegun, Request, What};
use crate::workload::{Load, Pool, Workload};
use crate::{IdSet, Journal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testbed::{DataDir, Key, ServerProcess};
use tokio::runtime::Runtime;

/// One order of this many has shipped.
const SHIPPED_STEP: usize = 20;

/// One order of this many of earlier lives is cancelled again after a restart.
const LOOK_BACK_STEP: usize = 10;

/// A life of the server ends after this, however little it has done.
const LIFE_LIMIT: Duration = Duration::from_secs(10);

/// The name of the server in the recording.
const SERVER: &str = "server";

/// How much is recorded.
#[derive(Clone, Copy, Debug)]
pub struct Lives {
    /// How many orders there are.
    pub orders: i64,
    /// How often the server is started; each time but the last it is killed. Each
    /// of its lives cancels its part of the orders.
    pub lives: usize,
    /// The clients of each.
    pub load: Load,
}

/// Records what clients see, and checks it.
pub struct HistoryRecorder<'a> {
    data: &'a DataDir,
    serve: &'a dyn Fn() -> anyhow::Result<ServerProcess>,
    key: Key,
    lives: Lives,
    journal: Arc<Journal>,
}

impl HistoryRecorder<'_> {
    /// Records a history on a data directory that has the orders `1..=orders`, all
    /// pending, with a key that no limit holds up. `serve` starts a server on it.
    pub fn record(
        data: &DataDir,
        serve: &dyn Fn() -> anyhow::Result<ServerProcess>,
        key: &Key,
        lives: Lives,
    ) -> anyhow::Result<Arc<Journal>> {
        let all = 1..=usize::try_from(lives.orders)?;
        let shipped: IdSet = all.clone().step_by(SHIPPED_STEP).collect();
        let ids: Vec<String> = shipped.iter().map(|id| id.to_string()).collect();
        let ship = ["orders", "ship"].into_iter().chain(ids.iter().map(String::as_str));
        data.run(&ship.collect::<Vec<_>>())?;
        let journal = Arc::new(Journal::new(None));
        let _canary = journal.watch_machine()?;
        let pending = all.filter(|id| !shipped.contains(*id)).collect();
        journal.note(What::Begins(Beginning { pending, shipped, ..Beginning::default() }));
        let (id, account) = (key.id.clone(), "clients".to_string());
        journal.note(What::Key { key: id, account, per_minute: u32::MAX, per_day: None });
        let recorder = HistoryRecorder { data, serve, key: key.clone(), lives, journal };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        for life in 0..lives.lives {
            recorder.live(&runtime, life)?;
        }
        let server = serve()?;
        runtime.block_on(recorder.look_back(&*recorder.workload(&server, lives.lives)?));
        server.stop()?;
        recorder.journal.note(What::Ends(recorder.journal.orders.table(data)?));
        Ok(recorder.journal)
    }

    /// One life of the server, with all clients and an operator.
    fn live(&self, runtime: &Runtime, life: usize) -> anyhow::Result<()> {
        let server = (self.serve)()?;
        if life > 0 {
            self.journal.note(What::Undone);
        }
        let (workload, data) = (self.workload(&server, life)?, self.data);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let operator = scope.spawn(|| operate(data, &is_over));
            let driven = runtime.block_on(self.drive(&workload, server, life));
            is_over.store(true, Ordering::Relaxed);
            operator.join().map_err(|_| anyhow::anyhow!("the operator panicked"))??;
            driven
        })
    }

    /// Lists and cancels until this life's orders are through or, in every life
    /// but the last, until the server is killed in the middle.
    async fn drive(
        &self,
        workload: &Arc<Workload>,
        server: ServerProcess,
        life: usize,
    ) -> anyhow::Result<()> {
        self.look_back(workload).await;
        let (clients, orders) = (workload.start(self.lives.load), workload.pool.left());
        let is_last = life + 1 == self.lives.lives;
        // Earlier in one life and later in the next.
        let kept = if is_last { 0 } else { orders - orders * (life + 1) / (self.lives.lives + 1) };
        let began = Instant::now();
        while workload.pool.left() > kept && began.elapsed() < LIFE_LIMIT {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        if is_last {
            workload.pool.end();
            clients.join_all().await;
            return server.stop();
        }
        let (name, servers) = ("kill -9".to_string(), vec![SERVER.to_string()]);
        self.journal.note(What::Fault(FaultBegun { name, servers, ..FaultBegun::default() }));
        server.kill()?;
        workload.pool.end();
        clients.join_all().await;
        Ok(())
    }

    /// What is left after a restart: one list, and a second cancel of some of the
    /// orders of earlier lives.
    async fn look_back(&self, workload: &Workload) {
        workload.send("looks-back", 0, &self.key, Request::List).await;
        for id in (1..workload.pool.ahead(0)).step_by(LOOK_BACK_STEP) {
            workload.send("looks-back", 0, &self.key, Request::Cancel(id)).await;
        }
    }

    /// The clients of a life of the server.
    fn workload(&self, server: &ServerProcess, life: usize) -> anyhow::Result<Arc<Workload>> {
        let orders = usize::try_from(self.lives.orders)? / self.lives.lives;
        let pool = Pool::new(1 + life * orders..=(life + 1) * orders);
        pool.set_rests(0);
        let servers = vec![(SERVER.to_string(), server.base_url().to_string())];
        let (journal, key) = (Arc::clone(&self.journal), self.key.clone());
        Ok(Arc::new(Workload::new(journal, servers, key, Vec::new(), pool, life as u64)?))
    }
}

/// An operator's commands open and close the store alongside the server: if it
/// has lost its locks on it, they checkpoint and delete the log that it writes to.
fn operate(data: &DataDir, is_over: &AtomicBool) -> anyhow::Result<()> {
    while !is_over.load(Ordering::Relaxed) {
        data.run(&["orders", "show", "1"])?;
    }
    Ok(())
}
