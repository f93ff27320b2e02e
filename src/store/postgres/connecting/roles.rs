//! What every connection is set to, whatever the database and the role say.

use crate::store::postgres::timeouts::{
    self, KEEPALIVE_IDLE, KEEPALIVE_INTERVAL, KEEPALIVE_RETRIES, ServerLimits, UNACKNOWLEDGED_LIMIT,
};
use std::fmt::Write as _;

/// What correctness leans on. `default_transaction_read_only` is not set: with it an operator
/// fences a primary. Without `warning` a wait for the standby that was cancelled is not told.
/// `jit` made a batch wait for 130 ms, and a list would wait for parallel workers to start. A
/// silent client is noticed after 30 s, as a silent server is: otherwise a connection whose other
/// end is gone keeps the locks of its transaction.
const SETTINGS: [(&str, &str); 8] = [
    ("client_min_messages", "warning"),
    ("synchronous_commit", "on"),
    ("default_transaction_isolation", "read\\ committed"),
    ("default_transaction_deferrable", "off"),
    ("idle_session_timeout", "0"),
    ("bytea_output", "hex"),
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
];

/// What a connection is for. A limit of zero is none.
pub struct Role {
    /// Its `application_name`.
    pub name: &'static str,
    limits: ServerLimits,
    /// Whether it reads whole tables. If not, it reads a few rows by an index, whatever the
    /// planner believes of a table that an import has just filled.
    scans: bool,
}

impl Role {
    const fn new(name: &'static str, limits: ServerLimits, scans: bool) -> Role {
        Role { name, limits, scans }
    }

    /// Startup options: they have precedence over the settings of the database and the role, and
    /// over earlier options.
    pub fn options(&self) -> String {
        let mut options = String::new();
        let limits = [
            ("lock_timeout", self.limits.lock_ms.into()),
            ("statement_timeout", self.limits.statement_ms.into()),
            ("idle_in_transaction_session_timeout", self.limits.idle_ms.into()),
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
pub const WRITER: Role = Role::new("store-orders writer", timeouts::WRITER, false);

/// Asks what lists and keys are at, and reads the few orders and keys that changed.
pub const FRESHNESS: Role = Role::new("store-orders freshness", timeouts::FRESHNESS, false);

/// Reads pets, and records the uses of keys. A slow statement ends before the session would.
pub const READER: Role = Role::new("store-orders reader", timeouts::READER, true);

/// Sends heartbeats.
pub const HEARTBEAT: Role = Role::new("store-orders heartbeat", timeouts::HEARTBEAT, false);

/// Counts requests.
pub const LIMITER: Role = Role::new("store-orders limits", timeouts::LIMITER, false);

/// Reads the whole table of orders, on a connection that is closed afterwards.
pub const SCANNER: Role = Role::new("store-orders scanner", timeouts::LONG_READER, true);

/// Does one command of the operator.
pub const COMMAND: Role = Role::new("store-orders command", timeouts::COMMAND, true);
