//! SIGINT, SIGTERM and SIGHUP for a command that has something to remove before it ends.

use super::serve::{HangUp, Signals, StopSignal};
use anyhow::Context;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The signals of this process, while a command runs.
pub struct Interrupts {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    flag: AtomicBool,
    signal: OnceLock<StopSignal>,
}

/// A command that a signal ended.
#[derive(Debug, thiserror::Error)]
#[error("interrupted; nothing was written")]
pub struct Interrupted(Option<StopSignal>);

impl Interrupted {
    /// The status to exit with: 128 and the signal's number.
    pub fn exit_code(&self) -> ExitCode {
        self.0.map_or(ExitCode::FAILURE, |signal| ExitCode::from(signal.exit_status()))
    }
}

impl Interrupts {
    /// From now on the first signal sets the flag, and the second ends the process.
    pub fn watch() -> anyhow::Result<Interrupts> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .context("cannot listen for signals")?;
        let shared = Arc::new(Shared::default());
        let watched = Arc::clone(&shared);
        let mut signals = {
            let _entered = runtime.enter();
            Signals::listen().context("cannot listen for signals")?
        };
        let watch = move || {
            runtime.block_on(async {
                let signal = signals.stop(HangUp::Stops, || ()).await;
                // Set once, by this thread alone.
                let _ = watched.signal.set(signal);
                watched.flag.store(true, Ordering::Release);
                let second = signals.stop_again(HangUp::Stops).await;
                std::process::exit(second.exit_status().into());
            })
        };
        std::thread::Builder::new()
            .name("signals".to_string())
            .spawn(watch)
            .context("cannot listen for signals")?;
        Ok(Interrupts { shared })
    }

    /// Set once a signal came.
    pub fn flag(&self) -> &AtomicBool {
        &self.shared.flag
    }

    /// The error of a command that a signal ended.
    pub fn into_error(self) -> anyhow::Error {
        Interrupted(self.shared.signal.get().copied()).into()
    }
}
