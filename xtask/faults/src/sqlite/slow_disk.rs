//! A disk whose fsync takes longer, or fails.

use std::process::Command;
use std::time::Duration;
use testbed::Preload;

/// A slower disk for the processes that are started on it.
pub struct SlowDisk(Preload);

impl SlowDisk {
    /// As fast as ever at first.
    pub fn new() -> anyhow::Result<SlowDisk> {
        Ok(SlowDisk(Preload::compile(include_str!("slow_fsync.c"))?))
    }

    /// From now on each fsync takes this much longer.
    pub fn delay(&self, by: Duration) -> anyhow::Result<()> {
        self.0.set(i64::try_from(by.as_millis())?)
    }

    /// From now on each fsync fails.
    pub fn fail(&self) -> anyhow::Result<()> {
        self.0.set(-1)
    }

    /// Puts a process on this disk.
    pub fn put_under<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        self.0.put_into(command)
    }
}
