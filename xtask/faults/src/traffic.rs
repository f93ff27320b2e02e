//! Clients that cancel and list on every replica while something fails, and what they saw.

use crate::replicas::{StoreUnderTest, blocking};
use anyhow::Context;
use history::event::{Answer, Answered, Beginning, FaultBegun, Request, What};
use history::{ANSWER_LIMIT, GIVES_UP_AFTER, Journal, ShownOrders};
use reqwest::{Client, RequestBuilder};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, UNIX_EPOCH};
use testbed::{Canary, Key, Report};
use tokio::task::JoinSet;

/// How long each client rests between two requests.
const REST: Duration = Duration::from_millis(10);

/// In the body of a 429 to a key that is banned.
const BANNED: &[u8] = br#""key_banned""#;

/// How many clients there are of each kind.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Clients that cancel.
    pub writers: usize,
    /// Clients that list.
    pub listers: usize,
}

/// Four clients that cancel and three that list.
pub const LOAD: Load = Load { writers: 4, listers: 3 };

/// What is recorded of clients of one store, whose orders are numbered from 1.
#[derive(Clone)]
pub struct Recording {
    journal: Arc<Journal>,
    orders: usize,
    _canary: Arc<Canary>,
}

impl Recording {
    /// A recording of a store with pending orders from 1 to this one, where something fails.
    pub fn start(orders: i64) -> anyhow::Result<Recording> {
        let (journal, orders) = (Arc::new(Journal::new(None)), usize::try_from(orders)?);
        let _canary = Arc::new(journal.watch_machine()?);
        let pending = (1..=orders).collect();
        let beginning = Beginning { pending, may_be_unavailable: true, ..Beginning::default() };
        journal.note(What::Begins(beginning));
        Ok(Recording { journal, orders, _canary })
    }
}

/// Clients at work.
pub struct Traffic {
    clients: JoinSet<()>,
    shared: Arc<Shared>,
}

struct Shared {
    bases: Vec<String>,
    key: Key,
    recording: Recording,
    http: Client,
    next: AtomicUsize,
    stop: AtomicBool,
}

/// What clients saw.
pub struct Seen(Recording);

impl Traffic {
    /// Starts clients of these servers, which cancel the orders from 1 to this one.
    pub fn start(
        bases: Vec<String>,
        key: &Key,
        orders: i64,
        load: Load,
    ) -> anyhow::Result<Traffic> {
        Traffic::start_in(Recording::start(orders)?, bases, key, load)
    }

    /// The same in a recording of other clients too.
    pub fn start_in(
        recording: Recording,
        bases: Vec<String>,
        key: &Key,
        load: Load,
    ) -> anyhow::Result<Traffic> {
        let http = Client::builder().retry(reqwest::retry::never()).timeout(GIVES_UP_AFTER);
        let shared = Arc::new(Shared {
            bases,
            key: key.clone(),
            recording,
            http: http.build()?,
            next: AtomicUsize::new(1),
            stop: AtomicBool::new(false),
        });
        let mut clients = JoinSet::new();
        for number in 0..load.writers {
            clients.spawn(Arc::clone(&shared).cancel(number));
        }
        for number in 0..load.listers {
            clients.spawn(Arc::clone(&shared).list(number));
        }
        Ok(Traffic { clients, shared })
    }

    /// Nanoseconds since the recording began.
    pub fn now(&self) -> u64 {
        self.shared.recording.journal.now()
    }

    /// A fault begins. What a network holds back until it is undone is carried out late.
    pub fn fault(&self, name: String) {
        let fault = FaultBegun { name, ..FaultBegun::default() };
        self.shared.recording.journal.note(What::Fault(fault));
    }

    /// The fault was undone.
    pub fn undone(&self) {
        self.shared.recording.journal.note(What::Undone);
    }

    /// Waits for the last answers, and returns what all clients saw.
    pub async fn stop(mut self) -> anyhow::Result<Seen> {
        self.shared.stop.store(true, Ordering::SeqCst);
        while let Some(ended) = self.clients.join_next().await {
            ended.context("a client panicked")?;
        }
        Ok(Seen(self.shared.recording.clone()))
    }
}

