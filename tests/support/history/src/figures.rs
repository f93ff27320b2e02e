//! Counts the requests and answers of a recording, and measures its outages.

use crate::event::{Answer, Answered, Event, Request, What};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// The number of answers for each kind of request and result. A result is a status, or a word
    /// such as `lost`.
    pub answers: BTreeMap<(&'static str, String), u64>,
    pub faults: BTreeMap<String, u64>,
    /// The longest outages for each kind of fault. An outage counts only for the fault that was the
    /// latest when the outage ended.
    pub outages: BTreeMap<String, Outage>,
    /// The time of each 204 to a cancellation, in nanoseconds on the recording's clock.
    pub acknowledged: Vec<u64>,
    /// The longest duration of a request to a server. A request ends when its response arrives or
    /// is lost.
    pub slowest: Duration,
    pub stalled: Duration,
    open: HashMap<u64, (Kind, u64, Option<String>)>,
    /// The time in nanoseconds at which each kind of request last succeeded at each server. The end
    /// of a comparison of lists counts as a success of all kinds except lists, because writers and
    /// limited clients pause during the comparison.
    succeeded: BTreeMap<(Kind, String), u64>,
    fault: Option<(String, u64)>,
}

/// The longest time without a success at one server, for each kind of request. The time begins at
/// the fault or at a later success.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outage {
    pub lists: Duration,
    pub cancels: Duration,
    /// The outage of pet requests. A 429 counts as a success, because it proves that the rate
    /// limiter works.
    pub counted: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    List,
    Cancel,
    Pet,
    Command,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Kind::List => "lists",
            Kind::Cancel => "cancels",
            Kind::Pet => "pets",
            Kind::Command => "commands",
        }
    }
}

impl Figures {
    pub fn take(&mut self, event: &Event) {
        match &event.what {
            What::Asks(asked) => {
                let kind = match asked.request {
                    Request::List | Request::Page(_) => Kind::List,
                    Request::Cancel(_) => Kind::Cancel,
                    Request::Pet => Kind::Pet,
                    Request::Import(..) | Request::Ship(_) | Request::Revoke(_) => Kind::Command,
                };
                self.open.insert(asked.op, (kind, event.at, asked.server.clone()));
            }
            What::Gets { op, answer } => self.count_answer(event.at, *op, answer),
            What::Fault(fault) => {
                *self.faults.entry(fault.name.clone()).or_default() += 1;
                self.fault = Some((fault.name.clone(), event.at));
            }
            What::Compared { .. } => self.reset_outages(event.at),
            What::Stall { nanos } => self.stalled += Duration::from_nanos(*nanos),
            _ => {}
        }
    }

    fn reset_outages(&mut self, until: u64) {
        for ((kind, _), at) in &mut self.succeeded {
            if *kind != Kind::List {
                *at = until;
            }
        }
    }

    fn count_answer(&mut self, at: u64, op: u64, answer: &Answer) {
        let Some((kind, begun, server)) = self.open.remove(&op) else { return };
        let (text, is_success) = match answer {
            Answer::List(_) | Answer::Page { .. } => ("200".to_string(), true),
            Answer::Status(Answered { status, .. }) => {
                let is_success = match kind {
                    // A 404 or 409 is a success, too, because it proves that the server ran a
                    // transaction.
                    Kind::Cancel => matches!(status, 204 | 404 | 409),
                    // A 429 is a success, too, because it proves that the rate limiter works.
                    _ => matches!(status, 200 | 429),
                };
                (status.to_string(), is_success)
            }
            Answer::Malformed(_) => ("malformed".to_string(), false),
            Answer::Lost(_) => ("lost".to_string(), false),
            Answer::Done => ("done".to_string(), false),
            Answer::Failed(_) => ("failed".to_string(), false),
        };
        *self.answers.entry((kind.as_str(), text)).or_default() += 1;
        if kind == Kind::Cancel && matches!(answer, Answer::Status(Answered { status: 204, .. })) {
            self.acknowledged.push(at);
        }
        let Some(server) = server else { return };
        self.slowest = self.slowest.max(Duration::from_nanos(at - begun));
        if is_success {
            let before = self.succeeded.insert((kind, server), at);
            let Some((fault, begun)) = &self.fault else { return };
            let since = before.unwrap_or(at).max(*begun);
            let gap = Duration::from_nanos(at.saturating_sub(since));
            let outage = self.outages.entry(fault.clone()).or_default();
            let longest = match kind {
                Kind::List => &mut outage.lists,
                Kind::Cancel => &mut outage.cancels,
                Kind::Pet | Kind::Command => &mut outage.counted,
            };
            *longest = (*longest).max(gap);
        }
    }

