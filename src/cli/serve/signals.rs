//! Handles signals. SIGTERM and Ctrl-C stop every command. SIGHUP makes `serve` reload its
//! certificate, and stops every other command.

use anyhow::Context;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A second stop signal within this time is ignored. `timeout`, shells and supervisors may signal a
/// process twice, directly and through its group.
const REPEATED_WITHIN: Duration = Duration::from_millis(500);

pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HangUp {
    /// Reloads the certificate.
    Reloads,
    /// Stops the server or the command, because its terminal was closed.
    Stops,
}

/// The error of a server or command that a signal ended early. `status` is the exit status.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct EndedBySignal {
    pub status: u8,
    pub what: String,
}

/// Ignores SIGHUP until [`Signals::listen`] is called. A program that renews the certificate may
/// send SIGHUP during the start. Without this function, the signal would end the server.
pub fn ignore_hang_up() -> anyhow::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build();
    let runtime = runtime.context("cannot listen for signals")?;
    let _entered = runtime.enter();
    // SIGHUP stays ignored after this runtime is dropped, because tokio never removes its handler.
    signal(SignalKind::hangup()).map(drop).context("cannot listen for signals")
}

impl Signals {
    /// Starts to handle SIGTERM, SIGINT and SIGHUP. From then on, these signals no longer end the
    /// process by themselves.
    pub fn listen() -> anyhow::Result<Signals> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Signals {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for a stop signal, and returns 128 plus its number as the exit status, as shells do.
    /// With [`HangUp::Reloads`], a SIGHUP calls `reload`, and the wait continues.
    pub async fn stop(&mut self, hang_up: HangUp, mut reload: impl FnMut()) -> u8 {
        let signal = loop {
            tokio::select! {
                _ = self.terminate.recv() => break SignalKind::terminate(),
                _ = self.interrupt.recv() => break SignalKind::interrupt(),
                _ = self.hang_up.recv() => match hang_up {
                    HangUp::Reloads => reload(),
                    HangUp::Stops => break SignalKind::hangup(),
                },
            }
        };
        128 + signal.as_raw_value() as u8
    }

    /// Waits for a second stop signal. Ignores signals that arrive within `REPEATED_WITHIN` after
    /// this call, because they repeat the first one.
    pub async fn stop_again(&mut self, hang_up: HangUp) -> u8 {
        let first = Instant::now();
        loop {
            let signal = self.stop(hang_up, || ()).await;
            if first.elapsed() > REPEATED_WITHIN {
                return signal;
            }
        }
    }
}
