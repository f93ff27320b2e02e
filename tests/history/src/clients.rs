//! The clients of one life of the server.

use crate::event::{Answer, Answered, Request};
use crate::{GIVES_UP_AFTER, Journal};
use reqwest::{Client, RequestBuilder};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// Cancels choose among this many neighbouring orders, so that most orders are
/// cancelled by several clients at about the same time.
const NEIGHBOURS: i64 = 8;
/// One order of this many of earlier lives is cancelled again after a restart.
const LOOK_BACK_STEP: usize = 10;
/// The names of the server and of the key in the recording.
pub const SERVER: &str = "server";
pub const KEY: &str = "key";

/// What the clients of one life of the server share.
pub struct Clients {
    pub plain: Client,
    pub gzip: Client,
    pub orders_url: String,
    pub key: String,
    pub journal: Arc<Journal>,
    /// The first order of this life.
    pub first: i64,
    /// How many cancels are sent in all, and have been so far.
    pub attempts: i64,
    pub attempt: AtomicI64,
    /// When the life ends at the latest.
    pub deadline: Instant,
    /// Listing is to end.
    pub over: AtomicBool,
}

impl Clients {
    /// What is left after a restart: one list, and a second cancel of some of the
    /// orders of earlier lives.
    pub async fn look_back(&self) {
        self.list(&self.plain, "looks-back").await;
        for id in (1..self.first).step_by(LOOK_BACK_STEP) {
            self.cancel(id, "looks-back").await;
        }
    }

    /// Lists again and again until it is over or the server was killed.
    pub async fn list_until_over(self: Arc<Self>, number: i64) {
        let name = format!("lister-{number}");
        let client = if number % 2 == 0 { &self.gzip } else { &self.plain };
        let mut is_answered = true;
        while is_answered && !self.over.load(Ordering::Relaxed) {
            is_answered = self.list(client, &name).await;
        }
    }

    /// Cancels orders of this life until they are through or the server was killed.
    pub async fn cancel_in_turn(self: Arc<Self>, number: i64) {
        let name = format!("canceller-{number}");
        let mut random = fastrand::Rng::with_seed(number.unsigned_abs());
        loop {
            let attempt = self.attempt.fetch_add(1, Ordering::Relaxed);
            let id = self.first + attempt / 2 + random.i64(0..NEIGHBOURS);
            let ends = attempt >= self.attempts || Instant::now() > self.deadline;
            if ends || !self.cancel(id, &name).await {
                return;
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
    async fn list(&self, client: &Client, name: &str) -> bool {
        let op = self.asks(name, Request::List);
        let answer = match self.sent(client.get(&self.orders_url)).await {
            Ok((200, body)) => self.journal.orders.list(&body),
            Ok((status, _)) => Answer::Status(Answered { status, ..Answered::default() }),
            Err(error) => Answer::Lost(format!("{error:?}")),
        };
        self.gets(op, answer)
    }

    /// One cancel; whether it was answered.
    async fn cancel(&self, id: i64, name: &str) -> bool {
        let Ok(order) = usize::try_from(id) else { return false };
        let op = self.asks(name, Request::Cancel(order));
        let url = format!("{}/{id}", self.orders_url);
        let answer = match self.sent(self.plain.delete(&url)).await {
            Ok((status, _)) => Answer::Status(Answered { status, ..Answered::default() }),
            Err(error) => Answer::Lost(format!("{error:?}")),
        };
        self.gets(op, answer)
    }

    fn asks(&self, client: &str, request: Request) -> u64 {
        self.journal.asks(client, Some(SERVER), Some(KEY), request)
    }

    fn gets(&self, op: u64, answer: Answer) -> bool {
        let is_answered = !matches!(answer, Answer::Lost(_));
        self.journal.gets(op, answer);
        is_answered
    }

    async fn sent(&self, request: RequestBuilder) -> reqwest::Result<(u16, Vec<u8>)> {
        let response = request.bearer_auth(&self.key).send().await?;
        let status = response.status().as_u16();
        Ok((status, response.bytes().await?.to_vec()))
    }
}

/// A client that sends each request once, on as many connections as it needs.
pub fn client(gzip: bool) -> reqwest::Result<Client> {
    Client::builder().gzip(gzip).retry(reqwest::retry::never()).timeout(GIVES_UP_AFTER).build()
}
