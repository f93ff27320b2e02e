//! A child process that does not outlive its owner.

use crate::wait::wait_blocking;
use anyhow::{Context, bail};
pub use rustix::process::{Pid, Signal};
use rustix::process::{WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Timeout for the exit of a process or command. Only a process that hangs should reach this
/// timeout.
const EXIT_TIMEOUT: Duration = Duration::from_secs(120);

/// A child process. Dropping it kills the process.
#[derive(Debug)]
pub struct ChildProcess {
    child: Child,
    name: String,
}

impl ChildProcess {
    /// Takes ownership of a child. `name` appears in the error of [`ChildProcess::wait`].
    pub fn new(child: Child, name: impl Into<String>) -> ChildProcess {
        ChildProcess { child, name: name.into() }
    }

    pub fn pid(&self) -> anyhow::Result<Pid> {
        pid_of(&self.child)
    }

    /// True while the process runs. This function does not reap the process, so
    /// [`ChildProcess::wait`] can still return the exit status.
    pub fn is_running(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.pid().is_ok_and(|pid| matches!(waitid(WaitId::Pid(pid), options), Ok(None)))
    }

    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        Ok(kill_process(self.pid()?, signal)?)
    }

    /// Waits until the process exits. Fails after two minutes.
    pub fn wait(&mut self) -> anyhow::Result<ExitStatus> {
        let what = format!("{} exits", self.name);
        let exited = || self.child.try_wait().transpose();
        Ok(wait_blocking(&what, EXIT_TIMEOUT, exited)??)
    }

    pub fn stop(mut self) -> anyhow::Result<ExitStatus> {
        self.signal(Signal::TERM)?;
        self.wait()
    }

    pub fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // Ignore errors, because the process may have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command with `input` as its standard input, and returns its output. After
/// [`EXIT_TIMEOUT`], kills the command and its children, and returns an error.
pub(crate) fn output(command: &mut Command, input: &[u8]) -> anyhow::Result<Output> {
    command.process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let name = command.get_program().display().to_string();
    let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
    let pid = pid_of(&child)?;
    let (exited, watch) = channel::<()>();
    let watchdog = std::thread::spawn(move || {
        let hangs = watch.recv_timeout(EXIT_TIMEOUT) == Err(RecvTimeoutError::Timeout);
        hangs && kill_process_group(pid, Signal::KILL).is_ok()
    });
    if let Some(mut stdin) = child.stdin.take() {
        // Ignore errors, because a command that rejects its arguments exits without reading its
        // input.
        let _ = stdin.write_all(input);
    }
    let output = child.wait_with_output()?;
    drop(exited);
    if watchdog.join().unwrap_or_default() {
        bail!("{name} did not exit within {EXIT_TIMEOUT:?}");
    }
    Ok(output)
}

fn pid_of(child: &Child) -> anyhow::Result<Pid> {
    Pid::from_raw(i32::try_from(child.id())?).context("a process has an id")
}
