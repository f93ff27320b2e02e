//! Clients that cancel and list on every replica while something fails, and what they saw.

use crate::replicas::{StoreUnderTest, blocking};
use anyhow::Context;
use history::{Cancel, FinalTable, History, List, ids_of};
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};
use testbed::{Key, Report};
use tokio::task::JoinSet;

/// How long each client rests between two requests.
const REST: Duration = Duration::from_millis(10);

/// A request is answered within this, whatever fails: the server's own 5 s, and the time to
/// say so.
pub const ANSWER_LIMIT: Duration = Duration::from_millis(5_500);

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

/// Clients at work.
pub struct Traffic {
    clients: JoinSet<Seen>,
    shared: Arc<Shared>,
}

struct Shared {
    bases: Vec<String>,
    key: Key,
    orders: i64,
    next: AtomicI64,
    clock: Instant,
    stop: AtomicBool,
}

/// What clients saw.
#[derive(Default)]
pub struct Seen {
    /// Lists and cancellations that were answered or may have been carried out.
    pub history: History,
    /// When each 204 came, in nanoseconds of the traffic's clock.
    pub acknowledged: Vec<u64>,
    /// How many requests were answered 503, by what they asked.
    pub unavailable: BTreeMap<&'static str, u64>,
    /// How long the slowest answer took.
    pub slowest: Duration,
    /// 503s without `Retry-After`, and connections that ended without an answer.
    pub odd: Vec<String>,
}

impl Traffic {
    /// Starts clients of these servers, which cancel the orders from 1 to this one.
    pub fn start(bases: Vec<String>, key: &Key, orders: i64, load: Load) -> Traffic {
        Traffic::start_at(Instant::now(), bases, key, orders, load)
    }

    /// The same with the clock of other clients, so that what both saw can be merged.
    pub fn start_at(
        clock: Instant,
        bases: Vec<String>,
        key: &Key,
        orders: i64,
        load: Load,
    ) -> Traffic {
        let shared = Arc::new(Shared {
            bases,
            key: key.clone(),
            orders,
            next: AtomicI64::new(1),
            clock,
            stop: AtomicBool::new(false),
        });
        let mut clients = JoinSet::new();
        for number in 0..load.writers {
            clients.spawn(Arc::clone(&shared).cancel(number));
        }
        for number in 0..load.listers {
            clients.spawn(Arc::clone(&shared).list(number));
        }
        Traffic { clients, shared }
    }

    /// Nanoseconds since the traffic began.
    pub fn now(&self) -> u64 {
        nanos(self.shared.clock)
    }

    /// Waits for the last answers, and returns what all clients saw.
    pub async fn stop(mut self) -> anyhow::Result<Seen> {
        self.shared.stop.store(true, Ordering::SeqCst);
        let mut all = Seen::default();
        let orders = usize::try_from(self.shared.orders)?;
        all.history.orders = (1..=orders).collect();
        while let Some(seen) = self.clients.join_next().await {
            all.add(seen.context("a client panicked")?);
        }
        all.acknowledged.sort_unstable();
        Ok(all)
    }
}

impl Shared {
    async fn cancel(self: Arc<Self>, number: usize) -> Seen {
        let (http, mut seen) = (Client::new(), Seen::default());
        for turn in number.. {
            let id = self.next.fetch_add(1, Ordering::SeqCst);
            if self.stop.load(Ordering::SeqCst) || id > self.orders {
                break;
            }
            let Some(base) = self.bases.get(turn % self.bases.len()) else { break };
            let request = http.delete(format!("{base}/store/orders/{id}"));
            let (begun, answer) = self.sent("cancel", request, &mut seen).await;
            let ended = nanos(self.clock);
            let status = answer.map(|(status, _)| status.as_u16());
            // A 503 leaves open whether the order was cancelled.
            let answer = status.filter(|status| *status != 503).map(|status| (ended, status));
            if answer.is_some_and(|(_, status)| status == 204) {
                seen.acknowledged.push(ended);
            }
            seen.history.cancels.push(Cancel { id, begun, answer });
            tokio::time::sleep(REST).await;
        }
        seen
    }

