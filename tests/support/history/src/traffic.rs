//! Starts and stops the clients, which send requests to every server during a test.

use crate::Journal;
use crate::event::{Beginning, What};
use crate::workload::{LIMITS, LOAD, Load, Pool, Workload};
use anyhow::Context;
use std::sync::Arc;
use testbed::{Key, StallDetector};
use tokio::task::JoinSet;

/// The account of [`Clients::key`] and [`Clients::called`]. It has no limit that clients can reach.
pub const ACCOUNT: &str = "clients";

/// The configuration of clients that have not started yet.
pub struct Clients {
    pub load: Load,
    /// The name of each server, and its base URL for clients.
    pub servers: Vec<(String, String)>,
    /// The state of the store at the start. The ids of its orders must begin at 1, because clients
    /// cancel the orders from 1 on.
    pub beginning: Beginning,
    /// The key of [`ACCOUNT`] with which clients list and cancel orders.
    pub key: Key,
    /// Keys of separate accounts. The limits of these accounts are [`LIMITS`], in the same order.
    pub limited: Vec<Key>,
    /// The keys of [`ACCOUNT`] with which clients only request a pet. The operator may revoke these
    /// keys.
    pub called: Vec<Key>,
    pub seed: u64,
}

pub struct Traffic {
    pub workload: Arc<Workload>,
    clients: JoinSet<()>,
    _stall_detector: StallDetector,
}

impl Clients {
    /// Configures clients of the servers at `bases`. The servers may respond with 503. The store
    /// must contain pending orders with the ids 1 to `orders`.
    pub fn new(bases: Vec<String>, key: &Key, orders: usize) -> Clients {
        let pending = (1..=orders).collect();
        Clients {
            load: LOAD,
            servers: bases.into_iter().map(|base| (base.clone(), base)).collect(),
            beginning: Beginning { pending, may_be_unavailable: true, ..Beginning::default() },
            key: key.clone(),
            limited: Vec::new(),
            called: Vec::new(),
            seed: 1,
        }
    }

    pub fn start(self, journal: Arc<Journal>) -> anyhow::Result<Traffic> {
        let stall_detector = journal.watch_machine()?;
        let pool = Pool::new(1..=self.beginning.pending.iter().last().unwrap_or_default());
        journal.note(What::Begins(self.beginning));
        for (key, (per_minute, per_day)) in self.limited.iter().zip(LIMITS) {
            let (key, account) = (key.id.clone(), key.id.clone());
            journal.note(What::Key { key, account, per_minute, per_day: Some(per_day) });
        }
        for key in [&self.key].into_iter().chain(&self.called) {
            let (key, account) = (key.id.clone(), ACCOUNT.to_string());
            journal.note(What::Key { key, account, per_minute: u32::MAX, per_day: None });
        }
        self.called.into_iter().for_each(|key| pool.issued(key));
        let (servers, limited) = (self.servers, self.limited);
        let workload = Workload::new(journal, servers, self.key, limited, pool, self.seed)?;
        let workload = Arc::new(workload);
        Ok(Traffic {
            clients: workload.start(self.load),
            workload,
            _stall_detector: stall_detector,
        })
    }
}

impl Traffic {
    /// Stops the clients and waits for their last requests. Returns the journal with the recorded
    /// requests.
    pub async fn stop(mut self) -> anyhow::Result<Arc<Journal>> {
        self.workload.pool.end();
        while let Some(ended) = self.clients.join_next().await {
            ended.context("a client panicked")?;
        }
        Ok(Arc::clone(&self.workload.journal))
    }
}
