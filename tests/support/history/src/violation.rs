//! Defines the rules that every recording must keep. The report of a violation contains the
//! operations that prove it.

use crate::event::{Asked, Request};
use std::fmt::{self, Formatter};
use std::sync::Arc;
use strum::{Display, EnumMessage, VariantArray};

/// The rules that every recording must keep. The `message` of a rule describes a violation of it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Display, EnumMessage, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Rule {
    /// At most one cancellation of an order is answered 204.
    #[strum(message = "an id has two 204s")]
    CancelledTwice,
    /// If a cancellation is answered 204, its order is cancelled in the final table: the store's
    /// orders at the end of the recording.
    #[strum(message = "a 204 is not in the final table")]
    CancellationLost,
    /// While disk syncs do not work, a new cancellation gets no 204.
    #[strum(message = "a 204 came while nothing was synced")]
    AcknowledgedUnsynced,
    /// A list does not show an order whose cancellation got a 204 before the list was requested.
    #[strum(message = "a list that began after a 204 shows the id")]
    ListedAfter204,
    /// If a list lacks an order, or the order's cancellation gets a 404, the order does not come
    /// back. A shipped order stays shipped. The rule covers later lists, pages and cancellations,
    /// and the final table.
    #[strum(message = "a shipped or absent order comes back")]
    CameBack,
    /// If an order has disappeared from a client's list, the client's next list or page does not
    /// show it.
    #[strum(message = "lists of one client go back in time")]
    WentBack,
    /// Each page of a walk shows only orders with higher ids than the previous pages.
    #[strum(message = "an order is on two pages of a walk")]
    OnTwoPages,
    /// Each successful list or page is well formed and complete. The fields of an order do not
    /// change, except its status.
    #[strum(message = "a list is not complete")]
    IncompleteList,
    /// Every response, even a 503, arrives within [`ANSWER_LIMIT`](crate::ANSWER_LIMIT). Faults
    /// that affect the server extend this limit by their duration.
    #[strum(message = "an answer is late")]
    LateAnswer,
    /// Every request gets a response, unless a fault of the request's server may lose responses. A
    /// client timeout violates [`Rule::LateAnswer`] instead.
    #[strum(message = "a request has no answer")]
    NoAnswer,
    #[strum(message = "a 503 has no Retry-After")]
    NoRetryAfter,
    /// A request that is sent more than a second after its key was revoked gets only a 401 or a
    /// 503.
    #[strum(message = "a key is accepted a second after it was revoked")]
    RevokedKeyAccepted,
    /// A valid key gets no 401. It gets a 429 only if its account has a limit that the clients can
    /// reach. A key is valid after the command that issues it and before a command that revokes it.
    #[strum(message = "a valid key is refused")]
    ValidKeyRefused,
    /// Accounts stay within their limits per minute and per day.
    #[strum(message = "a window admits more than the limit")]
    AdmittedTooMany,
    /// A request gets a 429 only if its account may have reached a limit, or if its key is banned.
    #[strum(message = "a window refuses before the limit is reached")]
    RefusedTooEarly,
    /// Every server is ready again within 5 s after a fault was undone.
    #[strum(message = "a replica is not ready in time after a fault")]
    NotReady,
    /// After a fault, a ready server refuses requests of one kind with 503 for at most 5 s.
    #[strum(message = "a replica is ready and does not serve")]
    NotServing,
    /// After a fault, the lists of all servers become byte-equal at most 2 s after the first
    /// comparison.
    #[strum(message = "replicas' lists differ after a fault")]
    ListsDiffer,
    /// Each response fits its request. It does not contradict what other operations of the
    /// recording prove about the orders. A 503 occurs only if `may_be_unavailable` is true, or if
    /// stalls of the machine may explain it.
    #[strum(message = "an answer cannot be true")]
    ImpossibleAnswer,
    /// The final table contains every order that must exist, and no order twice. For each shipped
    /// or cancelled order, a recorded request can have caused the status. Each import is complete
    /// or absent.
    #[strum(message = "the final table cannot be true")]
    ImpossibleTable,
}

/// A request or command, and its answer. A violation is printed with the operations that prove it.
#[derive(Clone, Debug)]
pub struct Operation {
    pub asked: Asked,
    /// The start time, in nanoseconds on the recording's clock.
    pub begun: u64,
    /// The answer's arrival time, and a summary of the answer. `None` while the operation is
    /// running.
    pub answered: Option<(u64, String)>,
}

impl Operation {
    pub fn ended(&self) -> u64 {
        self.answered.as_ref().map_or(u64::MAX, |(ended, _)| *ended)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Asked { client, server, key, request, op } = &self.asked;
        write!(out, "{} {client} ", seconds(self.begun))?;
        match request {
            Request::List => write!(out, "lists")?,
            Request::Page(page) if page.pending => {
                write!(out, "pages pending after {}", page.after)?
            }
            Request::Page(page) => write!(out, "pages after {}", page.after)?,
            Request::Cancel(id) => write!(out, "cancels {id}")?,
            Request::Pet => write!(out, "asks for a pet")?,
            Request::Import(first, last) => write!(out, "imports {first}-{last}")?,
            Request::Ship(ids) => write!(out, "ships {ids:?}")?,
            Request::Revoke(key) => write!(out, "revokes {key}")?,
        }
        if let Some(server) = server {
            write!(out, " at {server}")?;
        }
        if let Some(key) = key {
            write!(out, " with {key}")?;
        }
        match &self.answered {
            Some((ended, answer)) => write!(out, "; {} {answer}", seconds(*ended))?,
            None => write!(out, "; no answer yet")?,
        }
        write!(out, " (op {op})")
    }
}

pub fn seconds(nanos: u64) -> String {
    format!("{}.{:06} s", nanos / 1_000_000_000, nanos / 1_000 % 1_000_000)
}

#[derive(Clone, Debug)]
pub struct Violation {
    pub rule: Rule,
    /// The details, such as `order 5`. They are printed after the rule's message.
    pub text: String,
    /// The operations that contradict each other, in the order of their start times.
    pub because: Vec<Arc<Operation>>,
    /// True for an exceeded time limit and for an unexpected 503. A stall of the machine may excuse
    /// the violation.
    pub is_of_time: bool,
}

impl Violation {
    pub fn new(rule: Rule, text: String, because: &[&Arc<Operation>]) -> Violation {
        let mut because: Vec<Arc<Operation>> = because.iter().map(|one| Arc::clone(one)).collect();
        because.sort_by_key(|operation| operation.begun);
        Violation { rule, text, because, is_of_time: false }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.rule.get_message().unwrap_or_default(), self.text)?;
        self.because.iter().try_for_each(|operation| write!(out, "\n    {operation}"))
    }
}
