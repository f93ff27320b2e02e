//! Compiles libraries that replace C library functions in a child process (LD_PRELOAD). A test
//! controls a library through a number in a file.

use anyhow::{Context, bail};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

pub struct Preload {
    directory: TempDir,
    library: PathBuf,
}

impl Preload {
    /// Compiles a library that moves the wall clock. [`Preload::set`] sets the number of seconds.
    pub fn wall_clock() -> anyhow::Result<Preload> {
        Preload::compile(include_str!("set_clock.c"))
    }

    /// Compiles a library that delays each fsync by a number of milliseconds. [`Preload::set`] sets
    /// the number. Negative numbers have special effects:
    ///
    /// - -1: fsync fails.
    /// - -2: fsync succeeds without syncing.
    /// - -3: fsync waits until the number changes.
    pub fn disk() -> anyhow::Result<Preload> {
        Preload::compile(include_str!("disk.c"))
    }

    /// Compiles a library with which each fsync takes `milliseconds` and syncs nothing.
    /// [`Preload::set`] does not affect a process after its first fsync.
    pub fn fixed_sync(milliseconds: i64) -> anyhow::Result<Preload> {
        let preload = Preload::compile(include_str!("fixed_sync.c"))?;
        preload.set(milliseconds)?;
        Ok(preload)
    }

    /// Compiles a library from `source` and `preload.c`. The code in `preload.c` reads the number
    /// that [`Preload::set`] sets. Before the first call of `set`, the number is 0.
    fn compile(source: &str) -> anyhow::Result<Preload> {
        let directory = tempfile::tempdir()?;
        // Let other users read the directory, because database servers load the library as another
        // user.
        std::fs::set_permissions(directory.path(), Permissions::from_mode(0o755))?;
        let (file, library) =
            (directory.path().join("preload.c"), directory.path().join("preload.so"));
        std::fs::write(&file, [include_str!("preload.c"), source].concat())?;
        let mut compile = Command::new("cc");
        compile.args(["-O2", "-shared", "-fPIC", "-o"]).args([&library, &file]);
        if !compile.status().context("cannot run cc: apt-get install gcc libc6-dev")?.success() {
            bail!("cc could not compile {}", file.display());
        }
        let preload = Preload { directory, library };
        preload.set(0)?;
        Ok(preload)
    }

    /// Sets the number that controls the library, also for running processes. With
    /// [`Preload::fixed_sync`], a process keeps its number after its first fsync.
    pub fn set(&self, number: i64) -> anyhow::Result<()> {
        if number != 0 {
            // Ignore errors, because the file exists only if a process has read an earlier number.
            let _ = std::fs::remove_file(self.used());
        }
        let new = self.directory.path().join("new");
        std::fs::write(&new, number.to_string())?;
        Ok(std::fs::rename(new, self.file())?)
    }

    /// Makes the command's process load the library and read the number in [`Preload::file`].
    pub fn put_into<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("LD_PRELOAD", &self.library).env("TESTBED_NUMBER", self.file())
    }

    pub fn library(&self) -> &Path {
        &self.library
    }

    /// True if a process has read the nonzero number that was set last.
    pub fn was_used(&self) -> bool {
        self.used().exists()
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("number")
    }

    fn used(&self) -> PathBuf {
        self.directory.path().join("number.used")
    }
}