impl Shared {
    async fn cancel(self: Arc<Self>, number: usize) {
        let name = format!("writer-{number}");
        for turn in number.. {
            let id = self.next.fetch_add(1, Ordering::SeqCst);
            if self.stop.load(Ordering::SeqCst) || id > self.recording.orders {
                break;
            }
            let Some(base) = self.bases.get(turn % self.bases.len()) else { break };
            let request = self.http.delete(format!("{base}/store/orders/{id}"));
            self.send(&name, base, Request::Cancel(id), request).await;
            tokio::time::sleep(REST).await;
        }
    }

    async fn list(self: Arc<Self>, number: usize) {
        let name = format!("lister-{number}");
        for turn in number.. {
            if self.stop.load(Ordering::SeqCst) {
                break;
            }
            let Some(base) = self.bases.get(turn % self.bases.len()) else { break };
            let request = self.http.get(format!("{base}/store/orders"));
            self.send(&name, base, Request::List, request).await;
            tokio::time::sleep(REST).await;
        }
    }

    async fn send(&self, client: &str, base: &str, what: Request, request: RequestBuilder) {
        let journal = &self.recording.journal;
        let lists = (what == Request::List).then_some(&journal.orders);
        let op = journal.asks(client, Some(base), Some(&self.key.id), what);
        let answer = answer_to(request.bearer_auth(&self.key.text), lists).await;
        journal.gets(op, answer);
    }
}

/// Sends a request; what the recording says of its answer. The body of a list is held against
/// the orders that were shown before.
pub async fn answer_to(request: RequestBuilder, lists: Option<&ShownOrders>) -> Answer {
    let answered = async {
        let answer = request.send().await?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        reqwest::Result::Ok((status, headers, answer.bytes().await?))
    };
    match (answered.await, lists) {
        (Ok((200, _, body)), Some(lists)) => lists.list(&body),
        (Ok((status, headers, body)), _) => {
            let header = |name| headers.get(name)?.to_str().ok();
            let retry_after = header("retry-after").and_then(|text| text.parse().ok());
            let closes_in = closes_in(header("x-ratelimit-reset"), header("date"));
            let is_banned = body.windows(BANNED.len()).any(|part| part == BANNED);
            Answer::Status(Answered { status, retry_after, closes_in, is_banned })
        }
        (Err(error), _) => Answer::Lost(format!("{:#}", anyhow::Error::from(error))),
    }
}

/// Seconds until the window closes, by the server's own clock. The date of a response may be a
/// second old, also when the clock was moved in between: then it says nothing.
fn closes_in(reset: Option<&str>, date: Option<&str>) -> Option<i64> {
    let reset: i64 = reset?.parse().ok()?;
    let date = httpdate::parse_http_date(date?).ok()?.duration_since(UNIX_EPOCH).ok()?;
    let left = reset - i64::try_from(date.as_secs()).ok()?;
    (-1..=62).contains(&left).then_some(left)
}

impl Seen {
    /// How many cancellations were acknowledged, and when.
    pub fn acknowledged(&self) -> Vec<u64> {
        self.0.journal.figures().acknowledged
    }

    /// How many requests were answered 503.
    pub fn unavailable(&self) -> u64 {
        self.0.journal.figures().count("503")
    }

    /// How long after this instant of the recording the next 204 came.
    pub fn outage_after(&self, instant: u64) -> Option<Duration> {
        let acknowledged = self.acknowledged();
        let first = acknowledged.iter().find(|at| **at > instant)?;
        Some(Duration::from_nanos(first - instant))
    }

    /// Reads the final table, and reports what the clients saw that cannot be true.
    pub async fn judge(
        self,
        store: &StoreUnderTest,
        url: &str,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let (operator, journal) = (store.operator(url), Arc::clone(&self.0.journal));
        let reads = Arc::clone(&journal);
        journal.note(What::Ends(blocking(move || reads.orders.table(&operator)).await?));
        for violation in journal.violations() {
            report.expect(false, || violation.to_string());
        }
        let figures = journal.figures();
        report.figure(format!(
            "{} lists, {} cancellations acknowledged of {}; {} times 503",
            figures.of_kind("lists"),
            figures.acknowledged.len(),
            figures.of_kind("cancels"),
            figures.count("503"),
        ));
        report.expect(!figures.acknowledged.is_empty(), || "nothing was cancelled".to_string());
        report.time("slowest answer", figures.slowest, ANSWER_LIMIT);
        Ok(())
    }
}
