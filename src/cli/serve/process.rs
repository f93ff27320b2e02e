//! Runs the process of a server. Sets up the log and the threads, and raises the limit on open
//! files. Stops the server within the sum of the stop delay and the shutdown timeout.

use super::served_store::ServedStore;
use super::signals::{EndedBySignal, HangUp, Signals};
use super::systemd;
use crate::clock::SystemClock;
use crate::config::ServerConfig;
use crate::log::LogBuffer;
use crate::server::{Dependencies, Server, open_connections};
use anyhow::Context;
use sd_notify::NotifyState;
use slog::{Logger, crit, error, info, warn};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The maximum time to write the last log lines. In an orderly shutdown, the shutdown's deadline
/// applies instead.
const LOG_FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The time before the shutdown's deadline that is reserved for the last log lines.
const LOG_FLUSH_RESERVE: Duration = Duration::from_millis(100);

/// The longest time that a stopping server waits for its store to finish. For example, the store
/// may write a checkpoint to a slow disk.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts a server, and runs it until a signal stops it. A signal can stop the server even while it
/// starts. `announce` prints the server's addresses.
pub fn run(
    open: impl AsyncFnOnce(Arc<SystemClock>, &Logger) -> anyhow::Result<ServedStore>,
    config: ServerConfig,
    hang_up: HangUp,
    announce: impl FnOnce(&Server) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    create_private_files();
    let buffer = LogBuffer::start(std::io::stderr()).context("cannot start the log")?;
    let log = crate::log::logger(&buffer, config.log_level.level());
    log_panics(&log, &buffer);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let result = runtime.block_on(async {
        let mut signals = Signals::listen()?;
        info!(log, "starting"; "version" => env!("CARGO_PKG_VERSION"));
        raise_open_files(&log);
        let clock = Arc::new(SystemClock::start());
        let opened = tokio::select! {
            opened = open(Arc::clone(&clock), &log) => opened.map(Some),
            _ = signals.stop(hang_up, || ()) => {
                info!(log, "stopped");
                Ok(None)
            }
        };
        let served = match opened {
            Ok(Some(served)) => served,
            not_opened => {
                buffer.flush(LOG_FLUSH_TIMEOUT);
                return not_opened.map(drop);
            }
        };
        let dependencies = Dependencies {
            store: Arc::clone(&served.store),
            rate_limiter: Arc::clone(&served.rate_limiter),
            clock,
            log: log.clone(),
            log_buffer: Some(Arc::clone(&buffer)),
        };
        let process = Process { config, hang_up, served, log, buffer: Arc::clone(&buffer) };
        process.run(signals, dependencies, announce).await
    });
    // Shut down without waiting for slow clients or a blocked disk.
    runtime.shutdown_background();
    result
}

struct Process {
    config: ServerConfig,
    hang_up: HangUp,
    served: ServedStore,
    log: Logger,
    buffer: Arc<LogBuffer>,
}

impl Process {
    async fn run(
        self,
        mut signals: Signals,
        dependencies: Dependencies,
        announce: impl FnOnce(&Server) -> std::io::Result<()>,
    ) -> anyhow::Result<()> {
        let mut must_reload = false;
        let started = tokio::select! {
            started = self.start(dependencies, announce) => started.map(Some),
            _ = signals.stop(self.hang_up, || must_reload = true) => Ok(None),
        };
        let server = match started {
            Ok(server) => server,
            Err(error) => {
                let (deadline, buffer) =
                    (Instant::now() + LOG_FLUSH_TIMEOUT, Arc::clone(&self.buffer));
                self.finish(deadline).await;
                buffer.flush(remaining(deadline));
                return Err(error);
            }
        };
        if let Some(server) = &server {
            systemd::notify(&self.log, NotifyState::Ready);
            let watchdog = systemd::keep_watchdog(server.running_batch().clone(), self.log.clone());
            // Do not await the task. If the systemd unit sets `WatchdogSec`, the task never ends.
            tokio::spawn(watchdog);
            if must_reload {
                reload(server, &self.log);
            }
            signals.stop(self.hang_up, || reload(server, &self.log)).await;
        }
        systemd::notify(&self.log, NotifyState::Stopping);
        let deadline = Instant::now() + self.config.stop_delay + self.config.shutdown_timeout;
        let (log, buffer) = (self.log.clone(), Arc::clone(&self.buffer));
        let address = server.as_ref().map(Server::address);
        let stopping = async {
            if let Some(server) = server {
                server.stop().await;
            }
            // The only possible error is a panic, which the panic hook logs.
            let _ = tokio::spawn(self.finish(deadline)).await;
        };
        let second = tokio::select! {
            () = stopping => None,
            status = signals.stop_again(HangUp::Reloads) => Some(status),
        };
        if let Some(status) = second {
            buffer.flush(LOG_FLUSH_TIMEOUT);
            let connections = address.and_then(open_connections).unwrap_or(0);
            let what =
                format!("a second signal stopped the server{}", describe_cut_off(connections));
            return Err(EndedBySignal { status, what }.into());
        }
        info!(log, "stopped");
        // If nothing reads the log, the flush waits until the deadline. Another signal ends the
        // flush.
        tokio::select! {
            () = flush(buffer, deadline) => {}
            _ = signals.stop_again(HangUp::Reloads) => {}
        }
        Ok(())
    }

