//! The floor under a cancel: how often a second the disk makes a small append
//! durable, and how often SQLite commits one changed row, each in a process of
//! its own, so that a slower disk can be put under it and under the server
//! alike.

use super::machine::Side;
use anyhow::{Context, bail};
use rusqlite::{Connection, params};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// As much as SQLite appends for a small transaction: a page and its header.
const APPENDED: [u8; 4_120] = [b'x'; 4_120];

/// `bench-disk`: one of the loops, in a process of its own.
#[derive(Debug, clap::Args)]
pub struct DiskArgs {
    /// What to repeat
    #[arg(value_enum)]
    pub work: DiskWork,
    /// The file to append to, or the store whose orders to cancel
    pub file: PathBuf,
    /// For how long, in seconds
    pub seconds: f64,
    /// The first order to cancel
    #[arg(default_value_t = 1)]
    pub first: i64,
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
    const fn name(self) -> &'static str {
        match self {
            DiskWork::Fsync => "fsync",
            DiskWork::Commit => "commit",
        }
    }
}

/// Repeats the work and prints how often it was done and in how many seconds.
pub fn repeat(arguments: &DiskArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    let span = Duration::from_secs_f64(arguments.seconds);
    let (times, took) = match arguments.work {
        DiskWork::Fsync => fsyncs(&arguments.file, span)?,
        DiskWork::Commit => commits(&arguments.file, span, arguments.first)?,
    };
    writeln!(out, "{times} {}", took.as_secs_f64())?;
    Ok(())
}

fn fsyncs(file: &Path, span: Duration) -> anyhow::Result<(u64, Duration)> {
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    let (begun, mut times) = (Instant::now(), 0);
    while begun.elapsed() < span {
        file.write_all(&APPENDED)?;
        file.sync_data()?;
        times += 1;
    }
    Ok((times, begun.elapsed()))
}

/// The least that a durable cancel is: one statement on one row, in the modes
/// of the server's own connection.
fn commits(file: &Path, span: Duration, first: i64) -> anyhow::Result<(u64, Duration)> {
    let connection = Connection::open(file)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if mode != "wal" {
        bail!("the store's journal mode is {mode}, not wal");
    }
    let mut cancel = connection.prepare(
        "UPDATE orders SET status = 'cancelled', version = ?2, cancelled_at = ?3, cancelled_by = ?4
         WHERE id = ?1 AND status = 'pending'",
    )?;
    let (begun, mut times) = (Instant::now(), 0);
    while begun.elapsed() < span {
        let id = first + times;
        let changed =
            cancel.execute(params![id, id + 1, "2026-01-01T00:00:00.000Z", "key_bench"])?;
        if changed != 1 {
            bail!("order {id} of {} cannot be cancelled", file.display());
        }
        times += 1;
    }
    Ok((times.try_into()?, begun.elapsed()))
}

/// Runs a loop on the served side's core; how often it went round, and in what
/// time. `preload` is a library that stands before the system's.
pub fn measure(
    work: DiskWork,
    file: &Path,
    span: Duration,
    first: i64,
    preload: Option<&Path>,
) -> anyhow::Result<(u64, f64)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["bench-disk", work.name()]).arg(file);
    command.args([span.as_secs_f64().to_string(), first.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    if let Some(library) = preload {
        command.env("LD_PRELOAD", library);
    }
    let output = Side::Served.start(&mut command)?.wait_with_output()?;
    let printed = String::from_utf8(output.stdout)?;
    let (times, seconds) =
        printed.trim().split_once(' ').context("the disk loop ended without its figures")?;
    Ok((times.parse()?, seconds.parse()?))
}

/// Compiles the library that makes each fsync take a millisecond longer.
pub fn slow_fsync(directory: &Path) -> anyhow::Result<PathBuf> {
    let source = directory.join("slow_fsync.c");
    let library = directory.join("slow_fsync.so");
    std::fs::write(&source, include_str!("slow_fsync.c"))?;
    let status = Command::new("cc")
        .args(["-O2", "-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status()
        .context("a C compiler is missing: apt-get install gcc")?;
    if !status.success() {
        bail!("cc could not compile the library that slows fsync down: {status}");
    }
    Ok(library)
}
