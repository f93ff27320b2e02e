//! What the servers of a drill run on.

use clap::ValueEnum;

/// What servers run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Topology {
    /// Three of them, on a primary with a synchronous standby, and relays between all
    Postgres,
    /// One, on its embedded store, on a disk of its own
    Embedded,
}