    async fn list(self: Arc<Self>, number: usize) -> Seen {
        let (http, mut seen) = (Client::new(), Seen::default());
        for turn in number.. {
            if self.stop.load(Ordering::SeqCst) {
                break;
            }
            let Some(base) = self.bases.get(turn % self.bases.len()) else { break };
            let request = http.get(format!("{base}/store/orders"));
            let (begun, answer) = self.sent("list", request, &mut seen).await;
            let ended = nanos(self.clock);
            match answer {
                Some((StatusCode::OK, body)) => match ids_of(&body) {
                    Ok(ids) => seen.history.lists.push(List { begun, ended, ids }),
                    Err(text) => seen.history.malformed.push(text),
                },
                Some((StatusCode::SERVICE_UNAVAILABLE, _)) | None => {}
                Some((status, _)) => {
                    seen.history.malformed.push(format!("a list was answered {status}"));
                }
            }
            tokio::time::sleep(REST).await;
        }
        seen
    }

    /// Sends a request; when it began, and its answer.
    async fn sent(
        &self,
        what: &'static str,
        request: RequestBuilder,
        seen: &mut Seen,
    ) -> (u64, Option<(StatusCode, Vec<u8>)>) {
        let (begun, started) = (nanos(self.clock), Instant::now());
        let answered = async {
            let answer = request.bearer_auth(&self.key.text).send().await?;
            let (status, headers) = (answer.status(), answer.headers().clone());
            reqwest::Result::Ok((status, headers, answer.bytes().await?))
        };
        let answered = answered.await;
        seen.slowest = seen.slowest.max(started.elapsed());
        match answered {
            Ok((status, headers, body)) => {
                if status == StatusCode::SERVICE_UNAVAILABLE {
                    *seen.unavailable.entry(what).or_default() += 1;
                    if !headers.contains_key("retry-after") {
                        seen.odd.push(format!("a 503 of a {what} has no Retry-After"));
                    }
                }
                (begun, Some((status, body.to_vec())))
            }
            Err(error) => {
                seen.odd.push(format!("a {what} was not answered: {error}"));
                (begun, None)
            }
        }
    }
}

impl Seen {
    /// Adds what other clients saw, by the same clock and on the same store.
    pub fn add(&mut self, other: Seen) {
        self.history.lists.extend(other.history.lists);
        self.history.cancels.extend(other.history.cancels);
        self.history.malformed.extend(other.history.malformed);
        self.acknowledged.extend(other.acknowledged);
        for (what, count) in other.unavailable {
            *self.unavailable.entry(what).or_default() += count;
        }
        self.slowest = self.slowest.max(other.slowest);
        self.odd.extend(other.odd);
    }

    /// The longest time without a 204 that ended after this instant of the traffic's clock.
    pub fn outage_after(&self, instant: u64) -> Option<Duration> {
        let first = self.acknowledged.iter().find(|at| **at > instant)?;
        Some(Duration::from_nanos(first - instant))
    }

    /// Reads the final table, and reports what the clients saw that cannot be true.
    pub async fn judge(
        mut self,
        store: &StoreUnderTest,
        url: &str,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let operator = store.operator(url);
        self.history.table = blocking(move || table_of(&operator)).await?;
        for violation in history::violations(&self.history) {
            report.expect(false, || violation);
        }
        for odd in self.odd.iter().take(5) {
            report.expect(false, || odd.clone());
        }
        let unavailable: Vec<String> =
            self.unavailable.iter().map(|(what, count)| format!("{count} {what}s")).collect();
        report.figure(format!(
            "{} lists, {} cancellations acknowledged of {}; 503: {}",
            self.history.lists.len(),
            self.acknowledged.len(),
            self.history.cancels.len(),
            if unavailable.is_empty() { "none".to_string() } else { unavailable.join(", ") },
        ));
        report.expect(!self.acknowledged.is_empty(), || "nothing was cancelled".to_string());
        report.time("slowest answer", self.slowest, ANSWER_LIMIT);
        Ok(())
    }
}

fn table_of(operator: &testbed::DataDir) -> anyhow::Result<FinalTable> {
    let mut table = FinalTable::default();
    let rows = operator.run_json(&["orders", "list"])?;
    for row in rows.as_array().context("no list of orders")? {
        let id = row.get("id").and_then(Value::as_u64).context("an order without an id")?;
        let of = match row.get("status").and_then(Value::as_str) {
            Some("pending") => &mut table.pending,
            Some("shipped") => &mut table.shipped,
            _ => &mut table.cancelled,
        };
        of.add(usize::try_from(id)?);
    }
    Ok(table)
}

fn nanos(clock: Instant) -> u64 {
    u64::try_from(clock.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
