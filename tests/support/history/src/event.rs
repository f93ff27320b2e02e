//! What happened during a recording: events on one clock, a JSON line each.

use crate::IdSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::BufRead;

/// Something that happened. Events are recorded in the order of their times.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Nanoseconds on a monotonic clock that all clients share.
    pub at: u64,
    /// What it was.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum What {
    /// The recording begins.
    Begins(Beginning),
    /// A client is about to send a request, or an operator a command.
    Asks(Asked),
    /// The answer has come whole, or will not come.
    Gets {
        /// The number of the request.
        op: u64,
        /// What it says.
        answer: Answer,
    },
    /// A key is valid from now on, on every server.
    Key {
        /// Its name here; never its text.
        key: String,
        /// Whose requests are counted together.
        account: String,
        /// How many are admitted a minute.
        per_minute: u32,
        /// How many are admitted a day; without it more than are ever sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        per_day: Option<u32>,
    },
    /// A fault begins.
    Fault(FaultBegun),
    /// A standby became the primary. From a second later on, every count is kept.
    Promoted,
    /// From now on nothing that a server writes is synced.
    Unsynced,
    /// It may be synced again.
    Synced,
    /// The fault has been undone.
    Undone,
    /// A server answered that it is ready, for the first time since a fault was undone or
    /// since it was not.
    Ready {
        /// Which.
        server: String,
    },
    /// The lists of all servers, while no client changes an order.
    Compared {
        /// The digest of each body, by server.
        digests: BTreeMap<String, String>,
    },
    /// The machine stood still until now.
    Stall {
        /// For this many nanoseconds.
        nanos: u64,
    },
    /// What the store holds when everything is over.
    Ends(FinalTable),
}

/// What is there at first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beginning {
    /// Pending orders.
    #[serde(with = "crate::id_ranges")]
    pub pending: IdSet,
    /// Shipped orders.
    #[serde(default, with = "crate::id_ranges")]
    pub shipped: IdSet,
    /// The servers that must be ready, and agree, after each fault.
    #[serde(default)]
    pub servers: Vec<String>,
    /// Whether something fails that requests may be answered 503 for.
    #[serde(default)]
    pub may_be_unavailable: bool,
}

/// A request or a command.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Its number, which no other has.
    pub op: u64,
    /// Who asks; one request at a time, except where an account is to be exhausted.
    pub client: String,
    /// The server asked; none for an operator's command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// With which key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What is asked.
    pub request: Request,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// All pending orders.
    List,
    /// A page of a walk over all orders.
    Page(Page),
    /// To cancel this order.
    Cancel(usize),
    /// A pet.
    Pet,
    /// A command: orders of new ids, from the first to the last.
    Import(usize, usize),
    /// A command: these orders are shipped.
    Ship(Vec<usize>),
    /// A command: this key is revoked.
    Revoke(String),
}

/// A page of a walk over all orders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// The last order on the pages before it; 0 if there is none.
    pub after: usize,
    /// Whether the walk is over the pending orders alone.
    #[serde(default)]
    pub pending: bool,
}

/// How a request was answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// A whole list, with status 200.
    List(#[serde(with = "crate::id_ranges")] IdSet),
    /// A page, with status 200.
    Page {
        /// Its orders.
        #[serde(with = "crate::id_ranges")]
        ids: IdSet,
        /// Whether there is no page after it.
        is_last: bool,
    },
    /// Any other answer.
    Status(Answered),
    /// A body that is not what it must be, with status 200.
    Malformed(String),
    /// The connection ended first, or the client gave up.
    Lost(String),
    /// The command succeeded.
    Done,
    /// The command failed. What it asked may have been done nevertheless.
    Failed(String),
}

/// An answer's status and those headers that rules are about.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    /// The HTTP status.
    pub status: u16,
    /// `Retry-After`, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// Seconds until the account's minute closes, by the server's own `Date`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes_in: Option<i64>,
    /// Whether it is a 429 because the key is banned.
    #[serde(default)]
    pub is_banned: bool,
}

/// A fault begins.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultBegun {
    /// Its name.
    pub name: String,
    /// Servers whose answers may be late or lost until it is undone: they are stopped, or the
    /// network between them and their clients is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// Whether they only delay their answers, and lose none.
    #[serde(default)]
    pub loses_no_answers: bool,
    /// Whether the request counts of the second before it may be lost, and those until a second
    /// after a standby was promoted, or until the lists are compared.
    #[serde(default)]
    pub may_lose_counts: bool,
    /// Whether a server may be unable to save request counts until it is undone.
    #[serde(default)]
    pub saves_no_counts: bool,
}

/// The orders in the store by status.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinalTable {
    /// Pending.
    #[serde(with = "crate::id_ranges")]
    pub pending: IdSet,
    /// Shipped.
    #[serde(with = "crate::id_ranges")]
    pub shipped: IdSet,
    /// Cancelled.
    #[serde(with = "crate::id_ranges")]
    pub cancelled: IdSet,
}

/// Reads a recording.
pub fn read_events(lines: impl BufRead) -> anyhow::Result<Vec<Event>> {
    let mut events = Vec::new();
    for (number, line) in (1..).zip(lines.lines()) {
        let line = line?;
        let event = serde_json::from_str(&line);
        events.push(event.map_err(|error| anyhow::anyhow!("line {number}: {error}"))?);
    }
    Ok(events)
}
