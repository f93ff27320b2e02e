//! What a cancel is compared with: how often a second the disk makes a small append
//! durable, and how often SQLite commits one changed row. Each loop has a process
//! of its own, so that the same slower disk can be put under it and the server.

use crate::machine::Side;
use anyhow::{Context, bail};
use rusqlite::{Connection, params};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use testbed::{ChildProcess, Preload};

/// As much as SQLite appends for a small transaction: a page and its header.
const APPENDED: [u8; 4_120] = [b'x'; 4_120];

/// `disk-loop`: one of the loops, in a process of its own. It lives as long as
/// the server it is compared with: SQLite's log is overwritten in place only when it has
/// been filled once, which is twice as fast as to lengthen it.
#[derive(Debug, clap::Args)]
pub struct DiskArgs {
    /// What to repeat
    #[arg(value_enum)]
    pub work: DiskWork,
    /// The file to append to, or the store whose orders to cancel
    pub file: PathBuf,
}

/// What is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum DiskWork {
    /// Append some bytes and wait until they are durable
    Fsync,
    /// Cancel one order in a transaction of its own
    Commit,
}

impl DiskWork {
    const fn as_str(self) -> &'static str {
        match self {
            DiskWork::Fsync => "fsync",
            DiskWork::Commit => "commit",
        }
    }
}

/// For each line of standard input, a number of seconds, repeats the work for as
/// long and prints how often it was done and in how many seconds.
pub fn repeat(arguments: &DiskArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut once = match arguments.work {
        DiskWork::Fsync => appending(&arguments.file)?,
        DiskWork::Commit => cancelling(&arguments.file)?,
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

fn appending(file: &Path) -> anyhow::Result<Once> {
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    Ok(Box::new(move || {
        file.write_all(&APPENDED)?;
        Ok(file.sync_data()?)
    }))
}

/// The least that a durable cancel is: one statement on one row, in the modes
/// of the server's own connection.
fn cancelling(file: &Path) -> anyhow::Result<Once> {
    let connection = Connection::open(file)?;
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

/// A loop that runs on the served side's core on demand. It ends with its standard
/// input.
pub struct DiskLoop {
    turns: ChildStdin,
    figures: BufReader<ChildStdout>,
    _process: ChildProcess,
}

impl DiskLoop {
    /// Starts it, on this disk if one is given.
    pub fn start(work: DiskWork, file: &Path, disk: Option<&Preload>) -> anyhow::Result<DiskLoop> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["disk-loop", work.as_str()]).arg(file);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(disk) = disk {
            disk.put_into(&mut command);
        }
        let mut child = Side::Served.run(|| Ok(command.spawn()?))?;
        let pipes = (child.stdin.take(), child.stdout.take());
        let process = ChildProcess::new(child, "the disk loop");
        let (Some(turns), Some(figures)) = pipes else { bail!("the disk loop has no pipes") };
        Ok(DiskLoop { turns, figures: BufReader::new(figures), _process: process })
    }

    /// How often it went round in this time, and the time it took.
    pub fn turn(&mut self, span: Duration) -> anyhow::Result<(u64, f64)> {
        writeln!(self.turns, "{}", span.as_secs_f64())?;
        let mut figures = String::new();
        self.figures.read_line(&mut figures)?;
        let (times, seconds) =
            figures.trim().split_once(' ').context("the disk loop ended without its figures")?;
        Ok((times.parse()?, seconds.parse()?))
    }
}
