//! The process that a server runs in: its log, its threads, the record of its
//! limits, and how it comes to its end in time.

use super::ServeError;
use super::signals::{HangUp, Signals, Stop};
use crate::clock::SystemClock;
use crate::config::ServerConfig;
use crate::limits::{InMemoryLimits, LimitsFile, LimitsPersister};
use crate::log::LogBuffer;
use crate::server::{Dependencies, Server};
use crate::store::sqlite::SqliteStore;
use sd_notify::NotifyState;
use slog::{Logger, crit, error, info, warn};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// How long the last lines of the log may take to be written where nothing else
/// says so.
const LOG_FLUSH: Duration = Duration::from_secs(1);

/// Runs a server on this store until it is told to stop; `announce` says where it
/// listens.
pub fn run(
    store: SqliteStore,
    config: ServerConfig,
    hang_up: HangUp,
    announce: impl FnOnce(&Server) -> std::io::Result<()>,
) -> Result<(), ServeError> {
    let buffer = LogBuffer::start(std::io::stderr()).map_err(system("cannot start the log"))?;
    let log = crate::log::logger(&buffer, config.log_level.level());
    log_panics(&log, &buffer);
    raise_open_files(&log);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(system("cannot start the runtime"))?;
    let limits = Arc::new(InMemoryLimits::new(config.keyless_per_minute));
    let clock = Arc::new(SystemClock::start());
    let directory = store.path().parent().unwrap_or(Path::new("."));
    let file = LimitsFile::open(directory, limits.clone(), clock.clone(), log.clone());
    let persister = LimitsPersister::start(file).map_err(system("cannot record the limits"))?;
    let log_buffer = Some(Arc::clone(&buffer));
    let parts =
        Dependencies { store: Arc::new(store), limits, clock, log: log.clone(), log_buffer };
    let process = Process { config, hang_up, persister, log, buffer };
    let result = process.run(&runtime, parts, announce);
    // Whoever still reads a response, or a blocked disk, holds up the end no
    // longer.
    runtime.shutdown_background();
    result
}

struct Process {
    config: ServerConfig,
    hang_up: HangUp,
    persister: LimitsPersister,
    log: Logger,
    buffer: Arc<LogBuffer>,
}

impl Process {
    fn run(
        self,
        runtime: &Runtime,
        parts: Dependencies,
        announce: impl FnOnce(&Server) -> std::io::Result<()>,
    ) -> Result<(), ServeError> {
        runtime.block_on(async {
            let (server, mut signals) = match self.start(parts, announce) {
                Ok(started) => started,
                Err(error) => {
                    self.finish(Instant::now() + LOG_FLUSH);
                    return Err(error);
                }
            };
            tell_systemd(&self.log, &[NotifyState::Ready]);
            signals.stop(self.hang_up, || reload(&server, &self.log)).await;
            tell_systemd(&self.log, &[NotifyState::Stopping]);
            let deadline = Instant::now() + self.config.stop_within;
            let log = self.log.clone();
            let stopping = async {
                server.stop().await;
                // A panic in it has been logged.
                let _ = tokio::task::spawn_blocking(move || self.finish(deadline)).await;
            };
            tokio::select! {
                () = stopping => Ok(()),
                stop = signals.stop(HangUp::Reloads, || ()) => Err(cut_short(stop, &log)),
            }
        })
    }

    fn start(
        &self,
        parts: Dependencies,
        announce: impl FnOnce(&Server) -> std::io::Result<()>,
    ) -> Result<(Server, Signals), ServeError> {
        let signals = Signals::listen().map_err(system("cannot listen for signals"))?;
        let server = Server::start(&self.config, parts)?;
        announce(&server).map_err(system("cannot write to standard output"))?;
        Ok((server, signals))
    }

    /// Writes the counts and the last lines of the log, until the deadline at
    /// most. Blocks.
    fn finish(self, deadline: Instant) {
        let left = || deadline.saturating_duration_since(Instant::now());
        // A tenth of a second is for the line that says what was not written.
        if !self.persister.finish(left().saturating_sub(Duration::from_millis(100))) {
            error!(self.log, "the last second of counting was not recorded in time");
        }
        self.buffer.flush(left());
    }
}

fn system(doing: &'static str) -> impl FnOnce(std::io::Error) -> ServeError {
    move |source| ServeError::System { doing, source }
}

fn cut_short(stop: Stop, log: &Logger) -> ServeError {
    warn!(log, "told a second time to stop: requests under way are cut off");
    ServeError::CutShort(stop)
}

/// Reads the certificate anew, if there is one.
fn reload(server: &Server, log: &Logger) {
    let Some(certificate) = server.certificate() else {
        info!(log, "told to reload: there is no certificate to read anew");
        return;
    };
    let (certificate, log) = (Arc::clone(certificate), log.clone());
    tokio::task::spawn_blocking(move || certificate.reload(&log));
}

/// Connections are files to the system, which often allows more than it grants
/// unasked.
fn raise_open_files(log: &Logger) {
    match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(most) => info!(log, "open files are limited by the system"; "most" => most),
        Err(error) => warn!(log, "the limit on open files cannot be raised";
            "error" => error.to_string()),
    }
}

/// Does nothing unless systemd has started this and wants to hear of it.
fn tell_systemd(log: &Logger, state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        warn!(log, "systemd cannot be told"; "error" => error.to_string());
    }
}

/// A panic is a line of the log like any other, and written before it gets out.
fn log_panics(log: &Logger, buffer: &Arc<LogBuffer>) {
    let (log, buffer) = (log.clone(), Arc::clone(buffer));
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(ToString::to_string);
        let text = panic.payload_as_str().unwrap_or("a panic without a message");
        crit!(log, "a part of the server panicked"; "panic" => text, "place" => place);
        buffer.flush(LOG_FLUSH);
    }));
}