    async fn start(
        &self,
        dependencies: Dependencies,
        announce: impl FnOnce(&Server) -> std::io::Result<()>,
    ) -> anyhow::Result<Server> {
        let server = Server::start(&self.config, dependencies).await?;
        self.served.store.announce(server.url());
        if let Err(error) = announce(&server) {
            warn!(self.log, "standard output cannot be written"; "error" => error.to_string(),
                "effect" => "where the server listens is in this log alone");
        }
        Ok(server)
    }

    /// Saves the last counts, then lets the store finish its work. Ends at least
    /// [`LOG_FLUSH_RESERVE`] before the deadline, so that the caller can write the last log lines.
    async fn finish(self, deadline: Instant) {
        let remaining = || remaining(deadline).saturating_sub(LOG_FLUSH_RESERVE);
        if let Some(persister) = self.served.persister
            && !persister.finish(remaining()).await
        {
            error!(self.log, "last request counts not saved";
                "effect" => "the next start forgets what was counted since the last save");
        }
        let timeout = remaining().min(LEAVE_TIMEOUT);
        self.served.store.leave(timeout, &self.log).await;
    }
}

fn describe_cut_off(connections: usize) -> String {
    match connections {
        0 => String::new(),
        1 => " with requests in progress on 1 connection".to_string(),
        several => format!(" with requests in progress on {several} connections"),
    }
}

fn remaining(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Flushes the log, at most until the deadline. Starts a thread, because a hanging disk may occupy
/// all of tokio's blocking threads.
async fn flush(buffer: Arc<LogBuffer>, deadline: Instant) {
    let (sender, flushed) = oneshot::channel();
    let flush = move || {
        buffer.flush(remaining(deadline));
        sender.send(())
    };
    // If the thread cannot be started, the sender is dropped, and the wait ends.
    let _ = std::thread::Builder::new().name("last-lines".to_string()).spawn(flush);
    let _ = flushed.await;
}

/// Handles a SIGHUP. Only requests the reload, which `ReloadableCertificate::keep_current` then
/// performs.
fn reload(server: &Server, log: &Logger) {
    match server.certificate() {
        Some(certificate) => certificate.request_reload(),
        None => info!(log, "SIGHUP ignored: there is no certificate to reload"),
    }
}

/// Makes new files of this process readable only by their owner.
fn create_private_files() {
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}

/// Raises the soft limit on open files to the hard limit, because each connection is an open file.
fn raise_open_files(log: &Logger) {
    match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(limit) => info!(log, "open files limited"; "limit" => limit),
        Err(error) => warn!(log, "open-file limit not raised"; "error" => error.to_string()),
    }
}

/// Installs a hook that logs each panic and flushes the log before the panic unwinds.
fn log_panics(log: &Logger, buffer: &Arc<LogBuffer>) {
    let (log, buffer) = (log.clone(), Arc::clone(buffer));
    std::panic::set_hook(Box::new(move |panic| {
        let location = panic.location().map(ToString::to_string);
        let message = panic.payload_as_str().unwrap_or("no message");
        crit!(log, "thread panicked"; "panic" => message, "location" => location);
        buffer.flush(LOG_FLUSH_TIMEOUT);
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocking::spawn_blocking_with_permit;
    use crate::store::sqlite::SqliteStore;
    use slog::{Discard, o};
    use std::sync::mpsc::channel;

    #[test]
    fn a_stop_ends_while_all_blocking_threads_hang() {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.enable_all().max_blocking_threads(1).build().unwrap();
        let (_release, hanging) = channel::<()>();
        runtime.block_on(async { drop(spawn_blocking_with_permit((), move || hanging.recv())) });
        let (config, log) = (ServerConfig::default(), Logger::root(Discard, o!()));
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        let clock = Arc::new(SystemClock::start());
        let served = ServedStore::embedded(store, 1, clock, &log).unwrap();
        let counts = directory.path().join("limits.snapshot");
        std::fs::remove_file(&counts).unwrap();
        let buffer = LogBuffer::start(std::io::sink()).unwrap();
        let (hang_up, last_lines) = (HangUp::Reloads, Arc::clone(&buffer));
        let process = Process { config, hang_up, served, log, buffer };
        let deadline = Instant::now() + Duration::from_secs(1);
        let stop = async {
            process.finish(deadline).await;
            flush(last_lines, deadline).await;
        };
        let longest = Duration::from_secs(60);
        runtime.block_on(async { tokio::time::timeout(longest, stop).await }).unwrap();
        assert!(counts.exists(), "the last counts are saved");
        runtime.shutdown_background();
    }
}
