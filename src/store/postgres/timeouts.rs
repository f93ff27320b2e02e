//! The timeouts of requests, commands, servers and connections to PostgreSQL, with checks of how
//! they depend on each other.

use crate::store::agreement::lease::LEASE;
use crate::store::{COMMAND_TIMEOUT, READINESS_TIMEOUT, REQUEST_TIMEOUT, ROW_LOOKUPS};
use std::time::Duration;

/// Timeout for a server's attempt to connect to one address of PostgreSQL.
pub const CONNECT_LIMIT: Duration = Duration::from_millis(500);

/// Timeout of a command's attempt to connect to one address of PostgreSQL.
pub const COMMAND_CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Timeout of each commit while a session is opened. If adding the replica's row or the first
/// heartbeat takes longer, the server tries another host.
pub const CONFIRM_LIMIT: Duration = Duration::from_millis(500);

/// TCP keepalive: idle time, interval, number of probes. The idle time and the probes together take
/// [`UNACKNOWLEDGED_LIMIT`]. So a lost peer is detected as fast on an idle connection as on a busy
/// one.
pub const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
pub const KEEPALIVE_RETRIES: u32 = 4;

/// TCP user timeout. A connection ends if sent data has been unacknowledged for longer than this
/// time.
pub const UNACKNOWLEDGED_LIMIT: Duration = Duration::from_secs(30);

/// If a server's commit on a primary has waited for standbys longer than this, servers open no new
/// session to the primary.
pub const STANDBY_LIMIT: Duration = Duration::from_secs(1);

pub const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(250);

/// The maximum time that a batch's first attempt waits for a session. After this time, the clients
/// of the batch get a 503.
pub const SESSION_WAIT: Duration = Duration::from_secs(1);

/// Pause after a failed attempt to open a session, and before a batch is sent again.
pub const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A batch is sent only if at least this much time remains until the earliest deadline in the
/// batch. With less time, the answer could be late, and a late answer ends the session.
pub const MIN_BATCH_TIME: Duration = Duration::from_millis(500);

/// The maximum time that a batch waits for each of its two locks, the change lock and an order's
/// row. The wait is shorter if the deadline is near.
pub const LOCK_WAIT: Duration = Duration::from_secs(2);

/// The time reserved for executing a batch, in addition to its two lock waits.
pub const BATCH_EXECUTION_TIME: Duration = Duration::from_millis(300);

/// Timeout of the readiness check's test write.
pub const TEST_LIMIT: Duration = Duration::from_millis(1_500);

/// Timeout of a short read or of a heartbeat. If the reply is late, the session ends.
pub const READ_LIMIT: Duration = Duration::from_secs(2);

/// Timeout of each task on the maintenance connection, such as the removal of old rows. A late
/// answer ends the session.
pub const MAINTENANCE_LIMIT: Duration = READ_LIMIT.saturating_mul(4);

/// Timeout of a statement that reads about `PAGE_ROWS` orders.
pub const LONG_READ_LIMIT: Duration = Duration::from_secs(30);

/// The maximum time that a request waits to be counted. If the request's deadline comes earlier,
/// the wait ends at the deadline.
pub const DECISION_LIMIT: Duration = Duration::from_secs(2);

/// The maximum time to count a batch of requests. If PostgreSQL takes longer, the session ends.
pub const COUNT_LIMIT: Duration = READ_LIMIT.saturating_mul(3);

/// `Retry-After` of the response to a request that could not be counted.
pub const UNCOUNTED_RETRY_AFTER: Duration = Duration::from_secs(1);

/// The maximum time for which the server stays not ready after it failed to count a batch of
/// requests. The server is ready earlier if it counts a later batch.
pub const COUNT_FAILURE_DURATION: Duration = Duration::from_secs(2);

pub const HEARTBEAT_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The maximum time that a command waits for a server's next heartbeat. A server that can reach the
/// database sends a heartbeat sooner, even in a new session.
pub const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(5);

/// For this time after a server has written its row, long commands assume that the server runs.
/// They then work in smaller steps and pause between steps. A running server writes its row about
/// every 10 s.
pub const SERVES_FOR: Duration = Duration::from_secs(30);

/// Servers remove another server's row after this time without its heartbeat. A suspended server
/// adds its row again when it resumes.
pub const SILENT_FOR: Duration = Duration::from_secs(120);

/// Timeouts that PostgreSQL enforces, in milliseconds. 0 means no limit.
#[derive(Clone, Copy)]
pub struct ServerTimeouts {
    pub lock_ms: u64,
    pub statement_ms: u64,
    /// `idle_in_transaction_session_timeout`. Ends the connection of a suspended or unreachable
    /// process, because its open transaction might block cancellations.
    pub idle_ms: u64,
}

/// Timeouts for cancelling orders. The idle timeout is short because the transaction holds the
/// change lock.
pub const WRITER: ServerTimeouts = timeouts(LOCK_WAIT.as_millis() as u64, 10_000, 2_000);

/// Timeouts for freshness queries, for polls of changed keys, and for lookups of keys.
pub const FRESHNESS: ServerTimeouts = timeouts(100, 2_000, 10_000);

/// The maximum number of freshness queries in flight on one connection. With several in flight, a
/// list request seldom waits for an earlier query.
pub const MAX_LIST_QUERIES: usize = 8;

pub const READER: ServerTimeouts = timeouts(100, 1_500, 20_000);

/// Timeouts for the tasks in `maintenance.rs`, such as removing old rows.
pub const MAINTENANCE: ServerTimeouts = READER;

