//! The operator of a drill: imports and ships orders, issues and revokes keys, with the
//! program's own commands.

use super::workload::Workload;
use crate::replicas::blocking;
use history::event::{Answer, Request, What};
use std::sync::Arc;
use std::time::Duration;
use testbed::{DataDir, Key};

/// So many orders are imported when fewer are left.
const IMPORTED: usize = 300;

/// The account of the clients' keys, without a practical limit.
pub const ACCOUNT: &str = "clients";

/// How many keys are valid before one is revoked.
pub const VALID_KEYS: usize = 2;

/// How far ahead of the writers orders are shipped.
const AHEAD: usize = 15;

/// How long the operator rests between two commands.
const RESTS: Duration = Duration::from_millis(250);

/// The operator's commands.
pub struct Operator {
    workload: Arc<Workload>,
    data: Arc<DataDir>,
    last: usize,
    random: fastrand::Rng,
}

impl Operator {
    /// Works with these commands on a store that has orders up to this one.
    pub fn new(workload: Arc<Workload>, data: Arc<DataDir>, last: usize, seed: u64) -> Operator {
        Operator { workload, data, last, random: fastrand::Rng::with_seed(seed) }
    }

    /// Works until everything is over.
    pub async fn work(mut self) -> anyhow::Result<()> {
        while !self.workload.pool.is_over() {
            if self.workload.pool.left() < IMPORTED {
                self.import().await?;
            }
            match self.random.u8(0..3) {
                0 => self.ship().await?,
                1 => self.issue().await?,
                _ => self.revoke().await?,
            }
            tokio::time::sleep(RESTS).await;
        }
        Ok(())
    }

    async fn import(&mut self) -> anyhow::Result<()> {
        let (first, last) = (self.last + 1, self.last + IMPORTED);
        // If the command fails, they may be there: their ids are not used again.
        self.last = last;
        let range = i64::try_from(first)?..=i64::try_from(last)?;
        let is_done =
            self.run(Request::Import(first, last), move |data| data.import_pending(range)).await?;
        if is_done {
            self.workload.pool.imported(last);
        }
        Ok(())
    }

    async fn ship(&mut self) -> anyhow::Result<()> {
        let first = self.workload.pool.ahead(AHEAD);
        if first + 1 > self.last {
            return Ok(());
        }
        let ids = vec![first, first + 1];
        let texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let command = move |data: &DataDir| {
            let ids = texts.iter().map(String::as_str);
            data.run(&["orders", "ship"].into_iter().chain(ids).collect::<Vec<_>>()).map(drop)
        };
        self.run(Request::Ship(ids), command).await.map(drop)
    }

    async fn issue(&mut self) -> anyhow::Result<()> {
        if self.workload.pool.key_to_revoke(VALID_KEYS + 1).is_some() {
            return Ok(());
        }
        let data = Arc::clone(&self.data);
        let issued = blocking(move || data.issue_another_key(ACCOUNT)).await;
        // A command that failed may have issued one, which nobody knows.
        let Ok(Key { id, text }) = issued else { return Ok(()) };
        let (key, account) = (id.clone(), ACCOUNT.to_string());
        self.workload.journal.note(What::Key { key, account, per_minute: u32::MAX, per_day: None });
        self.workload.pool.issued(Key { id, text });
        Ok(())
    }

    async fn revoke(&mut self) -> anyhow::Result<()> {
        let Some(key) = self.workload.pool.key_to_revoke(VALID_KEYS) else { return Ok(()) };
        let id = key.id.clone();
        let command = move |data: &DataDir| data.run(&["keys", "revoke", &id]).map(drop);
        if self.run(Request::Revoke(key.id.clone()), command).await? {
            self.workload.pool.revoked(&key.id);
        }
        Ok(())
    }

    /// Runs a command; whether it succeeded.
    async fn run(
        &self,
        request: Request,
        command: impl FnOnce(&DataDir) -> anyhow::Result<()> + Send + 'static,
    ) -> anyhow::Result<bool> {
        let journal = &self.workload.journal;
        let op = journal.asks("operator", None, None, request);
        let data = Arc::clone(&self.data);
        let done = blocking(move || command(&data)).await;
        let is_done = done.is_ok();
        let answer = match done {
            Ok(()) => Answer::Done,
            Err(error) => Answer::Failed(format!("{error:#}")),
        };
        journal.gets(op, answer);
        Ok(is_done)
    }
}