    /// Returns a summary, then one line for each kind of fault, with the kind's longest outages. A
    /// kind has a line only if, after one of its faults, a request succeeded before the next fault.
    pub fn lines(&self) -> Vec<String> {
        let summary = format!(
            "{} faults, {} requests: {} lists, {} cancels ({} acknowledged), {} of limited \
             accounts and revoked keys; {} times 503, {} times 429, {} lost; slowest answer \
             {:.2?}; stalls {:.2?} in all",
            self.faults.values().sum::<u64>(),
            self.requests(),
            self.count_kind("lists"),
            self.count_kind("cancels"),
            self.acknowledged.len(),
            self.count_kind("pets"),
            self.count("503"),
            self.count("429"),
            self.count("lost"),
            self.slowest,
            self.stalled,
        );
        let outage = |(fault, outage): (&String, &Outage)| {
            let times = self.faults.get(fault).copied().unwrap_or_default();
            format!(
                "{fault} ({times}): longest at one server without a list {:.2?}, a cancellation \
                 {:.2?}, a counted request {:.2?}",
                outage.lists, outage.cancels, outage.counted,
            )
        };
        [summary].into_iter().chain(self.outages.iter().map(outage)).collect()
    }

    /// Returns the number of requests and commands with this result: a status, or a word such as
    /// `lost`.
    pub fn count(&self, status: &str) -> u64 {
        self.answers.iter().filter(|((_, text), _)| text == status).map(|(_, times)| times).sum()
    }

    /// The number of answered or lost requests of a kind: `lists`, `cancels`, `pets` or `commands`.
    pub fn count_kind(&self, kind: &str) -> u64 {
        self.answers.iter().filter(|((name, _), _)| *name == kind).map(|(_, times)| times).sum()
    }

    /// Returns the number of answered or lost requests. Does not count commands.
    pub fn requests(&self) -> u64 {
        [Kind::List, Kind::Cancel, Kind::Pet]
            .iter()
            .map(|kind| self.count_kind(kind.as_str()))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Asked, FaultBegun};
    use testbed::{assert_text, str};

    #[test]
    fn a_503_to_a_cancellation_counts_as_an_outage_and_404_does_not() {
        const SECOND: u64 = 1_000_000_000;
        let mut figures = Figures::default();
        let fault = FaultBegun { name: "cut".to_string(), ..FaultBegun::default() };
        figures.take(&Event { at: 0, what: What::Fault(fault) });
        for (op, status) in [(1, 404), (4, 503), (6, 204), (7, 409)] {
            let time = op * SECOND;
            let (client, server) = ("writer".to_string(), Some("a".to_string()));
            let asked = Asked { op, client, server, key: None, request: Request::Cancel(1) };
            figures.take(&Event { at: time, what: What::Asks(asked) });
            let answer = Answer::Status(Answered { status, ..Answered::default() });
            figures.take(&Event { at: time, what: What::Gets { op, answer } });
        }
        let expected = str![[r#"
1 faults, 4 requests: 0 lists, 4 cancels (1 acknowledged), 0 of limited accounts and revoked keys; 1 times 503, 0 times 429, 0 lost; slowest answer 0.00ns; stalls 0.00ns in all
cut (1): longest at one server without a list 0.00ns, a cancellation 5.00s, a counted request 0.00ns
"#]];
        assert_text(&figures.lines().join("\n"), expected);
    }
}
