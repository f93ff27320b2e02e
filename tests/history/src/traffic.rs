//! Clients that cancel and list on every server while something fails, and what they saw.

use crate::event::{Beginning, What};
use crate::workload::{LOAD, Load, Pool, Workload};
use crate::{ANSWER_LIMIT, Journal};
use anyhow::Context;
use std::sync::Arc;
use std::time::Duration;
use testbed::{Canary, DataDir, Key, Report};
use tokio::task::JoinSet;

/// Clients at work.
pub struct Traffic {
    clients: JoinSet<()>,
    workload: Arc<Workload>,
    _canary: Canary,
}

/// What clients saw.
pub struct Seen(Arc<Journal>);

impl Traffic {
    /// Starts clients of these servers, which cancel the orders from 1 to this one.
    pub fn start(bases: Vec<String>, key: &Key, orders: i64) -> anyhow::Result<Traffic> {
        Traffic::start_with(LOAD, bases, key, orders)
    }

    /// Starts so many clients of these servers.
    pub fn start_with(
        load: Load,
        bases: Vec<String>,
        key: &Key,
        orders: i64,
    ) -> anyhow::Result<Traffic> {
        let (journal, orders) = (Arc::new(Journal::new(None)), usize::try_from(orders)?);
        let canary = journal.watch_machine()?;
        let pending = (1..=orders).collect();
        let beginning = Beginning { pending, may_be_unavailable: true, ..Beginning::default() };
        journal.note(What::Begins(beginning));
        let (account, key_id) = ("clients".to_string(), key.id.clone());
        journal.note(What::Key { key: key_id, account, per_minute: u32::MAX, per_day: None });
        let servers = bases.into_iter().map(|base| (base.clone(), base)).collect();
        let pool = Pool::new(1..=orders);
        let workload = Workload::new(journal, servers, key.clone(), Vec::new(), pool, 1)?;
        let workload = Arc::new(workload);
        Ok(Traffic { clients: workload.start(load), workload, _canary: canary })
    }

    /// Clients send a request as soon as the last was answered.
    pub fn without_rests(self) -> Traffic {
        self.workload.pool.set_rests(0);
        self
    }

    /// Nanoseconds since the recording began.
    pub fn now(&self) -> u64 {
        self.workload.journal.now()
    }

    /// How many cancellations were acknowledged.
    pub fn acknowledged(&self) -> usize {
        self.workload.journal.figures().acknowledged.len()
    }

    /// The first 204 after this instant of the recording came within this time.
    pub fn expect_recovery(&self, what: &str, after: u64, within: Duration, report: &mut Report) {
        let acknowledged = self.workload.journal.figures().acknowledged;
        match acknowledged.iter().find(|at| **at > after) {
            Some(first) => {
                let outage = Duration::from_nanos(first - after);
                report.time(format!("{what}: until the first 204"), outage, within);
            }
            None => report.expect(false, || format!("{what}: no cancellation afterwards")),
        }
    }

    /// Waits for the last answers, and returns what all clients saw.
    pub async fn stop(mut self) -> anyhow::Result<Seen> {
        self.workload.pool.end();
        while let Some(ended) = self.clients.join_next().await {
            ended.context("a client panicked")?;
        }
        Ok(Seen(Arc::clone(&self.workload.journal)))
    }
}

impl Seen {
    /// How many requests were answered 503.
    pub fn unavailable(&self) -> u64 {
        self.0.figures().count("503")
    }

    /// When each cancellation was acknowledged.
    pub fn acknowledged(&self) -> Vec<u64> {
        self.0.figures().acknowledged
    }

    /// Reads the final table with this operator's commands, and reports what the clients saw that
    /// cannot be true.
    pub async fn judge(self, operator: DataDir, report: &mut Report) -> anyhow::Result<()> {
        let journal = Arc::clone(&self.0);
        let table = tokio::task::spawn_blocking(move || journal.orders.table(&operator));
        self.0.note(What::Ends(table.await.context("the table was not read")??));
        for violation in self.0.violations() {
            report.expect(false, || violation.to_string());
        }
        let figures = self.0.figures();
        report.figure(format!(
            "{} lists, {} cancellations acknowledged of {}; {} times 503",
            figures.of_kind("lists"),
            figures.acknowledged.len(),
            figures.of_kind("cancels"),
            figures.count("503"),
        ));
        report.expect(!figures.acknowledged.is_empty(), || "nothing was cancelled".to_string());
        report.time("slowest answer", figures.slowest, ANSWER_LIMIT);
        Ok(())
    }
}
