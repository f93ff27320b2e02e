//! `serve`: the server on a store of the operator's.

use crate::clock::SystemClock;
use crate::config::{LogLevel, ServerSettings};
use crate::front_door::TrustedProxies;
use crate::limits::{InMemoryLimits, Record, RecordKeeper};
use crate::log::LogBuffer;
use crate::server::{OperatorsListen, Parts, Server, ServerConfig, StartError};
use crate::store::StoreError;
use crate::store::sqlite::{LockError, ServerLock, SqliteStore};
use slog::{Logger, crit, error};
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How long the last lines of the log may take to be written.
const LOG_FLUSH: Duration = Duration::from_secs(1);

/// Why the server did not run to a clean end.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The store could not be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another server has the store.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The server could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The system refused a thread, a signal or a file.
    #[error("{doing}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
}

/// Serves the store of this directory until it is told to stop.
pub fn serve(
    data_dir: &Path,
    settings: &ServerSettings,
    out: &mut dyn Write,
) -> Result<(), ServeError> {
    let mut lock = ServerLock::take(data_dir)?;
    let store = SqliteStore::open(data_dir)?;
    let config = ServerConfig {
        listen: settings.listen,
        environment: settings.environment,
        proxies: TrustedProxies::new(settings.trusted_proxies.clone()),
        drain: settings.stop_within,
        tls: None,
        operators: OperatorsListen::Off,
    };
    run(store, &config, settings.keyless_per_minute, settings.log_level, |address| {
        lock.note_address(address)?;
        writeln!(out, "listening on http://{address}/v1")?;
        out.flush()
    })
}

/// Runs a server on this store; `announce` says where it listens.
pub fn run(
    store: SqliteStore,
    config: &ServerConfig,
    keyless_per_minute: u32,
    log_level: LogLevel,
    announce: impl FnOnce(SocketAddr) -> std::io::Result<()>,
) -> Result<(), ServeError> {
    let system = |doing| move |source| ServeError::System { doing, source };
    let buffer = LogBuffer::start(std::io::stderr()).map_err(system("cannot start the log"))?;
    let log = crate::log::logger(&buffer, log_level.level());
    log_panics(&log, &buffer);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(system("cannot start the runtime"))?;
    let limits = Arc::new(InMemoryLimits::new(keyless_per_minute));
    let clock = Arc::new(SystemClock::start());
    let keeper = keep_record(&store, &limits, &clock, &log)?;
    let result = runtime.block_on(async {
        let mut signals = Signals::listen().map_err(system("cannot listen for signals"))?;
        let parts = Parts {
            store: Arc::new(store),
            limits,
            clock,
            log: log.clone(),
            log_buffer: Some(Arc::clone(&buffer)),
        };
        let server = Server::start(config, parts)?;
        announce(server.address()).map_err(system("cannot write to standard output"))?;
        signals.next().await;
        tokio::select! {
            () = server.stop() => {}
            () = signals.next() => {}
        }
        Ok(())
    });
    if !keeper.finish() {
        error!(log, "the last second of counting was not recorded in time");
    }
    buffer.flush(LOG_FLUSH);
    // Whoever still reads a response, or a blocked disk, holds up the end no
    // longer.
    runtime.shutdown_background();
    result
}

/// Restores the limits from their record beside the store, and keeps it.
fn keep_record(
    store: &SqliteStore,
    limits: &Arc<InMemoryLimits>,
    clock: &Arc<SystemClock>,
    log: &Logger,
) -> Result<RecordKeeper, ServeError> {
    let directory = store.path().parent().unwrap_or(Path::new("."));
    let record = Record::open(directory, limits.clone(), clock.clone(), log.clone());
    let doing = "cannot start the thread that records the limits";
    RecordKeeper::start(record).map_err(|source| ServeError::System { doing, source })
}

/// SIGTERM and Ctrl-C.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
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
