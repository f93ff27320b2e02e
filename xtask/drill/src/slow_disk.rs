//! A disk whose fsync takes longer, by a library that is loaded before the C library.

use anyhow::{Context, bail};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Fails if there is no C compiler.
pub fn check_tools() -> anyhow::Result<()> {
    if Command::new("cc").arg("--version").output().is_err() {
        bail!("a C compiler is missing: apt-get install gcc libc6-dev");
    }
    Ok(())
}

/// A slower disk for the processes that are started on it.
pub struct SlowDisk {
    directory: TempDir,
    library: PathBuf,
}

impl SlowDisk {
    /// Compiles the library; the disk is as fast as ever.
    pub fn new() -> anyhow::Result<SlowDisk> {
        let directory = tempfile::tempdir()?;
        let (source, library) =
            (directory.path().join("slow_fsync.c"), directory.path().join("slow_fsync.so"));
        std::fs::write(&source, include_str!("slow_fsync.c"))?;
        let mut compile = Command::new("cc");
        compile.args(["-O2", "-shared", "-fPIC", "-o"]).args([&library, &source]);
        if !compile.status().context("cannot run cc")?.success() {
            bail!("cc could not compile the library that slows fsync down");
        }
        let disk = SlowDisk { directory, library };
        disk.delay(Duration::ZERO)?;
        Ok(disk)
    }

    /// From now on each fsync takes this much longer.
    pub fn delay(&self, by: Duration) -> anyhow::Result<()> {
        self.set(&by.as_millis().to_string())
    }

    /// From now on each fsync fails.
    pub fn fail(&self) -> anyhow::Result<()> {
        self.set("-1")
    }

    fn set(&self, milliseconds: &str) -> anyhow::Result<()> {
        let new = self.directory.path().join("new");
        std::fs::write(&new, milliseconds)?;
        Ok(std::fs::rename(new, self.setting())?)
    }

    /// Puts a process on this disk.
    pub fn put_under<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("LD_PRELOAD", &self.library).env("DRILL_FSYNC_MS", self.setting())
    }

    fn setting(&self) -> PathBuf {
        self.directory.path().join("milliseconds")
    }
}
