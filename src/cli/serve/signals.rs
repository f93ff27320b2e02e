//! What the system tells a server: SIGTERM and Ctrl-C to stop, SIGHUP to read its
//! certificate anew.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that a server listens for.
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

/// Which signal told the server to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// SIGTERM.
    Terminate,
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGHUP: the terminal was closed.
    HangUp,
}

impl Stop {
    /// What shells make of a program that this signal has ended.
    pub fn exit_status(self) -> u8 {
        match self {
            Stop::Terminate => 128 + 15,
            Stop::Interrupt => 128 + 2,
            Stop::HangUp => 128 + 1,
        }
    }
}

impl Signals {
    /// From now on they end the program no more.
    pub fn listen() -> std::io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits until the server is told to stop, and reloads at each SIGHUP if that
    /// is what it does.
    pub async fn stop(&mut self, hang_up: HangUp, mut reload: impl FnMut()) -> Stop {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return Stop::Terminate,
                _ = self.interrupt.recv() => return Stop::Interrupt,
                _ = self.hang_up.recv() => match hang_up {
                    HangUp::Reloads => reload(),
                    HangUp::Stops => return Stop::HangUp,
                },
            }
        }
    }
}
