//! How long requests, commands, servers and connections wait for PostgreSQL, and how these times
//! depend on each other.

use crate::store::agreement::lease::LEASE;
use crate::store::{COMMAND_TIMEOUT, READINESS_TIMEOUT, REQUEST_TIMEOUT, ROW_LOOK_UPS};
use std::time::Duration;

/// How long a server's attempt to connect to PostgreSQL may take, for each address.
pub const CONNECT_LIMIT: Duration = Duration::from_millis(500);

/// How long a command's attempt to connect may take, for each address.
pub const COMMAND_CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// How long the first commits of a session may take, before another host is tried.
pub const CONFIRM_LIMIT: Duration = Duration::from_millis(500);

/// After how long, and how often, a silent end is probed, and how many probes stay unanswered
/// until it is lost: as long in all as after what it does not acknowledge.
pub const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
pub const KEEPALIVE_RETRIES: u32 = 4;
pub const UNACKNOWLEDGED_LIMIT: Duration = Duration::from_secs(30);

/// A primary at which a commit of another server waits longer than this for standbys is refused.
pub const STANDBY_LIMIT: Duration = Duration::from_secs(1);

/// How often a session sends a heartbeat.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(250);

/// How long a batch that was not sent yet waits for a session.
pub const SESSION_WAIT: Duration = Duration::from_secs(1);

/// How long to wait after a failed attempt to open a session, and before a batch is sent again.
pub const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A batch that has less time left is not sent: its late answer would end a session that works.
pub const LEAST_TIME: Duration = Duration::from_millis(500);

/// How long a batch waits for each lock, unless it has less time left: twice, for the lock of
/// changes and for the row of an order.
pub const LOCK_WAIT: Duration = Duration::from_secs(2);

/// Time reserved for the execution of a batch besides its two lock waits.
pub const ANSWER_TIME: Duration = Duration::from_millis(300);

/// How long a test of writing may take.
pub const TEST_LIMIT: Duration = Duration::from_millis(1_500);

/// How long an answer may take that waits for no commit, before its session ends.
pub const READ_LIMIT: Duration = Duration::from_secs(2);

/// How long counting every order may take, and a statement that reads a page of orders.
pub const LONG_READ_LIMIT: Duration = Duration::from_secs(30);

/// How long a request waits to be counted, unless its deadline comes first.
pub const DECISION_LIMIT: Duration = Duration::from_secs(2);

/// How long counting a batch may take before the session ends.
pub const COUNT_LIMIT: Duration = READ_LIMIT.saturating_mul(3);

/// `Retry-After` where a request could not be counted.
pub const UNCOUNTED_RETRY_AFTER: Duration = Duration::from_secs(1);

/// How long a batch of counts that failed makes the server unready, if no request is counted
/// meanwhile.
pub const COUNT_FAILURE_LASTS: Duration = Duration::from_secs(2);

/// How often a command looks for heartbeats.
pub const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// A server that can reach the database sends a heartbeat within this time, also if it has to
/// open another session first.
pub const HEARD_WITHIN: Duration = Duration::from_secs(5);

/// How long a server counts as serving after it last wrote its row, which it does every 10 s. Long
/// commands go slowly for its sake, also once it was killed.
pub const SERVES_FOR: Duration = Duration::from_secs(30);

/// How long a server sends no heartbeat before the others remove its row. One that was suspended
/// for longer adds it again.
pub const SILENT_FOR: Duration = Duration::from_secs(120);

/// What PostgreSQL ends by itself, in milliseconds: a wait for a lock, a statement, and a
/// transaction that sends nothing. 0 is no limit.
#[derive(Clone, Copy)]
pub struct ServerLimits {
    /// `lock_timeout`.
    pub lock_ms: u64,
    /// `statement_timeout`.
    pub statement_ms: u64,
    /// `idle_in_transaction_session_timeout`. A client that is suspended or out of reach must not
    /// hold up cancellations. One at work sends its next statement at once.
    pub idle_ms: u64,
}

/// Cancels orders: in a transaction it holds the lock of changes.
pub const WRITER: ServerLimits = limits(LOCK_WAIT.as_millis() as u64, 10_000, 2_000);

/// Asks what lists and keys are at, and reads the few orders and keys that changed.
pub const FRESHNESS: ServerLimits = limits(100, 2_000, 10_000);

