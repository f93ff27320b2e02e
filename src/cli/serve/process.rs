//! The process that a server runs in: its log, its threads, the record of its
//! limits, and how it comes to its end in time.

use super::ServeError;
use super::signals::{Signals, Stop};
use crate::clock::SystemClock;
use crate::config::LogLevel;
use crate::limits::{InMemoryLimits, Record, RecordKeeper};
use crate::log::LogBuffer;
use crate::server::{Parts, Server, ServerConfig};
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

/// What part of the time to stop, at most, is kept for the counts and the log
/// when requests have had theirs.
const KEPT: Duration = Duration::from_secs(1);

/// What a server runs with.
pub struct Running {
    /// How the server is to run.
    pub config: ServerConfig,
    /// Requests a minute from one address without a valid key.
    pub keyless_per_minute: u32,
    /// Which lines the log has.
    pub log_level: LogLevel,
    /// How long it may take from the signal to the end.
    pub stop_within: Duration,
    /// A closed terminal ends it too; otherwise SIGHUP asks for the certificate to
    /// be read anew.
    pub ends_with_its_terminal: bool,
}

/// How long requests may take to finish, of a time to stop.
pub fn drain_within(stop_within: Duration) -> Duration {
    stop_within - KEPT.min(stop_within / 4)
}

/// Runs a server on this store until it is told to stop; `announce` says where it
/// listens.
pub fn run(
    store: SqliteStore,
    running: Running,
    announce: impl FnOnce(&Server) -> std::io::Result<()>,
) -> Result<(), ServeError> {
    let buffer = LogBuffer::start(std::io::stderr()).map_err(system("cannot start the log"))?;
    let log = crate::log::logger(&buffer, running.log_level.level());
    log_panics(&log, &buffer);
    raise_open_files(&log);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(system("cannot start the runtime"))?;
    let limits = Arc::new(InMemoryLimits::new(running.keyless_per_minute));
    let clock = Arc::new(SystemClock::start());
    let directory = store.path().parent().unwrap_or(Path::new("."));
    let record = Record::open(directory, limits.clone(), clock.clone(), log.clone());
    let keeper = RecordKeeper::start(record).map_err(system("cannot record the limits"))?;
    let log_buffer = Some(Arc::clone(&buffer));
    let parts = Parts { store: Arc::new(store), limits, clock, log: log.clone(), log_buffer };
    let process = Process { running, keeper, log, buffer };
    let result = process.run(&runtime, parts, announce);
    // Whoever still reads a response, or a blocked disk, holds up the end no
    // longer.
    runtime.shutdown_background();
    result
}

struct Process {
    running: Running,
    keeper: RecordKeeper,
    log: Logger,
    buffer: Arc<LogBuffer>,
}

impl Process {
    fn run(
        self,
        runtime: &Runtime,
        parts: Parts,
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
            let stays = !self.running.ends_with_its_terminal;
            signals.stop(stays, || reload(&server, &self.log)).await;
            tell_systemd(&self.log, &[NotifyState::Stopping]);
            let deadline = Instant::now() + self.running.stop_within;
            let log = self.log.clone();
            let stopping = async {
                server.stop().await;
                // A panic in it has been logged.
                let _ = tokio::task::spawn_blocking(move || self.finish(deadline)).await;
            };
            tokio::select! {
                () = stopping => Ok(()),
                stop = signals.stop(true, || ()) => Err(cut_short(stop, &log)),
            }
        })
    }

    fn start(
        &self,
        parts: Parts,
        announce: impl FnOnce(&Server) -> std::io::Result<()>,
    ) -> Result<(Server, Signals), ServeError> {
        let signals = Signals::listen().map_err(system("cannot listen for signals"))?;
        let server = Server::start(&self.running.config, parts)?;
        announce(&server).map_err(system("cannot write to standard output"))?;
        Ok((server, signals))
    }

    /// Writes the counts and the last lines of the log, until the deadline at
    /// most. Blocks.
    fn finish(self, deadline: Instant) {
        let left = || deadline.saturating_duration_since(Instant::now());
        // A tenth of a second is for the line that says what was not written.
        if !self.keeper.finish(left().saturating_sub(Duration::from_millis(100))) {
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
