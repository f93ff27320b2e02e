//! The operator of a chaos run, which imports and ships orders, and issues and revokes keys. It
//! also begins a separate long import and kills it.

use crate::replicas::{begin_import, blocking};
use history::ACCOUNT;
use history::event::{Answer, Request, What};
use history::workload::Workload;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders::store::STEP_RECORDS_BESIDE_SERVERS as STEP_RECORDS;
use testbed::{DataDir, Key};

/// An import has this many orders. It begins when fewer orders are left to cancel.
const ORDERS_PER_IMPORT: usize = 500;

/// At this number of valid keys, the operator both issues and revokes keys. With more keys, the
/// operator only revokes. With fewer, the operator only issues. The clients' main key does not
/// count.
pub const VALID_KEYS: usize = 2;

/// The operator ships two consecutive orders. The id of the first is this much higher than the id
/// of the next order that clients cancel.
const AHEAD: usize = 15;

const PAUSE: Duration = Duration::from_millis(250);

/// The ids of the orders in the import that is killed, far above all other ids. Each range is one
/// step of the import.
const KILLED_IMPORT: [RangeInclusive<usize>; 2] =
    [400_001..=400_000 + STEP_RECORDS, 400_001 + STEP_RECORDS..=400_000 + 2 * STEP_RECORDS];

/// The time from the start of the clients until [`KILLED_IMPORT`] begins.
const KILLED_IMPORT_START: Duration = Duration::from_secs(5);
/// The time in milliseconds from the end of the import's input until the import is killed. Each run
/// chooses a random time in this range.
const KILL_AFTER_MS: Range<u64> = 200..3_000;

pub struct Operator {
    workload: Arc<Workload>,
    data: Arc<DataDir>,
    last: usize,
    random: fastrand::Rng,
}

impl Operator {
    /// Creates an operator for a store with the orders 1 to `last`.
    pub fn new(workload: Arc<Workload>, data: Arc<DataDir>, last: usize, seed: u64) -> Operator {
        Operator { workload, data, last, random: fastrand::Rng::with_seed(seed) }
    }

    pub async fn work(mut self) -> anyhow::Result<()> {
        let workload = Arc::clone(&self.workload);
        while !workload.pool.is_over() {
            let under_way = workload.pool.commands.read().await;
            if self.workload.pool.remaining() < ORDERS_PER_IMPORT {
                self.import().await?;
            }
            match self.random.u8(0..3) {
                0 => self.ship().await?,
                1 => self.issue().await?,
                _ => self.revoke().await?,
            }
            drop(under_way);
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Begins an import of several steps and kills it. Each step of the import must commit all its
    /// orders or none.
    pub async fn kill_import(mut self) -> anyhow::Result<()> {
        let kill_after = Duration::from_millis(self.random.u64(KILL_AFTER_MS));
        let Operator { workload, data, .. } = &self;
        let from_now = |wait| Instant::now() + wait;
        workload.pool.sleep_until(from_now(KILLED_IMPORT_START)).await;
        let asks = |step: &RangeInclusive<usize>| {
            let request = Request::Import(*step.start(), *step.end());
            workload.journal.asks("long-import", None, None, request)
        };
        let _under_way = workload.pool.commands.read().await;
        let ops = KILLED_IMPORT.each_ref().map(asks);
        let killed = begin_import(data, KILLED_IMPORT.into_iter().flatten()).await;
        let why = match killed {
            Ok(mut import) => {
                workload.pool.sleep_until(from_now(kill_after)).await;
                import.kill().await?;
                "killed".to_string()
            }
            Err(error) => format!("{error:#}"),
        };
        for op in ops {
            workload.journal.gets(op, Answer::Failed(why.clone()));
        }
        Ok(())
    }

    async fn import(&mut self) -> anyhow::Result<()> {
        let (first, last) = (self.last + 1, self.last + ORDERS_PER_IMPORT);
        // A failed command may have imported these orders, so their ids are not used again.
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
        // Ignore a failed command. It may have issued a key, but no client can use this key,
        // because only the command knew its secret.
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

    async fn run(
        &self,
        request: Request,
        command: impl FnOnce(&DataDir) -> anyhow::Result<()> + Send + 'static,
    ) -> anyhow::Result<bool> {
        let journal = &self.workload.journal;
        let op = journal.asks("operator", None, None, request);
        let data = Arc::clone(&self.data);
        let result = blocking(move || command(&data)).await;
        let is_done = result.is_ok();
        let answer = match result {
            Ok(()) => Answer::Done,
            Err(error) => Answer::Failed(format!("{error:#}")),
        };
        journal.gets(op, answer);
        Ok(is_done)
    }
}
