//! A library that is loaded before the C library and reads a number from a file each time
//! that one of its functions is called.

use anyhow::{Context, bail};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The library and its number.
pub struct Preload {
    directory: TempDir,
    library: PathBuf,
}

impl Preload {
    /// The wall clock, which is moved by the number, in seconds.
    pub fn wall_clock() -> anyhow::Result<Preload> {
        Preload::compile(include_str!("set_clock.c"))
    }

    /// A disk, each of whose fsyncs takes longer by the number, in milliseconds. With -1 it fails,
    /// with -2 it succeeds and syncs nothing, with -3 it waits until the number is another.
    pub fn disk() -> anyhow::Result<Preload> {
        Preload::compile(include_str!("disk.c"))
    }

    /// Compiles it, behind the function that reads the number; that is 0.
    fn compile(source: &str) -> anyhow::Result<Preload> {
        let directory = tempfile::tempdir()?;
        // Database servers, which run as another user, load it too.
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

    /// From now on this is the number.
    pub fn set(&self, number: i64) -> anyhow::Result<()> {
        if number != 0 {
            // It is missing unless an earlier number was read.
            let _ = std::fs::remove_file(self.used());
        }
        let new = self.directory.path().join("new");
        std::fs::write(&new, number.to_string())?;
        Ok(std::fs::rename(new, self.file())?)
    }

    /// Loads it into a process that is about to start.
    pub fn put_into<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("LD_PRELOAD", &self.library).env("DRILL_NUMBER", self.file())
    }

    /// The library's file.
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// Whether a process has acted on the last number that was not 0.
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
