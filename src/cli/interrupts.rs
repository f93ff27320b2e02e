//! SIGINT, SIGTERM and SIGHUP for a command that has something to finish before it ends.

use super::serve::{EndedBySignal, HangUp, Signals};
use anyhow::Context;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use tokio::runtime::Builder;

/// The signals of this process, while a command runs: the status to exit with after the first
/// one, and 0 before.
pub struct Interrupts(Arc<AtomicU8>);

impl Interrupts {
    /// From now on the first signal is noted, and the second ends the process.
    pub fn watch() -> anyhow::Result<Interrupts> {
        let runtime = Builder::new_current_thread().enable_io().build();
        let runtime = runtime.context("cannot listen for signals")?;
        let mut signals = {
            let _entered = runtime.enter();
            Signals::listen()?
        };
        let interrupts = Interrupts(Arc::default());
        let status = Arc::clone(&interrupts.0);
        let watch = async move {
            status.store(signals.stop(HangUp::Stops, || ()).await, Ordering::Release);
            std::process::exit(signals.stop_again(HangUp::Stops).await.into())
        };
        let thread = std::thread::Builder::new().name("signals".to_string());
        let watching = thread.spawn(move || runtime.block_on(watch));
        watching.context("cannot listen for signals")?;
        Ok(interrupts)
    }

    /// The status to exit with, if a signal is to end the command.
    pub fn status(&self) -> Option<u8> {
        Some(self.0.load(Ordering::Acquire)).filter(|status| *status > 0)
    }

    /// The error of a command that a signal is to end, if one came, and what it did by then.
    pub fn error(&self, did: impl FnOnce() -> String) -> Option<EndedBySignal> {
        let status = self.status()?;
        Some(EndedBySignal { status, what: format!("interrupted; {}", did()) })
    }
}
