//! Commands on a full disk fail with one line that gives the reason, and leave no files behind. The
//! chaos runs test servers on a full disk.

use crate::scenario::Tools;
use std::ffi::OsString;
use testbed::{DataDir, Report, SmallDisk};
use tokio::process::Command;
use tokio::task::block_in_place;

const DISK_KIB: u64 = 24 * 1024;
const ORDERS: i64 = 20_000;

/// Commands with their exit status; 4 means that the store cannot be written.
const COMMANDS: [(i32, &[&str]); 4] = [
    (4, &["keys", "issue", "--account", "clients"]),
    (4, &["accounts", "create", "other", "--plan", "free"]),
    (4, &["orders", "ship", "19999"]),
    (1, &["backup", "b.sqlite"]),
];

pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let disk = SmallDisk::mount(DISK_KIB)?;
    let data = DataDir::at(&tools.program, disk.path());
    let server = block_in_place(|| {
        data.import_pending(1..=ORDERS)?;
        data.issue_key("clients", "free")?;
        // The server keeps the store's files open. Without a server, each command would have to
        // open them first and would need space for the WAL index.
        data.serve(&["--log-level", "warning"])
    })?;
    let full = disk.keep_full()?;
    for (status, arguments) in COMMANDS {
        let mut command = Command::from(data.command());
        command.args(arguments).current_dir(disk.path()).kill_on_drop(true);
        let output = command.output().await?;
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_clear = error.starts_with("error: ")
            && error.trim_end().lines().count() == 1
            && (error.contains("full") || error.contains("No space left"));
        report.expect(output.status.code() == Some(status) && is_clear, || {
            format!("{arguments:?} on a full disk: {}, {error:?}", output.status)
        });
    }
    // Neither an incomplete backup nor its temporary copy may be left.
    let leftovers = std::fs::read_dir(disk.path())?.flatten().map(|entry| entry.file_name());
    let is_backup = |name: &OsString| {
        name == "b.sqlite" || name.to_string_lossy().starts_with(".store-orders-")
    };
    let leftovers: Vec<OsString> = leftovers.filter(is_backup).collect();
    report.expect(leftovers.is_empty(), || format!("the backup left {leftovers:?}"));
    drop(full);
    block_in_place(|| {
        server.stop()?;
        // `check` exits with an error if it finds a problem.
        data.run(&["check"]).map(drop)
    })
}