/// How many questions of lists are under way at once on one connection, so that a list seldom waits
/// for the answer to an earlier one.
pub const QUESTIONS_UNDER_WAY: usize = 8;

/// Reads pets.
pub const READER: ServerLimits = limits(100, 1_500, 20_000);

/// Sends heartbeats. No lock is worth a late one: only this server locks its row.
pub const HEARTBEAT: ServerLimits = limits(250, 5_000, 10_000);

/// How many batches are counted at once: a request waits for a quarter of a round trip at most
/// until its own can be sent.
pub const COUNTS_UNDER_WAY: usize = 4;

/// Counts requests.
pub const LIMITER: ServerLimits = limits(500, 650, 10_000);

/// Reads whole tables.
pub const LONG_READER: ServerLimits = limits(1_000, LONG_READ_LIMIT.as_millis() as u64, 20_000);

/// Does one command, which waits for locks as long as the operator is told. Its statements have no
/// limit: `check`, `restore` and `migrate` read whole tables.
pub const COMMAND: ServerLimits = limits(COMMAND_TIMEOUT.as_millis() as u64, 0, 20_000);

const fn limits(lock_ms: u64, statement_ms: u64, idle_ms: u64) -> ServerLimits {
    ServerLimits { lock_ms, statement_ms, idle_ms }
}

const fn ms(duration: Duration) -> u64 {
    duration.as_millis() as u64
}

const _: () = {
    // A cancellation is answered in time, whatever it waits for.
    assert!(2 * ms(LOCK_WAIT) + ms(ANSWER_TIME) < ms(REQUEST_TIMEOUT));
    assert!(ms(SESSION_WAIT) + ms(LEASE) + ms(LEAST_TIME) < ms(REQUEST_TIMEOUT));
    assert!(ms(ANSWER_TIME) < ms(LEAST_TIME));
    assert!(WRITER.idle_ms < ms(REQUEST_TIMEOUT));
    // Readiness tells why a test of writing failed.
    assert!(ms(LEAST_TIME) < ms(TEST_LIMIT) && ms(TEST_LIMIT) < ms(READINESS_TIMEOUT));
    // A batch waits for as long as one host takes.
    assert!(ms(CONNECT_LIMIT) + ms(CONFIRM_LIMIT) <= ms(SESSION_WAIT));
    // Two heartbeats may be lost within a lease, and one that waits for a lock.
    assert!(3 * ms(HEARTBEAT_INTERVAL) < ms(LEASE));
    assert!(HEARTBEAT.lock_ms <= ms(HEARTBEAT_INTERVAL));
    // A command that looks for heartbeats misses none.
    assert!(ms(LOOK_INTERVAL) < ms(HEARTBEAT_INTERVAL));
    // A server whose commit waits for standbys that long has no lease any more.
    assert!(ms(LEASE) <= ms(STANDBY_LIMIT));
    // A silent end is lost after the same time, whether something was sent to it or not.
    let silent_ms = ms(KEEPALIVE_IDLE) + KEEPALIVE_RETRIES as u64 * ms(KEEPALIVE_INTERVAL);
    assert!(silent_ms == ms(UNACKNOWLEDGED_LIMIT));
    // No lease is left of a server whose row is removed.
    assert!(ms(LEASE) < ms(SILENT_FOR));
    // A slow statement ends before its late answer would end the session.
    assert!(READER.lock_ms < READER.statement_ms && READER.statement_ms < ms(READ_LIMIT));
    assert!(FRESHNESS.lock_ms < ms(READ_LIMIT));
    // Also behind other rows that all wait for a lock.
    assert!(ROW_LOOK_UPS as u64 * READER.lock_ms < ms(READ_LIMIT));
    // Keys stay current behind questions that all wait for a lock, and no session ends of it.
    assert!(QUESTIONS_UNDER_WAY as u64 * FRESHNESS.lock_ms < ms(LEASE));
    assert!(LIMITER.lock_ms < LIMITER.statement_ms);
    // Also behind the statements of the other batches and a removal.
    assert!((COUNTS_UNDER_WAY as u64 + 1) * LIMITER.statement_ms < ms(COUNT_LIMIT));
    // A request that was counted has time left for what it asks of the store.
    assert!(ms(DECISION_LIMIT) + ms(READ_LIMIT) < ms(REQUEST_TIMEOUT));
    // count.sql takes a count that is a second later for that of a clock that was set back.
    assert!(LIMITER.statement_ms < 1_000);
};
