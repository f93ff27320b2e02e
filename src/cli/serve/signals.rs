//! Signals: SIGTERM and Ctrl-C stop a server, SIGHUP reloads its certificate.

use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A stop signal that follows the first within this time is part of it: `timeout`, shells and
/// supervisors signal a process, and then its group.
const REPEATED_WITHIN: Duration = Duration::from_millis(500);

/// The signals that a server handles.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

/// What SIGHUP does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HangUp {
    /// It reloads the certificate.
    Reloads,
    /// It stops the server: its terminal was closed.
    Stops,
}

/// The signal that stopped a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGTERM.
    Terminate,
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGHUP: the terminal was closed.
    HangUp,
}

impl StopSignal {
    /// 128 and the signal's number, as shells report it.
    pub fn exit_status(self) -> u8 {
        match self {
            StopSignal::Terminate => 128 + 15,
            StopSignal::Interrupt => 128 + 2,
            StopSignal::HangUp => 128 + 1,
        }
    }
}

impl Signals {
    /// From now on these signals no longer end the process.
    pub fn listen() -> std::io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal to stop, and reloads at each SIGHUP if that is what it
    /// does.
    pub async fn stop(&mut self, hang_up: HangUp, mut reload: impl FnMut()) -> StopSignal {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return StopSignal::Terminate,
                _ = self.interrupt.recv() => return StopSignal::Interrupt,
                _ = self.hang_up.recv() => match hang_up {
                    HangUp::Reloads => reload(),
                    HangUp::Stops => return StopSignal::HangUp,
                },
            }
        }
    }

    /// Waits for another signal to stop, after the first one.
    pub async fn stop_again(&mut self, hang_up: HangUp) -> StopSignal {
        let first = Instant::now();
        loop {
            let signal = self.stop(hang_up, || ()).await;
            if first.elapsed() > REPEATED_WITHIN {
                return signal;
            }
        }
    }
}
