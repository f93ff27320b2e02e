//! What cancels and pages are compared with: how often a second SQLite alone commits one changed
//! row, or reads a page by pet. The loop has a process of its own, so that the same slower disk can
//! be put under it and the server.

use crate::machine::Side;
use crate::pages::PETS;
use crate::rounds::{Sample, Turn};
use crate::setup::BenchSetup;
use anyhow::{Context, bail};
use rusqlite::{Connection, params};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use testbed::{ChildProcess, Preload};

/// `sqlite-loop`: one of the loops, in a process of its own. It lives as long as
/// the server it is compared with: SQLite's log is overwritten in place only when it has
/// been filled once, which is twice as fast as to lengthen it.
#[derive(Debug, clap::Args)]
pub struct SqliteArgs {
    /// What to repeat
    #[arg(value_enum)]
    pub work: SqliteWork,
    /// The store whose orders to cancel or to read
    pub file: PathBuf,
}

/// What is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SqliteWork {
    /// Cancel one order in a transaction of its own
    Commit,
    /// Read a page of one pet's orders
    Page,
}

impl SqliteWork {
    const fn as_str(self) -> &'static str {
        match self {
            SqliteWork::Commit => "commit",
            SqliteWork::Page => "page",
        }
    }
}

/// For each line of standard input, a number of seconds, repeats the work for as
/// long and prints how often it was done and in how many seconds.
pub fn repeat(arguments: &SqliteArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let connection = Connection::open(&arguments.file)?;
    let mut once = match arguments.work {
        SqliteWork::Commit => cancelling(connection)?,
        SqliteWork::Page => paging(connection)?,
    };
    for line in std::io::stdin().lines() {
        let span = Duration::from_secs_f64(line?.trim().parse()?);
        let (begun, mut times) = (Instant::now(), 0_u64);
        while begun.elapsed() < span {
            once()?;
            times += 1;
        }
        writeln!(out, "{times} {}", begun.elapsed().as_secs_f64())?;
        out.flush()?;
    }
    Ok(())
}

type Once = Box<dyn FnMut() -> anyhow::Result<()>>;

/// The least that a durable cancel is: one statement on one row, in the modes
/// of the server's own connection.
fn cancelling(connection: Connection) -> anyhow::Result<Once> {
    connection.pragma_update(None, "synchronous", "FULL")?;
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if mode != "wal" {
        bail!("the store's journal mode is {mode}, not wal");
    }
    let mut id = 0;
    Ok(Box::new(move || {
        id += 1;
        let mut cancel = connection.prepare_cached(
            "UPDATE orders SET status = 'cancelled', version = ?2, cancelled_at = ?3,
                    cancelled_by = ?4
             WHERE id = ?1 AND status = 'pending'",
        )?;
        let at = "2026-01-01T00:00:00.000Z";
        if cancel.execute(params![id, id + 1, at, "key_bench"])? != 1 {
            bail!("order {id} cannot be cancelled");
        }
        Ok(())
    }))
}

/// A page by pet, with the index that an ordinary service would have.
fn paging(connection: Connection) -> anyhow::Result<Once> {
    connection.execute_batch(
        "CREATE INDEX orders_by_pet ON orders (pet_id, id) WHERE status <> 'cancelled'; ANALYZE",
    )?;
    let mut pet = 0;
    Ok(Box::new(move || {
        pet = (pet + 7) % PETS;
        let mut page = connection.prepare_cached(
            "SELECT json_group_array(json_object('id', id, 'petId', pet_id, 'quantity', quantity,
                 'shipDate', ship_date, 'complete', complete, 'status', status))
             FROM (SELECT * FROM orders WHERE pet_id = ?1 AND status <> 'cancelled'
                   ORDER BY id LIMIT 100)",
        )?;
        let page: String = page.query_row([pet], |row| row.get(0))?;
        std::hint::black_box(page);
        Ok(())
    }))
}

/// A loop that runs on the served side's core on demand. It ends with its standard
/// input.
pub struct SqliteLoop {
    turns: ChildStdin,
    figures: BufReader<ChildStdout>,
    _process: ChildProcess,
}

impl SqliteLoop {
    /// Starts it, on this disk if one is given.
    pub fn start(
        work: SqliteWork,
        file: &Path,
        disk: Option<&Preload>,
    ) -> anyhow::Result<SqliteLoop> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["sqlite-loop", work.as_str()]).arg(file);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(disk) = disk {
            disk.put_into(&mut command);
        }
        let mut child = Side::Served.run(|| Ok(command.spawn()?))?;
        let pipes = (child.stdin.take(), child.stdout.take());
        let process = ChildProcess::new(child, "the loop of SQLite");
        let (Some(turns), Some(figures)) = pipes else { bail!("the loop has no pipes") };
        Ok(SqliteLoop { turns, figures: BufReader::new(figures), _process: process })
    }

    /// How often it goes round in a round's time, as a contender.
    pub fn turns<'a>(mut self, setup: &BenchSetup) -> Turn<'a> {
        let span = setup.span;
        Box::new(move || self.turn(span))
    }

    fn turn(&mut self, span: Duration) -> anyhow::Result<Sample> {
        writeln!(self.turns, "{}", span.as_secs_f64())?;
        let mut figures = String::new();
        self.figures.read_line(&mut figures)?;
        let (times, seconds) =
            figures.trim().split_once(' ').context("the loop ended without its figures")?;
        Ok(Sample::counted(times.parse()?, seconds.parse()?))
    }
}
