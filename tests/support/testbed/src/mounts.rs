//! Mounts for tests: a small tmpfs that a test can fill, and a file mounted over another file, as
//! in containers.

use anyhow::{Context, bail, ensure};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;

const REFILL_INTERVAL: Duration = Duration::from_millis(5);

/// A small tmpfs, which is unmounted when this value is dropped.
pub struct SmallDisk {
    path: PathBuf,
    /// The parent directory of the mount point, deleted with this value. Files beside the mount
    /// point, such as a server's log, can be written when the tmpfs is full.
    _directory: TempDir,
}

impl SmallDisk {
    pub fn mount(kib: u64) -> anyhow::Result<SmallDisk> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("data");
        std::fs::create_dir(&path)?;
        let options = format!("size={kib}k,mode=0777");
        let mut mount = as_root("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "testbed"]).arg(&path);
        let mounted = mount.output().context("cannot run mount")?;
        if !mounted.status.success() {
            let error = String::from_utf8_lossy(&mounted.stderr).into_owned();
            let why = error.lines().next().unwrap_or_default();
            bail!("no tmpfs can be mounted, which needs root or sudo: {why}");
        }
        Ok(SmallDisk { path, _directory: directory })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fills the disk and keeps it full until the returned value is dropped.
    pub fn keep_full(&self) -> anyhow::Result<Full> {
        let mut ballast = File::create(self.ballast())?;
        fill(&mut ballast)?;
        let ends = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&ends);
        let refill = move || {
            while !stop.load(Ordering::Relaxed) {
                // Ignore errors, because a test notices a disk that is not full.
                let _ = fill(&mut ballast);
                std::thread::sleep(REFILL_INTERVAL);
            }
        };
        let thread = std::thread::Builder::new().name("fill".to_string()).spawn(refill)?;
        Ok(Full { ends, ballast: self.ballast(), thread: Some(thread) })
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        unmount(self.path());
    }
}

/// A file that is mounted over another file, as container runtimes mount files. Dropping the
/// `MountedFile` unmounts the file.
pub struct MountedFile(PathBuf);

impl MountedFile {
    /// Mounts `file` over the existing file `target`.
    pub fn mount(file: &Path, target: &Path) -> anyhow::Result<MountedFile> {
        let mounted = as_root("mount").arg("--bind").args([file, target]).status()?;
        ensure!(mounted.success(), "no file can be mounted, which needs root or sudo");
        Ok(MountedFile(target.to_path_buf()))
    }
}

impl Drop for MountedFile {
    fn drop(&mut self) {
        unmount(&self.0);
    }
}

fn unmount(path: &Path) {
    // Unmount lazily, because a process that is exiting may still have a file open.
    let unmounted = as_root("umount").arg("--lazy").arg(path).status();
    if !unmounted.is_ok_and(|status| status.success()) {
        let _ = writeln!(anstream::stderr(), "still mounted: {}", path.display());
    }
}

/// Keeps a disk full until this value is dropped.
pub struct Full {
    ends: Arc<AtomicBool>,
    ballast: PathBuf,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Full {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Ignore the result, because the thread does not panic.
            let _ = thread.join();
        }
        if let Err(error) = std::fs::remove_file(&self.ballast) {
            let _ = writeln!(anstream::stderr(), "{}: {error}", self.ballast.display());
        }
    }
}

pub(crate) fn as_root(program: &str) -> Command {
    if rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut sudo = Command::new("sudo");
    sudo.args(["--non-interactive", program]);
    sudo
}

fn fill(ballast: &mut File) -> std::io::Result<()> {
    // Write small blocks after the large ones, because the rest of the free space is too small for
    // a large block.
    for block in [64 * 1024, 4 * 1024] {
        let block = vec![0; block];
        loop {
            match ballast.write_all(&block) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => break,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
