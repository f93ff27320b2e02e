//! The operator of a drill: imports and ships orders, issues and revokes keys, with the
//! program's own commands; and imports that are held open and then killed.

use crate::replicas::blocking;
use anyhow::Context;
use history::event::{Answer, Request, What};
use history::workload::Workload;
use std::ops::{Range, RangeInclusive};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use testbed::{DataDir, Key};
use tokio::io::AsyncWriteExt;
use tokio_postgres::NoTls;

/// How many orders are imported when fewer are left.
const IMPORTED: usize = 500;

/// The account of the clients' keys, without a practical limit.
pub const ACCOUNT: &str = "clients";

/// How many keys are valid before one is revoked.
pub const VALID_KEYS: usize = 2;

/// How far ahead of the writers orders are shipped.
const AHEAD: usize = 15;

/// How long the operator rests between two commands.
const RESTS: Duration = Duration::from_millis(250);

/// The ids of an import that is too long to hold off other changes, and never ends: far above
/// those of other orders.
const HELD: RangeInclusive<usize> = 400_001..=406_000;

/// For how long it is open, and how long it is until the next: other imports wait for it.
const HELD_MS: Range<u64> = 1_000..5_000;
const HELD_AFTER_MS: Range<u64> = 6_000..18_000;

/// How long the connection that holds it may take to begin.
const HOLD_TIMEOUT: Duration = Duration::from_secs(2);

/// Keeps an import of the same id waiting until the connection ends.
const HOLD: &str = "
    BEGIN;
    INSERT INTO orders (id, pet_id, quantity, complete, status, changed_in)
    VALUES (406000, 7, 1, false, 'pending', 1)";

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

    /// Holds a long import open again and again, until everything is over. It is rolled back: no
    /// list may ever show one of its orders.
    pub async fn hold_imports(self, hosts: tokio_postgres::Config) {
        let Operator { workload, data, mut random, .. } = self;
        let mut pause = |ms| Instant::now() + Duration::from_millis(random.u64(ms));
        while !workload.pool.is_over() {
            workload.pool.sleep_until(pause(HELD_AFTER_MS)).await;
            let op = workload.journal.asks(
                "long-import",
                None,
                None,
                Request::Import(*HELD.start(), *HELD.end()),
            );
            let why = match held(&hosts, &data, workload.pool.sleep_until(pause(HELD_MS))).await {
                Ok(()) => "killed".to_string(),
                Err(error) => format!("{error:#}"),
            };
            workload.journal.gets(op, Answer::Failed(why));
        }
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
        // A command that failed may have issued one, which is unknown here.
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

/// Begins the import, which waits at its last order, and kills the command after a while.
async fn held(
    hosts: &tokio_postgres::Config,
    data: &DataDir,
    until: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let (client, connection) = tokio::time::timeout(HOLD_TIMEOUT, hosts.connect(NoTls)).await??;
    let holding = tokio::spawn(connection);
    tokio::time::timeout(HOLD_TIMEOUT, client.batch_execute(HOLD)).await??;
    let mut command = data.command();
    command.args(["orders", "import", "-"]).stdin(Stdio::piped());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut import = tokio::process::Command::from(command).kill_on_drop(true).spawn()?;
    let rows: String = HELD.map(|id| format!("{id},7,1\n")).collect();
    let mut input = import.stdin.take().context("its input is piped")?;
    input.write_all(format!("id,petId,quantity\n{rows}").as_bytes()).await?;
    drop(input);
    until.await;
    import.kill().await?;
    holding.abort();
    Ok(())
}
