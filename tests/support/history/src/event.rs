//! Defines the events of a recording, each a JSON object on its own line. All times come from the
//! same clock.

use crate::IdSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::BufRead;

/// An event of a recording. The events of a recording are in the order of `at`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Nanoseconds on a monotonic clock that all clients share.
    pub at: u64,
    pub what: What,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum What {
    /// The recording begins, and the store is in this state.
    Begins(Beginning),
    /// A client is about to send a request, or the operator is about to run a command.
    Asks(Asked),
    /// A command has ended, or a request's response has arrived completely or was lost.
    Gets {
        /// The [`Asked::op`] of the request or command.
        op: u64,
        answer: Answer,
    },
    /// From the time of this event, the key is valid on every server.
    Key {
        /// The key's name in the recording; never its secret text.
        key: String,
        account: String,
        per_minute: u32,
        /// Maximum requests per day; `None` if the clients cannot reach the limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        per_day: Option<u32>,
    },
    Fault(FaultBegun),
    /// A standby became the primary. The promotion may lose counts of earlier requests. It must not
    /// lose counts of requests that are sent at least a second after this event.
    Promoted,
    /// From this time, syncs of a server's disk fail, hang or do nothing.
    Unsynced,
    /// From this time, syncs work again.
    Synced,
    /// The most recent fault, or pair of faults, has been undone.
    Undone,
    /// A probe finds the server ready, either for the first time since the last fault was undone,
    /// or again after it was not ready.
    Ready {
        server: String,
    },
    /// The lists of all servers, fetched while no client changes an order.
    Compared {
        /// The digest of each server's list. A server that did not return its list is absent.
        digests: BTreeMap<String, String>,
    },
    /// A stall of the machine, which ends at the time of this event.
    Stall {
        nanos: u64,
    },
    /// The store's orders at the end of the recording.
    Ends(FinalTable),
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beginning {
    #[serde(with = "crate::id_ranges")]
    pub pending: IdSet,
    #[serde(default, with = "crate::id_ranges")]
    pub shipped: IdSet,
    /// The servers that must become ready and return equal lists after each fault.
    #[serde(default)]
    pub servers: Vec<String>,
    /// True if servers may respond 503, for example while the store is unreachable. If false, a 503
    /// is a violation unless a stall explains it.
    #[serde(default)]
    pub may_be_unavailable: bool,
}

/// A request of a client, or a command of an operator.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The number of the request or command, unique in the recording.
    pub op: u64,
    /// The name of the client or operator. A client sends one request at a time.
    pub client: String,
    /// The server's name; `None` for an operator's command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The name of the key that was sent; `None` for an operator's command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    pub request: Request,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Read the whole list of v1, with pending and shipped orders.
    List,
    /// Read one page of a walk over the orders, with v2.
    Page(Page),
    Cancel(usize),
    /// Read a pet, for example to use up a limit or to test a key.
    Pet,
    /// Operator's command: import new orders, whose ids run from the first to the second number.
    Import(usize, usize),
    Ship(Vec<usize>),
    /// Operator's command: revoke the key with this id.
    Revoke(String),
}

/// One page of a walk. A walk requests all pages of a list, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    /// The last order id on the previous pages; 0 on the first page.
    pub after: usize,
    #[serde(default)]
    pub pending: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The list in a 200, or the client's previous list if a 304 confirmed it.
    List(#[serde(with = "crate::id_ranges")] IdSet),
    /// The page in a 200.
    Page {
        #[serde(with = "crate::id_ranges")]
        ids: IdSet,
        is_last: bool,
    },
    /// Any other response, including the 200 for a pet.
    Status(Answered),
    /// A response with status 200 and an invalid body; the string says what is wrong.
    Malformed(String),
    /// No response; the string says why. For example, the connection ended, or the client gave up.
    Lost(String),
    Done,
    /// The command failed; the string says why. A failed command may have taken effect.
    Failed(String),
}

/// The status of a response, and the other parts of the response that the rules check.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    pub status: u16,
    /// `Retry-After`, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// The seconds from the response's `Date` to its `X-RateLimit-Reset`, when the account's minute
    /// window closes. `None` if one of the two is missing, or if the time is not plausible for a
    /// minute window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes_in: Option<i64>,
    /// True for a 429 to a banned key.
    #[serde(default)]
    pub is_banned: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultBegun {
    pub name: String,
    /// The servers whose responses may be late or lost until the fault is undone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    #[serde(default)]
    pub loses_no_answers: bool,
    /// True if the fault may lose unsaved request counts, and the counts of the last 1 s before the
    /// fault. Later counts may also be lost, until the lists are compared or until 1 s after a
    /// promotion.
    #[serde(default)]
    pub may_lose_counts: bool,
    /// True if a server may be unable to save request counts until the fault is undone.
    #[serde(default)]
    pub saves_no_counts: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FinalTable {
    #[serde(with = "crate::id_ranges")]
    pub pending: IdSet,
    #[serde(with = "crate::id_ranges")]
    pub shipped: IdSet,
    #[serde(with = "crate::id_ranges")]
    pub cancelled: IdSet,
}

pub fn read_events(lines: impl BufRead) -> anyhow::Result<Vec<Event>> {
    let mut events = Vec::new();
    for (number, line) in (1..).zip(lines.lines()) {
        let line = line?;
        let event = serde_json::from_str(&line);
        events.push(event.map_err(|error| anyhow::anyhow!("line {number}: {error}"))?);
    }
    Ok(events)
}
