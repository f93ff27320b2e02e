//! The topologies of chaos runs: the number of servers, and the store that they use.

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Topology {
    /// Three servers, a primary with a synchronous standby, and relays on their connections
    Postgres,
    /// One server with an embedded store on a disk of its own
    Embedded,
}
