//! A rule that was broken, with the few events that contradict each other.

use crate::event::{Asked, Request};
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

/// The rules that every recording keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// No id has two 204s.
    CancelledTwice,
    /// Every 204 is in the final table.
    CancellationLost,
    /// No list that began after a 204 was received anywhere shows the id.
    ListedAfter204,
    /// No shipped or absent order comes back: to the list, to be cancelled, or pending in the
    /// final table.
    CameBack,
    /// Lists of one client never go back in time.
    WentBack,
    /// No page of a walk shows an order that is not behind the pages before.
    OnTwoPages,
    /// A list is complete, never cut without an error, and no field of an order has changed.
    IncompleteList,
    /// Every 503 comes within its deadline, as does every other answer.
    LateAnswer,
    /// Every request is answered, unless a fault is between the client and the server.
    NoAnswer,
    /// Every 503 has `Retry-After`.
    NoRetryAfter,
    /// Nothing but 401 and 503 with a key revoked more than one second before.
    RevokedKeyAccepted,
    /// No 401 with a valid key once the command that issued it has ended, and no 429 if its account
    /// has no limit that can be reached.
    ValidKeyRefused,
    /// Admitted per minute and per day within the limits, and not at all with a banned key.
    AdmittedTooMany,
    /// No 429 before the limit can have been reached, and no ban before enough of them.
    RefusedTooEarly,
    /// After a fault every replica is ready again within 5 s.
    NotReady,
    /// A replica that is ready carries out each kind of request within 5 s.
    NotServing,
    /// After a fault, once they are compared, all replicas' lists are byte-equal within 2 s.
    ListsDiffer,
    /// An answer says what can be true: 404, 409 and 204 where they are due, no unknown
    /// order, no undocumented status, no body that is not what it must be.
    ImpossibleAnswer,
    /// The final table holds every order once, in the status that the answers told.
    ImpossibleTable,
}

impl Rule {
    /// All of them.
    pub const ALL: [Rule; 19] = [
        Rule::CancelledTwice,
        Rule::CancellationLost,
        Rule::ListedAfter204,
        Rule::CameBack,
        Rule::WentBack,
        Rule::OnTwoPages,
        Rule::IncompleteList,
        Rule::LateAnswer,
        Rule::NoAnswer,
        Rule::NoRetryAfter,
        Rule::RevokedKeyAccepted,
        Rule::ValidKeyRefused,
        Rule::AdmittedTooMany,
        Rule::RefusedTooEarly,
        Rule::NotReady,
        Rule::NotServing,
        Rule::ListsDiffer,
        Rule::ImpossibleAnswer,
        Rule::ImpossibleTable,
    ];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Rule::CancelledTwice => "an id has two 204s",
            Rule::CancellationLost => "a 204 is not in the final table",
            Rule::ListedAfter204 => "a list that began after a 204 shows the id",
            Rule::CameBack => "a shipped or absent order comes back",
            Rule::WentBack => "lists of one client go back in time",
            Rule::OnTwoPages => "an order is on two pages of a walk",
            Rule::IncompleteList => "a list is not complete",
            Rule::LateAnswer => "an answer is late",
            Rule::NoAnswer => "a request has no answer",
            Rule::NoRetryAfter => "a 503 has no Retry-After",
            Rule::RevokedKeyAccepted => "a key is accepted a second after it was revoked",
            Rule::ValidKeyRefused => "a valid key is refused",
            Rule::AdmittedTooMany => "a window admits more than the limit",
            Rule::RefusedTooEarly => "a window refuses before the limit is reached",
            Rule::NotReady => "a replica is not ready in time after a fault",
            Rule::NotServing => "a replica is ready and does not serve",
            Rule::ListsDiffer => "replicas' lists differ after a fault",
            Rule::ImpossibleAnswer => "an answer cannot be true",
            Rule::ImpossibleTable => "the final table cannot be true",
        }
    }
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

impl Display for Operation {
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

impl Display for Violation {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.rule.as_str(), self.text)?;
        self.because.iter().try_for_each(|operation| write!(out, "\n    {operation}"))
    }
}
