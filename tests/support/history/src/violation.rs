//! The rules, and the report of a broken rule with the few events that contradict each other.

use crate::event::{Asked, Request};
use std::fmt::{self, Formatter};
use std::sync::Arc;
use strum::{Display, EnumMessage, VariantArray};

/// The rules that every recording must keep; each message describes a violation.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Display, EnumMessage, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Rule {
    /// At most one cancellation of an order is answered 204.
    #[strum(message = "an id has two 204s")]
    CancelledTwice,
    /// Every order whose cancellation was answered 204 is cancelled in the final table.
    #[strum(message = "a 204 is not in the final table")]
    CancellationLost,
    /// A cancellation that begins while nothing can be synced is not answered 204 during that time.
    #[strum(message = "a 204 came while nothing was synced")]
    AcknowledgedUnsynced,
    /// A list that is requested after any client received the 204 for an order does not show the
    /// order.
    #[strum(message = "a list that began after a 204 shows the id")]
    ListedAfter204,
    /// A shipped or absent order does not become pending again: no later list shows it as pending,
    /// no later cancellation of it is answered 204, and it is not pending in the final table.
    #[strum(message = "a shipped or absent order comes back")]
    CameBack,
    /// Later lists of one client do not show an earlier state.
    #[strum(message = "lists of one client go back in time")]
    WentBack,
    /// Each page of a walk contains only orders after the previous pages.
    #[strum(message = "an order is on two pages of a walk")]
    OnTwoPages,
    /// Each list is complete or an error, and no field of an order changes.
    #[strum(message = "a list is not complete")]
    IncompleteList,
    /// Every answer comes within its deadline, including 503.
    #[strum(message = "an answer is late")]
    LateAnswer,
    /// Every request is answered unless a fault lies between the client and the server.
    #[strum(message = "a request has no answer")]
    NoAnswer,
    /// Every 503 has `Retry-After`.
    #[strum(message = "a 503 has no Retry-After")]
    NoRetryAfter,
    /// A key that was revoked more than a second ago is answered only 401 or 503.
    #[strum(message = "a key is accepted a second after it was revoked")]
    RevokedKeyAccepted,
    /// Once the command that issued a key has ended, requests with the key are never answered 401.
    /// They are answered 429 only if the account has a limit that can be reached.
    #[strum(message = "a valid key is refused")]
    ValidKeyRefused,
    /// Accounts stay within their limits per minute and per day.
    #[strum(message = "a window admits more than the limit")]
    AdmittedTooMany,
    /// No account is answered 429 before it can have reached its limit.
    #[strum(message = "a window refuses before the limit is reached")]
    RefusedTooEarly,
    /// After a fault every replica is ready again within 5 s.
    #[strum(message = "a replica is not ready in time after a fault")]
    NotReady,
    /// A ready replica executes each kind of request within 5 s.
    #[strum(message = "a replica is ready and does not serve")]
    NotServing,
    /// After a fault, all replicas' lists are byte-equal within 2 s of the first comparison.
    #[strum(message = "replicas' lists differ after a fault")]
    ListsDiffer,
    /// Each answer is possible: 404, 409 and 204 match the order's state, lists contain known
    /// orders only, and statuses and bodies are documented.
    #[strum(message = "an answer cannot be true")]
    ImpossibleAnswer,
    /// The final table contains every order once, in the status that the answers imply.
    #[strum(message = "the final table cannot be true")]
    ImpossibleTable,
}

/// A request or a command, as violations print it.
#[derive(Clone, Debug)]
pub struct Operation {
    /// The request or command.
    pub asked: Asked,
    /// The start time, in nanoseconds on the recording's clock.
    pub begun: u64,
    /// The time and a summary of its answer; `None` while the operation is running.
    pub answered: Option<(u64, String)>,
}

impl Operation {
    /// The time of the answer; `u64::MAX` while the operation is running.
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

/// Formats a time of the recording.
pub fn seconds(nanos: u64) -> String {
    format!("{}.{:06} s", nanos / 1_000_000_000, nanos / 1_000 % 1_000_000)
}

/// One violation of a rule.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The broken rule.
    pub rule: Rule,
    /// The problem in one sentence.
    pub text: String,
    /// The events that contradict each other, by start time.
    pub because: Vec<Arc<Operation>>,
    /// True if the violation is an exceeded time limit.
    pub is_of_time: bool,
}

impl Violation {
    /// Creates a violation that these operations prove.
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
