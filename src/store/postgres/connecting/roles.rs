//! The settings of each kind of connection. They override the settings of the database and of the
//! database role.

use crate::store::postgres::timeouts::{
    self, KEEPALIVE_IDLE, KEEPALIVE_INTERVAL, KEEPALIVE_RETRIES, ServerTimeouts,
    UNACKNOWLEDGED_LIMIT,
};
use std::fmt::Write as _;

/// Settings on which correctness and latency depend. Three have special reasons:
///
/// - `client_min_messages`: a higher level would hide the warning that the wait for the standby was
///   cancelled.
/// - `jit` is off, because it delayed a batch by 130 ms.
/// - Parallel workers are off, because starting them would delay a list.
///
/// `default_transaction_read_only` is not set here, because operators use it to keep servers from
/// writing to a primary.
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

/// The purpose of a connection, which determines its settings.
pub struct Role {
    pub name: &'static str,
    timeouts: ServerTimeouts,
    /// If false, the planner avoids sequential scans. After an import, outdated statistics could
    /// favor such scans.
    scans: bool,
}

impl Role {
    const fn new(name: &'static str, timeouts: ServerTimeouts, scans: bool) -> Role {
        Role { name, timeouts, scans }
    }

    /// Formats the startup options, which override the settings of the database and of the database
    /// role. The TCP settings let PostgreSQL detect a lost client after 30 s instead of hours.
    pub fn options(&self) -> String {
        let mut options = String::new();
        let timeouts = [
            ("lock_timeout", self.timeouts.lock_ms.into()),
            ("statement_timeout", self.timeouts.statement_ms.into()),
            ("idle_in_transaction_session_timeout", self.timeouts.idle_ms.into()),
            ("tcp_keepalives_idle", KEEPALIVE_IDLE.as_secs().into()),
            ("tcp_keepalives_interval", KEEPALIVE_INTERVAL.as_secs().into()),
            ("tcp_keepalives_count", KEEPALIVE_RETRIES.into()),
            ("tcp_user_timeout", UNACKNOWLEDGED_LIMIT.as_millis()),
        ];
        let timeouts = timeouts.map(|(name, timeout)| (name, timeout.to_string()));
        let all = SETTINGS.iter().map(|(name, value)| (*name, *value));
        for (name, value) in all.chain(timeouts.iter().map(|(name, value)| (*name, &**value))) {
            // Writing to a String cannot fail.
            let _ = write!(options, " -c {name}={value}");
        }
        if !self.scans {
            options.push_str(" -c enable_seqscan=off");
        }
        options
    }
}

pub const WRITER: Role = Role::new("store-orders writer", timeouts::WRITER, false);

/// Asks for the store's last change of orders and its last change of accounts or keys. Reads the
/// changed rows if they are few. Looks up keys.
pub const FRESHNESS: Role = Role::new("store-orders freshness", timeouts::FRESHNESS, false);

/// Reads single orders and pets. The role has a short statement timeout, because a late result
/// would end the session.
pub const READER: Role = Role::new("store-orders reader", timeouts::READER, true);

/// Records the uses of keys, removes old rows, and checks the schema version and the standbys. No
/// request waits for these statements.
pub const MAINTENANCE: Role = Role::new("store-orders maintenance", timeouts::MAINTENANCE, true);

pub const HEARTBEAT: Role = Role::new("store-orders heartbeat", timeouts::HEARTBEAT, false);

pub const LIMITER: Role = Role::new("store-orders counts", timeouts::LIMITER, false);

/// Reads all orders, or many changed ones, on a connection that is closed afterwards.
pub const SCANNER: Role = Role::new("store-orders scanner", timeouts::LONG_READER, true);

pub const COMMAND: Role = Role::new("store-orders command", timeouts::COMMAND, true);
