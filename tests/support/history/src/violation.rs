//! A rule that was broken, with the few events that contradict each other.

use crate::event::{Asked, Request};
use std::fmt::{self, Formatter};
use std::sync::Arc;
use strum::{Display, EnumMessage, VariantArray};

/// The rules that every recording keeps, and how a violation of each is called.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Display, EnumMessage, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Rule {
    /// No id has two 204s.
    #[strum(message = "an id has two 204s")]
    CancelledTwice,
    /// Every 204 is in the final table.
    #[strum(message = "a 204 is not in the final table")]
    CancellationLost,
    /// No 204 to a request that began, and was answered, while nothing could be synced.
    #[strum(message = "a 204 came while nothing was synced")]
    AcknowledgedUnsynced,
    /// No list that began after a 204 was received anywhere shows the id.
    #[strum(message = "a list that began after a 204 shows the id")]
    ListedAfter204,
    /// No shipped or absent order comes back: to the list, to be cancelled, or pending in the
    /// final table.
    #[strum(message = "a shipped or absent order comes back")]
    CameBack,
    /// Lists of one client never go back in time.
    #[strum(message = "lists of one client go back in time")]
    WentBack,
    /// No page of a walk shows an order that is not behind the pages before.
    #[strum(message = "an order is on two pages of a walk")]
    OnTwoPages,
    /// A list is complete, never cut without an error, and no field of an order has changed.
    #[strum(message = "a list is not complete")]
    IncompleteList,
    /// Every 503 comes within its deadline, as does every other answer.
    #[strum(message = "an answer is late")]
    LateAnswer,
    /// Every request is answered, unless a fault is between the client and the server.
    #[strum(message = "a request has no answer")]
    NoAnswer,
    /// Every 503 has `Retry-After`.
    #[strum(message = "a 503 has no Retry-After")]
    NoRetryAfter,
    /// Nothing but 401 and 503 with a key revoked more than one second before.
    #[strum(message = "a key is accepted a second after it was revoked")]
    RevokedKeyAccepted,
    /// No 401 with a valid key once the command that issued it has ended, and no 429 if its account
    /// has no limit that can be reached.
    #[strum(message = "a valid key is refused")]
    ValidKeyRefused,
    /// Admitted per minute and per day within the limits.
    #[strum(message = "a window admits more than the limit")]
    AdmittedTooMany,
    /// No 429 before the limit can have been reached.
    #[strum(message = "a window refuses before the limit is reached")]
    RefusedTooEarly,
    /// After a fault every replica is ready again within 5 s.
    #[strum(message = "a replica is not ready in time after a fault")]
    NotReady,
    /// A replica that is ready carries out each kind of request within 5 s.
    #[strum(message = "a replica is ready and does not serve")]
    NotServing,
    /// After a fault, once they are compared, all replicas' lists are byte-equal within 2 s.
    #[strum(message = "replicas' lists differ after a fault")]
    ListsDiffer,
    /// An answer says what can be true: 404, 409 and 204 where they are due, no unknown
    /// order, no undocumented status, no body that is not what it must be.
    #[strum(message = "an answer cannot be true")]
    ImpossibleAnswer,
    /// The final table holds every order once, in the status that the answers told.
    #[strum(message = "the final table cannot be true")]
    ImpossibleTable,
}

/// A request or a command, as a violation shows it.
#[derive(Clone, Debug)]
pub struct Operation {
    /// What was asked.
    pub asked: Asked,
    /// When, in nanoseconds of the recording.
    pub begun: u64,
    /// When it was answered, and how in short; none if it is under way.
    pub answered: Option<(u64, String)>,
}

impl Operation {
    /// When it was answered; never, if it is under way.
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

/// A time of the recording, as violations show it.
pub fn seconds(nanos: u64) -> String {
    format!("{}.{:06} s", nanos / 1_000_000_000, nanos / 1_000 % 1_000_000)
}

/// A rule that was broken.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Which.
    pub rule: Rule,
    /// What is wrong, in one sentence.
    pub text: String,
    /// The events that contradict each other, in the order of their beginnings.
    pub because: Vec<Arc<Operation>>,
    /// Whether it is a bound in time that was exceeded.
    pub is_of_time: bool,
}

impl Violation {
    /// A violation of these operations.
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
