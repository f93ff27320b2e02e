//! What every connection is set to, whatever the database and the role say, and how long the
//! server lets each wait.

use crate::store::rules::{COMMAND_TIMEOUT, PATIENCE};
use std::fmt::Write as _;
use std::time::Duration;

/// How long a batch waits for each lock, unless it has less time left: twice, for `versions` and
/// for the row of an order, it is less than the time that its callers wait.
pub const LOCK_WAIT: Duration = Duration::from_secs(2);

/// What a batch needs besides its waits for locks: a server that answers waits for no more.
pub const ANSWER_TIME: Duration = Duration::from_millis(300);

/// How long counting every order may take, and a statement that reads keys on another connection.
pub const LONG_READ_LIMIT: Duration = Duration::from_secs(30);

/// A batch that has less time left is not sent: its late answer would end a session that works.
pub const LEAST_TIME: Duration = Duration::from_millis(500);

/// What holds the lock on `versions` in a transaction and sends nothing.
const WRITER_IDLE_MS: u64 = 2_000;

/// After how long, and how often, a silent end is probed, and how many probes stay unanswered
/// until it is lost: 30 s in all, as after what it does not acknowledge.
pub const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
pub const KEEPALIVE_RETRIES: u32 = 4;
pub const UNACKNOWLEDGED_LIMIT: Duration = Duration::from_secs(30);

/// How long an answer may take that waits for no commit, before its session ends.
pub const READ_LIMIT: Duration = Duration::from_secs(2);

const _: () = {
    assert!(2 * LOCK_WAIT.as_millis() + ANSWER_TIME.as_millis() < PATIENCE.as_millis());
    assert!(READER.lock.as_millis() < READER.statement.as_millis());
    assert!(READER.statement.as_millis() < READ_LIMIT.as_millis());
    assert!(CHECKER.lock.as_millis() < READ_LIMIT.as_millis());
    assert!(WRITER_IDLE_MS < PATIENCE.as_millis() as u64);
};

/// What correctness leans on. `default_transaction_read_only` is not set: with it an operator
/// fences a primary. Without `warning` a wait for the standby that was cancelled is not told.
/// `jit` made a batch wait for 130 ms. A silent client is noticed after 30 s, as a silent server
/// is: otherwise a connection whose other end is gone keeps the locks of its transaction.
const SETTINGS: [(&str, &str); 7] = [
    ("client_min_messages", "warning"),
    ("synchronous_commit", "on"),
    ("default_transaction_isolation", "read\\ committed"),
    ("default_transaction_deferrable", "off"),
    ("idle_session_timeout", "0"),
    ("bytea_output", "hex"),
    ("jit", "off"),
];

/// What a connection is for. A limit of zero is none.
pub struct Role {
    /// Its `application_name`.
    pub name: &'static str,
    lock: Duration,
    statement: Duration,
    /// A client that is suspended or out of reach must not hold up cancellations. One at work
    /// sends its next statement at once.
    idle_in_transaction: Duration,
    /// Whether it reads whole tables. If not, it reads a few rows by an index, whatever the
    /// planner believes of a table that an import has just filled.
    scans: bool,
}

impl Role {
    const fn new(name: &'static str, limits_ms: [u64; 3], scans: bool) -> Role {
        let [lock, statement, idle] = limits_ms;
        Role {
            name,
            lock: Duration::from_millis(lock),
            statement: Duration::from_millis(statement),
            idle_in_transaction: Duration::from_millis(idle),
            scans,
        }
    }

    /// Startup options: they have precedence over the settings of the database and the role, and
    /// over earlier options.
    pub fn options(&self) -> String {
        let mut options = String::new();
        let limits = [
            ("lock_timeout", self.lock.as_millis()),
            ("statement_timeout", self.statement.as_millis()),
            ("idle_in_transaction_session_timeout", self.idle_in_transaction.as_millis()),
            ("tcp_keepalives_idle", KEEPALIVE_IDLE.as_secs().into()),
            ("tcp_keepalives_interval", KEEPALIVE_INTERVAL.as_secs().into()),
            ("tcp_keepalives_count", KEEPALIVE_RETRIES.into()),
            ("tcp_user_timeout", UNACKNOWLEDGED_LIMIT.as_millis()),
        ];
        let limits = limits.map(|(name, limit)| (name, limit.to_string()));
        let all = SETTINGS.iter().map(|(name, value)| (*name, *value));
        for (name, value) in all.chain(limits.iter().map(|(name, value)| (*name, &**value))) {
            // Writing to a String cannot fail.
            let _ = write!(options, " -c {name}={value}");
        }
        if !self.scans {
            options.push_str(" -c enable_seqscan=off");
        }
        options
    }
}

/// Cancels orders.
pub const WRITER: Role =
    Role::new("store-orders writer", [LOCK_WAIT.as_millis() as u64, 10_000, WRITER_IDLE_MS], false);

/// Checks lists and keys.
pub const CHECKER: Role = Role::new("store-orders checker", [1_000, 2_000, 10_000], false);

/// Reads pets, keys and changed orders. A slow statement ends before the session would; that of
/// a list or of keys takes as long as it takes.
pub const READER: Role = Role::new("store-orders reader", [1_000, 1_500, 20_000], true);

/// Sends heartbeats. No lock is worth a late one: only this server locks its row.
pub const HEARTBEAT: Role = Role::new("store-orders heartbeat", [250, 5_000, 10_000], false);

/// Counts requests. The server ends two batches and a removal that wait one behind the other,
/// before a late answer would end the session: after 2 s.
pub const LIMITER: Role = Role::new("store-orders limits", [500, 650, 10_000], false);

/// Counts orders.
pub const COUNTER: Role = long("store-orders counter");

/// Reads keys while the reader reads a list.
pub const KEYS: Role = long("store-orders keys");

/// Reads a long import ahead.
pub const AHEAD: Role = long("store-orders ahead");

const fn long(name: &'static str) -> Role {
    Role::new(name, [1_000, LONG_READ_LIMIT.as_millis() as u64, 20_000], true)
}

/// Does one command of the operator, which waits for locks as long as the operator is told; an
/// import takes as long as it takes.
pub const COMMAND: Role =
    Role::new("store-orders command", [COMMAND_TIMEOUT.as_millis() as u64, 0, 20_000], true);
