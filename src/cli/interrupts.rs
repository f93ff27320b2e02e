//! Handles signals during long commands. After the first SIGINT, SIGTERM or SIGHUP, a command
//! finishes its current step and ends. Signals within the next half second are ignored, because
//! shells and supervisors may signal twice. A later signal ends the command immediately.
//!
//! SIGTSTP (Ctrl-Z) does not suspend a command during a step, because each step locks the store.

use super::serve::{EndedBySignal, HangUp, Signals};
use anyhow::Context;
use rustix::process::{Signal, getpid, kill_process};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Mutex;

/// The pause after the process sends SIGSTOP to itself. Without the pause, the next step might
/// begin before SIGSTOP has stopped all threads.
const SUSPENDED_WITHIN: Duration = Duration::from_millis(10);

pub struct Interrupts {
    /// The exit status for the first signal; 0 until a signal arrives.
    status: Arc<AtomicU8>,
    /// Locked during each step, so that SIGTSTP suspends the process only between two steps.
    step: Arc<Mutex<()>>,
}

impl Interrupts {
    /// Starts to handle signals. Records the first stop signal, and ends the process on a later one
    /// (`Signals::stop_again`). SIGTSTP suspends the process.
    pub fn watch() -> anyhow::Result<Interrupts> {
        let runtime = Builder::new_current_thread().enable_io().build();
        let runtime = runtime.context("cannot listen for signals")?;
        let (mut signals, mut suspensions) = {
            let _entered = runtime.enter();
            let kind = SignalKind::from_raw(Signal::TSTP.as_raw());
            (Signals::listen()?, signal(kind).context("cannot listen for signals")?)
        };
        let interrupts = Interrupts { status: Arc::default(), step: Arc::default() };
        let (status, step) = (Arc::clone(&interrupts.status), Arc::clone(&interrupts.step));
        runtime.spawn(async move {
            while suspensions.recv().await.is_some() {
                let _between_steps = step.lock().await;
                let _ = kill_process(getpid(), Signal::STOP);
                std::thread::sleep(SUSPENDED_WITHIN);
            }
        });
        let watch = async move {
            status.store(signals.stop(HangUp::Stops, || ()).await, Ordering::Release);
            std::process::exit(signals.stop_again(HangUp::Stops).await.into())
        };
        let thread = std::thread::Builder::new().name("signals".to_string());
        let watching = thread.spawn(move || runtime.block_on(watch));
        watching.context("cannot listen for signals")?;
        Ok(interrupts)
    }

    /// Runs `work`, which must call its argument between two steps. The call returns `Break` if a
    /// signal has asked the command to end. While `work` runs, SIGTSTP suspends the process only
    /// during such a call.
    pub fn with_steps<T>(&self, work: impl FnOnce(&dyn Fn() -> ControlFlow<()>) -> T) -> T {
        let step = Cell::new(Some(self.step.blocking_lock()));
        work(&|| {
            drop(step.take());
            step.set(Some(self.step.blocking_lock()));
            self.status().map_or(ControlFlow::Continue(()), |_| ControlFlow::Break(()))
        })
    }

    /// Returns the exit status for the first signal, or `None` if no signal has arrived.
    pub fn status(&self) -> Option<u8> {
        Some(self.status.load(Ordering::Acquire)).filter(|status| *status > 0)
    }

    /// Returns the error with which a command ends after a signal, or `None` if no signal arrived.
    /// `did` describes what the command has done.
    pub fn error(&self, did: impl FnOnce() -> String) -> Option<EndedBySignal> {
        let status = self.status()?;
        Some(EndedBySignal { status, what: format!("interrupted; {}", did()) })
    }
}
