//! Checks that a store is refused if only its file is mounted in another directory, for example in
//! a container. The write-ahead log and the locks are not mounted, so servers in both directories
//! would overwrite each other's changes.

use crate::scenario::Tools;
use anyhow::Context;
use testbed::{DataDir, MountedFile, Report};
use tokio::task::block_in_place;

pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let (data, other) = (DataDir::temporary()?, tempfile::tempdir()?);
    let target = other.path().join("store.sqlite");
    std::fs::write(&target, "")?;
    block_in_place(|| data.import_pending(1..=10))?;
    let _mounted = MountedFile::mount(&data.path().join("store.sqlite"), &target)?;
    let mounted = DataDir::at(&tools.program, other.path());
    for arguments in [&["orders", "list"][..], &["serve", "--listen", "127.0.0.1:0"]] {
        let output = mounted.command().args(arguments).output().context("cannot run")?;
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_refused = !output.status.success() && error.contains("is mounted by itself");
        report.expect(is_refused, || format!("{arguments:?}: {}, {error:?}", output.status));
    }
    // At its original path, the store still works.
    block_in_place(|| data.run(&["check"]).map(drop))
}
