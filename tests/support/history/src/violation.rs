//! Defines the rules that every recording must keep. The report of a broken rule has the operations
//! that contradict each other.

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
    /// If a cancellation is answered 204, its order is cancelled in the final table.
    #[strum(message = "a 204 is not in the final table")]
    CancellationLost,
    /// A cancellation that is requested while syncs of the disk do not work is answered 204 only
    /// after they work again.
    #[strum(message = "a 204 came while nothing was synced")]
    AcknowledgedUnsynced,
    /// A list that is requested after any client has received a 204 for a cancellation does not
    /// show the cancelled order.
    #[strum(message = "a list that began after a 204 shows the id")]
    ListedAfter204,
    /// A gone order does not come back, and a shipped order stays shipped. An order is gone if a
    /// list does not contain it, or if a response for it is 404.
    ///
    /// - No later list shows a gone order.
    /// - No later page of pending orders shows a shipped order.
    /// - No later cancellation of a gone or shipped order gets a 204.
    /// - In the final table, a gone order is not pending, and a shipped order is shipped.
    #[strum(message = "a shipped or absent order comes back")]
    CameBack,
    /// A list or page does not show an order that had already disappeared from the previous list of
    /// the same client.
    #[strum(message = "lists of one client go back in time")]
    WentBack,
    /// Each page of a walk shows only orders with higher ids than the previous pages.
    #[strum(message = "an order is on two pages of a walk")]
    OnTwoPages,
    /// Each list and each page is well formed and complete, unless the response is an error. No
    /// field of an order changes, except its status.
    #[strum(message = "a list is not complete")]
    IncompleteList,
    /// Every answer, even a 503, arrives within [`ANSWER_LIMIT`](crate::ANSWER_LIMIT). If faults
    /// affect the server, this limit is extended by their duration.
    #[strum(message = "an answer is late")]
    LateAnswer,
    /// Every request gets a response, unless a fault at its server may lose responses. A client
    /// that gave up waiting violates [`Rule::LateAnswer`] instead.
    #[strum(message = "a request has no answer")]
    NoAnswer,
    /// Every 503 has `Retry-After`.
    #[strum(message = "a 503 has no Retry-After")]
    NoRetryAfter,
    /// A request that is sent more than a second after its key was revoked is answered only 401 or
    /// 503.
    #[strum(message = "a key is accepted a second after it was revoked")]
    RevokedKeyAccepted,
    /// A key is valid from the end of the command that issues it to the start of a command that
    /// revokes it. No request with a valid key is answered 401. Such a request is answered 429 only
    /// if the account has a limit that can be reached.
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
    /// After a fault, a ready server may refuse a kind of request with 503, but only for 5 s. Then
    /// it executes such requests.
    #[strum(message = "a replica is ready and does not serve")]
    NotServing,
    /// After a fault, the lists of all servers are byte-equal within 2 s of their first comparison.
    #[strum(message = "replicas' lists differ after a fault")]
    ListsDiffer,
    /// Each answer is possible. Its status is one that such a request can get. A 204, 404 or 409
    /// fits what is known about the order. Lists show only known orders. A 503 occurs only if the
    /// recording allows 503s.
    #[strum(message = "an answer cannot be true")]
    ImpossibleAnswer,
    /// The final table is possible. It contains every order that must exist, and no order twice.
    /// Some request can have caused each order's status. Each import is there with all of its
    /// orders or none.
    #[strum(message = "the final table cannot be true")]
    ImpossibleTable,
}

/// A request or command, and its answer. A violation is printed with the operations that prove it.
#[derive(Clone, Debug)]
pub struct Operation {
    pub asked: Asked,
    /// The start time, in nanoseconds on the recording's clock.
    pub begun: u64,
    /// The time and a summary of the answer. `None` while the operation is running.
    pub answered: Option<(u64, String)>,
}

impl Operation {
    /// Returns the time at which the operation ended, or `u64::MAX` if it is still running.
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
    /// True if the violation is an exceeded time limit or an unexpected 503. A stall of the machine
    /// may excuse such a violation.
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
