//! SIGINT, SIGTERM and SIGHUP for a command that has something to remove before it ends.

use super::serve::{HangUp, Signals};
use anyhow::Context;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// The signals of this process, while a command runs: the status to exit with after the first
/// one, and 0 before.
pub struct Interrupts(Arc<AtomicU8>);

/// A command that a signal ended, with 128 and the signal's number.
#[derive(Debug, thiserror::Error)]
#[error("interrupted; nothing was written")]
pub struct Interrupted(u8);

impl Interrupted {
    /// The status to exit with.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.0)
    }
}

impl Interrupts {
    /// From now on the first signal is noted, and the second ends the process.
    pub fn watch() -> anyhow::Result<Interrupts> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .context("cannot listen for signals")?;
        let mut signals = {
            let _entered = runtime.enter();
            Signals::listen().context("cannot listen for signals")?
        };
        let interrupts = Interrupts(Arc::default());
        let status = Arc::clone(&interrupts.0);
        let watch = move || {
            runtime.block_on(async {
                let first = signals.stop(HangUp::Stops, || ()).await;
                status.store(first.exit_status(), Ordering::Release);
                let second = signals.stop_again(HangUp::Stops).await;
                std::process::exit(second.exit_status().into());
            })
        };
        std::thread::Builder::new()
            .name("signals".to_string())
            .spawn(watch)
            .context("cannot listen for signals")?;
        Ok(interrupts)
    }

    /// The error of a command that a signal is to end, if one came.
    pub fn error(&self) -> Option<Interrupted> {
        Some(self.0.load(Ordering::Acquire)).filter(|status| *status > 0).map(Interrupted)
    }
}
