//! Cancels orders with bare SQLite, in a separate process. The result is the baseline for
//! cancellations per second.

use crate::machine::on_served_core;
use crate::rounds::{Sample, Turn};
use anyhow::{Context, ensure};
use clap::Args;
use rusqlite::Connection;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use testbed::Preload;

/// Hidden flags that the benchmark passes to a second process of itself. The second process only
/// cancels orders.
#[derive(Debug, Args)]
pub struct SqliteCommits {
    /// Cancel orders in this store with bare SQLite
    #[arg(long = "sqlite-commits", value_name = "FILE", hide = true)]
    pub file: Option<PathBuf>,
    /// The first order to cancel
    #[arg(long, value_name = "ID", hide = true, default_value_t = 0)]
    first_order: i64,
    /// Stop before this order
    #[arg(long, value_name = "ID", hide = true, default_value_t = 0)]
    end_order: i64,
    /// Stop after this time, even if orders are left
    #[arg(long, value_name = "MS", hide = true, default_value_t = 0)]
    milliseconds: u64,
}

/// Returns a [`Turn`] that measures commits per second. Each call of the turn starts a process that
/// cancels orders for at most `span`. The next call begins with the first order that is not
/// cancelled yet.
pub fn turn<'a>(
    file: &'a Path,
    mut orders: Range<u64>,
    span: Duration,
    preload: Option<&'a Preload>,
) -> Turn<'a> {
    Box::new(move || {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--sqlite-commits").arg(file);
        command.args(["--first-order", &orders.start.to_string()]);
        command.args(["--end-order", &orders.end.to_string()]);
        command.args(["--milliseconds", &span.as_millis().to_string()]);
        if let Some(preload) = preload {
            preload.put_into(&mut command);
        }
        let output = on_served_core(|| Ok(command.output()?))?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{command:?} failed: {error}");
        let output = String::from_utf8(output.stdout)?;
        let (commits, seconds) =
            output.trim().split_once(' ').context("the process said nothing")?;
        orders.start += commits.parse::<u64>()?;
        Ok(Sample::without_cpu(commits.parse::<f64>()? / seconds.parse::<f64>()?))
    })
}

/// Cancels one order after another, and prints the number of commits and the seconds. Each
/// cancellation is one statement, the least that a durable cancellation needs. The journal mode and
/// the sync mode are the server's.
pub fn run(file: &Path, arguments: &SqliteCommits, out: &mut dyn Write) -> anyhow::Result<()> {
    let connection = Connection::open(file)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    ensure!(mode == "wal", "the store's journal mode is {mode}, not wal");
    let mut cancel = connection.prepare(
        "UPDATE orders SET status = 'cancelled', change_number = ?1 + 1, cancelled_by = 'key_bench',
                cancelled_at = '2026-01-01T00:00:00.000Z'
         WHERE id = ?1 AND status = 'pending'",
    )?;
    let (began, span) = (Instant::now(), Duration::from_millis(arguments.milliseconds));
    let mut order = arguments.first_order;
    while began.elapsed() < span && order < arguments.end_order {
        ensure!(cancel.execute([order])? == 1, "order {order} cannot be cancelled");
        order += 1;
    }
    let seconds = began.elapsed().as_secs_f64();
    Ok(writeln!(out, "{} {seconds}", order - arguments.first_order)?)
}
