//! The clients of one life of the server, and what each of them saw.

use crate::{Cancel, History, IdSet, List};
use reqwest::{Client, RequestBuilder};
use serde::Deserialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// Cancels choose among this many neighbouring orders, so that most orders are
/// cancelled by several clients at about the same time.
const NEIGHBOURS: i64 = 8;
/// One order of this many of earlier lives is cancelled again after a restart.
const LOOK_BACK_STEP: usize = 10;
/// An answer that takes longer is a violation.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// What the clients of one life of the server share.
pub struct Clients {
    pub plain: Client,
    pub gzip: Client,
    pub orders_url: String,
    pub key: String,
    pub clock: Instant,
    /// The first order of this life.
    pub first: i64,
    /// How many cancels are sent in all, and have been so far.
    pub attempts: i64,
    pub attempt: AtomicI64,
    /// When the life ends at the latest.
    pub deadline: Instant,
    /// The server was killed, or is about to be: answers may be cut off.
    pub killed: AtomicBool,
    /// Listing is to end.
    pub over: AtomicBool,
}

/// What a client saw.
#[derive(Default)]
pub struct Seen {
    lists: Vec<List>,
    cancels: Vec<Cancel>,
    malformed: Vec<String>,
}

impl History {
    pub(crate) fn add(&mut self, seen: Seen) {
        self.lists.extend(seen.lists);
        self.cancels.extend(seen.cancels);
        self.malformed.extend(seen.malformed);
    }
}

impl Clients {
    /// What is left after a restart: one list, and a second cancel of some of the
    /// orders of earlier lives.
    pub async fn look_back(&self) -> Seen {
        let mut seen = Seen::default();
        self.list(&self.plain, &mut seen).await;
        for id in (1..self.first).step_by(LOOK_BACK_STEP) {
            self.cancel(id, &mut seen).await;
        }
        seen
    }

    /// Lists again and again until it is over or the server was killed.
    pub async fn list_until_over(self: Arc<Self>, gzip: bool) -> Seen {
        let (mut seen, mut answered) = (Seen::default(), true);
        let client = if gzip { &self.gzip } else { &self.plain };
        while answered && !self.over.load(Ordering::Relaxed) {
            answered = self.list(client, &mut seen).await;
        }
        seen
    }

    /// Cancels orders of this life until they are through or the server was killed.
    pub async fn cancel_in_turn(self: Arc<Self>, seed: u64) -> Seen {
        let (mut random, mut seen) = (fastrand::Rng::with_seed(seed), Seen::default());
        loop {
            let attempt = self.attempt.fetch_add(1, Ordering::Relaxed);
            let id = self.first + attempt / 2 + random.i64(0..NEIGHBOURS);
            let ends = attempt >= self.attempts || Instant::now() > self.deadline;
            if ends || !self.cancel(id, &mut seen).await {
                return seen;
            }
        }
    }

    /// Waits until this many cancels have been sent.
    pub async fn reach(&self, attempts: i64) {
        while self.attempt.load(Ordering::Relaxed) < attempts && Instant::now() < self.deadline {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// One list; whether it was answered.
    async fn list(&self, client: &Client, seen: &mut Seen) -> bool {
        let begun = self.now();
        let body = async {
            let response = self.sent(client.get(&self.orders_url)).await?;
            let status = response.status();
            reqwest::Result::Ok((status, response.bytes().await?))
        };
        match body.await {
            Ok((status, body)) if status == 200 => match ids_of(&body) {
                Ok(ids) => seen.lists.push(List { begun, ended: self.now(), ids }),
                Err(text) => seen.malformed.push(text),
            },
            Ok((status, _)) => seen.malformed.push(format!("a list was answered {status}")),
            Err(error) => return self.cut_off(&error, seen),
        }
        true
    }

    /// One cancel; whether it was answered.
    async fn cancel(&self, id: i64, seen: &mut Seen) -> bool {
        let begun = self.now();
        let url = format!("{}/{id}", self.orders_url);
        let body = async {
            let response = self.sent(self.plain.delete(&url)).await?;
            let status = response.status().as_u16();
            response.bytes().await?;
            reqwest::Result::Ok(status)
        };
        let answer = body.await;
        let ended = self.now();
        seen.cancels.push(Cancel {
            id,
            begun,
            answer: answer.as_ref().ok().map(|status| (ended, *status)),
        });
        answer.map_or_else(|error| self.cut_off(&error, seen), |_| true)
    }

    async fn sent(&self, request: RequestBuilder) -> reqwest::Result<reqwest::Response> {
        request.bearer_auth(&self.key).send().await
    }

    /// An answer that ends early is a violation unless the server was killed.
    fn cut_off(&self, error: &reqwest::Error, seen: &mut Seen) -> bool {
        if !self.killed.load(Ordering::SeqCst) {
            seen.malformed.push(format!("a running server did not answer: {error:?}"));
        }
        false
    }

    fn now(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A client that sends each request once, on as many connections as it needs.
pub fn client(gzip: bool) -> reqwest::Result<Client> {
    Client::builder().gzip(gzip).retry(reqwest::retry::never()).timeout(REQUEST_TIMEOUT).build()
}

#[derive(Deserialize)]
struct ListedId {
    id: usize,
}

/// The ids of a list's body, which must be in ascending order, or what is wrong with it.
pub fn ids_of(body: &[u8]) -> Result<IdSet, String> {
    let orders: Vec<ListedId> =
        serde_json::from_slice(body).map_err(|error| format!("a list is no list: {error}"))?;
    if !orders.is_sorted_by(|one, next| one.id < next.id) {
        return Err("a list is not in ascending order of ids".to_string());
    }
    Ok(orders.into_iter().map(|order| order.id).collect())
}

#[cfg(test)]
mod tests {
    use super::ids_of;

    #[test]
    fn only_an_ascending_array_is_a_list() {
        assert_eq!(ids_of(br#"[{"id":3,"petId":1},{"id":70}]"#).unwrap().iter().count(), 2);
        assert_eq!(ids_of(b"[]").unwrap().iter().count(), 0);
        assert!(ids_of(br#"[{"id":3},{"id":3}]"#).is_err());
        assert!(ids_of(br#"[{"id":3},"#).is_err());
    }
}