/// Timeouts for heartbeats. The lock timeout is short, because normally no other process locks the
/// server's row.
pub const HEARTBEAT: ServerTimeouts = timeouts(250, 5_000, 10_000);

/// The maximum number of batches of counts that are in flight. With four, a request usually waits
/// at most a quarter of a round trip until its batch is sent.
pub const CONCURRENT_COUNTS: usize = 4;

pub const LIMITER: ServerTimeouts = timeouts(500, 650, 10_000);

pub const LONG_READER: ServerTimeouts = timeouts(1_000, LONG_READ_LIMIT.as_millis() as u64, 20_000);

/// Timeouts for one command. Each wait for a lock ends after the documented [`COMMAND_TIMEOUT`].
/// Statements have no timeout, because some commands process whole tables.
pub const COMMAND: ServerTimeouts = timeouts(COMMAND_TIMEOUT.as_millis() as u64, 0, 20_000);

const fn timeouts(lock_ms: u64, statement_ms: u64, idle_ms: u64) -> ServerTimeouts {
    ServerTimeouts { lock_ms, statement_ms, idle_ms }
}

const fn ms(duration: Duration) -> u64 {
    duration.as_millis() as u64
}

const _: () = {
    // The next four assertions ensure these rules, in this order:
    //
    // - A cancellation that waits `LOCK_WAIT` for each of its two locks is answered in time.
    // - A cancellation that waits for a session and for older leases is answered in time.
    // - A batch that has only `MIN_BATCH_TIME` left can still be executed.
    // - A suspended writer loses the change lock before a waiting request times out.
    assert!(2 * ms(LOCK_WAIT) + ms(BATCH_EXECUTION_TIME) < ms(REQUEST_TIMEOUT));
    assert!(ms(SESSION_WAIT) + ms(LEASE) + ms(MIN_BATCH_TIME) < ms(REQUEST_TIMEOUT));
    assert!(ms(BATCH_EXECUTION_TIME) < ms(MIN_BATCH_TIME));
    assert!(WRITER.idle_ms < ms(REQUEST_TIMEOUT));
    // The test write times out before the readiness check does, so the check can report why the
    // write failed.
    assert!(ms(MIN_BATCH_TIME) < ms(TEST_LIMIT) && ms(TEST_LIMIT) < ms(READINESS_TIMEOUT));
    // A batch's wait for a session is long enough for one connection attempt and one commit.
    assert!(ms(CONNECT_LIMIT) + ms(CONFIRM_LIMIT) <= ms(SESSION_WAIT));
    // A lease survives two lost heartbeats, or one heartbeat that waits for a lock.
    assert!(3 * ms(HEARTBEAT_INTERVAL) < ms(LEASE));
    assert!(HEARTBEAT.lock_ms <= ms(HEARTBEAT_INTERVAL));
    // A command polls more often than servers send heartbeats, so the command misses no heartbeat.
    assert!(ms(HEARTBEAT_POLL_INTERVAL) < ms(HEARTBEAT_INTERVAL));
    // A server's heartbeats are commits too, so they wait for the same standbys as its other
    // commits. If a commit has waited for longer than `STANDBY_LIMIT`, no heartbeat has been
    // confirmed during this time. So the server's lease has expired.
    assert!(ms(LEASE) <= ms(STANDBY_LIMIT));
    // A lost peer is detected after the same time with and without unacknowledged data.
    let silent_ms = ms(KEEPALIVE_IDLE) + KEEPALIVE_RETRIES as u64 * ms(KEEPALIVE_INTERVAL);
    assert!(silent_ms == ms(UNACKNOWLEDGED_LIMIT));
    // A server's lease expires before its row is removed, because commands do not wait for a server
    // without a row.
    assert!(ms(LEASE) < ms(SILENT_FOR));
    // PostgreSQL must end slow statements and lock waits before READ_LIMIT, because a later reply
    // ends the session.
    assert!(READER.lock_ms < READER.statement_ms && READER.statement_ms < ms(READ_LIMIT));
    assert!(FRESHNESS.lock_ms < ms(READ_LIMIT));
    // A lookup of a row is answered within READ_LIMIT, even if all earlier lookups wait for a lock.
    assert!(ROW_LOOKUPS as u64 * READER.lock_ms < ms(READ_LIMIT));
    // Removing old rows and recording the uses of keys share a connection. Both finish within
    // `MAINTENANCE_LIMIT`, even if each needs two slow statements.
    assert!(2 * 2 * MAINTENANCE.statement_ms < ms(MAINTENANCE_LIMIT));
    // A poll of changed keys may wait for all freshness queries, because polls and freshness
    // queries share a connection. The wait must be shorter than a second. Otherwise cached keys
    // would expire, and requests would get a 503.
    assert!(MAX_LIST_QUERIES as u64 * FRESHNESS.lock_ms < ms(LEASE));
    assert!(LIMITER.lock_ms < LIMITER.statement_ms);
    // A batch is counted in time even if it waits for all other batches and a removal of expired
    // rows.
    assert!((CONCURRENT_COUNTS as u64 + 1) * LIMITER.statement_ms < ms(COUNT_LIMIT));
    // After a request was counted, there is time left to read from the store.
    assert!(ms(DECISION_LIMIT) + ms(READ_LIMIT) < ms(REQUEST_TIMEOUT));
    // A batch of counts waits less than a second for a locked row. After a longer wait, `count.sql`
    // could wrongly conclude that the clock was set back.
    assert!(LIMITER.statement_ms < 1_000);
};
