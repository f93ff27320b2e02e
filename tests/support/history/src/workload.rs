//! The clients of every scenario: writers that cancel, listers on all servers, walkers that read
//! all pages, accounts at their
//! limits, a key that is banned, callers with keys that are revoked. All that they see is recorded.

mod pool;

pub use pool::{CALM, Pool};

use crate::event::{Answer, Answered, Page, Request};
use crate::{GIVES_UP_AFTER, Journal};
use reqwest::header::HeaderMap;
use reqwest::{Client, RequestBuilder};
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};
use testbed::Key;
use tokio::task::JoinSet;

/// How many clients there are that cancel and that list.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Clients that cancel.
    pub writers: usize,
    /// Clients that list.
    pub listers: usize,
    /// Clients that walk over all pages.
    pub walkers: usize,
}

/// What two cores can do next to the servers.
pub const LOAD: Load = Load { writers: 5, listers: 4, walkers: 2 };

/// How long each rests between two requests.
const WRITER_RESTS: Duration = Duration::from_millis(20);
const LISTER_RESTS: Duration = Duration::from_millis(15);

/// Of the listers, those from this one on send the tag of the list that they have.
const FIRST_ASKING_AGAIN: usize = 2;

/// How many orders walkers have on a page: a walk takes several pages.
const PAGE: usize = 200;

/// In the body of a 429 to a key that is banned.
const BANNED: &[u8] = br#""key_banned""#;

/// The limits a minute and a day of accounts that reach them.
pub const LIMITS: [(u32, u32); WAITING + 2] = [
    (PER_MINUTE, u32::MAX),
    (PER_MINUTE, u32::MAX),
    (PER_MINUTE, u32::MAX),
    (PER_MINUTE, u32::MAX),
    (PER_MINUTE, u32::MAX),
    (PER_MINUTE, u32::MAX),
    // Its key is banned soon, and goes on.
    (5, u32::MAX),
    // Its day is used up soon.
    (10_000, 50),
];

/// How many of them wait for the next minute when one is used up, and rest for so long between
/// two pairs of requests. They begin one after the other, so that one is always at work.
const WAITING: usize = 6;
const PER_MINUTE: u32 = 40;
const LIMITED_RESTS: Duration = Duration::from_millis(400);
const LIMITED_BEGIN_AFTER: Duration = Duration::from_secs(9);

/// How many refusals in a minute an account asks for: far fewer than begin a ban.
const REFUSALS: u32 = 4;

/// How long a caller rests between two requests with a key.
const CALLER_RESTS: Duration = Duration::from_millis(40);

/// How long a connection may be idle before a request is sent on it: servers close it after 30 s,
/// which a request that is under way by then does not survive.
const IDLE_CONNECTION_LIMIT: Duration = Duration::from_secs(10);

/// What all clients share.
pub struct Workload {
    /// What is recorded.
    pub journal: Arc<Journal>,
    /// The servers: their names and where their clients reach them.
    pub servers: Vec<(String, String)>,
    /// A key without a practical limit.
    pub key: Key,
    /// Keys of accounts with a limit.
    pub limited: Vec<Key>,
    /// Orders to cancel, keys to call with, and whether the clients rest or end.
    pub pool: Pool,
    plain: Client,
    gzip: Client,
    seed: u64,
}

impl Workload {
    /// No client works yet.
    pub fn new(
        journal: Arc<Journal>,
        servers: Vec<(String, String)>,
        key: Key,
        limited: Vec<Key>,
        pool: Pool,
        seed: u64,
    ) -> anyhow::Result<Workload> {
        let client = |gzip| {
            let client = Client::builder().gzip(gzip).retry(reqwest::retry::never());
            client.timeout(GIVES_UP_AFTER).pool_idle_timeout(IDLE_CONNECTION_LIMIT).build()
        };
        let (plain, gzip) = (client(false)?, client(true)?);
        Ok(Workload { journal, servers, key, limited, pool, plain, gzip, seed })
    }

    /// Has all clients begin.
    pub fn start(self: &Arc<Self>, load: Load) -> JoinSet<()> {
        let mut clients = JoinSet::new();
        for number in 0..load.writers {
            clients.spawn(Arc::clone(self).cancel(number));
        }
        for number in 0..load.listers {
            clients.spawn(Arc::clone(self).list(number));
        }
        for number in 0..load.walkers {
            clients.spawn(Arc::clone(self).walk(number));
        }
        for number in 0..self.limited.len() {
            match number < WAITING {
                true => clients.spawn(Arc::clone(self).reach_limit(number)),
                false => clients.spawn(Arc::clone(self).exceed_limit(number)),
            };
        }
        for number in 0..self.servers.len() {
            clients.spawn(Arc::clone(self).call(number));
        }
        clients
    }

    async fn cancel(self: Arc<Self>, number: usize) {
        let name = format!("writer-{number}");
        let mut random = self.random(number);
        while !self.pool.is_over() {
            let turn = self.pool.turn().await;
            if let Some(id) = self.pool.order_to_cancel(&mut random) {
                let server = self.server_of(number, &mut random);
                self.send(&name, server, &self.key, Request::Cancel(id)).await;
            }
            drop(turn);
            self.pool.pause(WRITER_RESTS).await;
        }
    }

    async fn list(self: Arc<Self>, number: usize) {
        let name = format!("lister-{number}");
        let mut random = self.random(50 + number);
        let (asks_again, mut known) = (number >= FIRST_ASKING_AGAIN, None);
        while !self.pool.is_over() {
            let server = self.server_of(number, &mut random);
            self.send_list(&name, server, &mut known).await;
            known = known.filter(|_| asks_again);
            self.pool.pause(LISTER_RESTS).await;
        }
    }

    /// Lists orders with `If-None-Match`, if a list is known. A 304 is recorded as the list that is
    /// known: it says that this one would be sent.
    async fn send_list(&self, client: &str, server: usize, known: &mut Option<KnownList>) {
        // Some of the clients read gzip.
        let http = if client.ends_with(['1', '3']) { &self.gzip } else { &self.plain };
        let before = known.take();
        let request = |base: &str| {
            let list = http.get(format!("{base}/store/orders"));
            match &before {
                Some(before) => list.header("if-none-match", &before.tag),
                None => list,
            }
        };
        let read = |exchanged: Exchanged| {
            let tag = exchanged.header("etag").map(str::to_string);
            let list = match &before {
                Some(before) if exchanged.status == 304 => before.list.clone(),
                _ => exchanged.read(|body| self.journal.orders.list(body)),
            };
            *known = tag.map(|tag| KnownList { tag, list: list.clone() });
            list
        };
        self.ask(client, server, &self.key, Request::List, request, read).await;
    }

    /// Walks over all pages again and again, each page at any server: of all orders, then of the
    /// pending ones. A page that is not answered is asked for again.
    async fn walk(self: Arc<Self>, number: usize) {
        let name = format!("walker-{number}");
        let mut random = self.random(150 + number);
        let (mut page, mut cursor) = (Page::default(), None::<String>);
        while !self.pool.is_over() {
            let server = random.usize(0..self.servers.len());
            let (answer, next) = self.send_page(&name, server, &page, cursor.as_deref()).await;
            if let Answer::Page { ids, is_last } = answer {
                page.after = ids.iter().last().unwrap_or(page.after);
                cursor = next;
                if is_last {
                    page = Page { after: 0, pending: !page.pending };
                }
            }
            self.pool.pause(LISTER_RESTS).await;
        }
    }

    /// Asks for a page; the answer, and the cursor of the next page.
    async fn send_page(
        &self,
        client: &str,
        server: usize,
        page: &Page,
        cursor: Option<&str>,
    ) -> (Answer, Option<String>) {
        let status = if page.pending { "&status=pending" } else { "" };
        let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let request = |base: &str| {
            let base = base.replace("/v1", "/v2");
            self.plain.get(format!("{base}/store/orders?limit={PAGE}{status}{cursor}"))
        };
        let mut next = None;
        let read = |exchanged: Exchanged| {
            exchanged.read(|body| {
                let (answer, cursor) = self.journal.orders.page(body, page.pending);
                next = cursor;
                answer
            })
        };
        let what = Request::Page(page.clone());
        let answer = self.ask(client, server, &self.key, what, request, read).await;
        (answer, next)
    }

    /// Uses up a window with two requests at a time, and waits for the next.
    async fn reach_limit(self: Arc<Self>, number: usize) {
        let (one, other) = (format!("limited-{number}-one"), format!("limited-{number}-other"));
        let mut random = self.random(100 + number);
        let Some(key) = self.limited.get(number) else { return };
        let first = Instant::now() + LIMITED_BEGIN_AFTER * u32::try_from(number).unwrap_or(0);
        self.pool.sleep_until(first).await;
        let mut refusals = 0;
        while !self.pool.is_over() {
            let turn = self.pool.turn().await;
            let servers = [0, 1].map(|_| random.usize(0..self.servers.len()));
            let [at_one, at_other] = servers;
            let (one, other) = tokio::join!(
                self.send(&one, at_one, key, Request::Pet),
                self.send(&other, at_other, key, Request::Pet),
            );
            drop(turn);
            let waits = [one, other].into_iter().filter_map(|answer| match answer {
                Answer::Status(answered) if answered.status == 429 => answered.retry_after,
                _ => None,
            });
            let waits: Vec<u64> = waits.collect();
            refusals += u32::try_from(waits.len()).unwrap_or(0);
            let window_closes = waits.iter().max().filter(|_| refusals >= REFUSALS);
            if let Some(seconds) = window_closes {
                refusals = 0;
                self.pool.sleep_until(Instant::now() + Duration::from_secs(*seconds)).await;
            }
            self.pool.pause(LIMITED_RESTS).await;
        }
    }

    /// Goes on after the limit was reached.
    async fn exceed_limit(self: Arc<Self>, number: usize) {
        let name = format!("limited-{number}");
        let mut random = self.random(100 + number);
        let Some(key) = self.limited.get(number) else { return };
        while !self.pool.is_over() {
            let turn = self.pool.turn().await;
            self.send(&name, random.usize(0..self.servers.len()), key, Request::Pet).await;
            drop(turn);
            self.pool.pause(LIMITED_RESTS).await;
        }
    }

    /// Calls one server with the keys that the operator issues and revokes.
    async fn call(self: Arc<Self>, number: usize) {
        let name = format!("caller-{number}");
        while !self.pool.is_over() {
            for key in self.pool.keys() {
                self.send(&name, number, &key, Request::Pet).await;
            }
            self.pool.pause(CALLER_RESTS).await;
        }
    }

    /// The first clients of a kind stay with a server each, so that no server is without one
    /// while another does not answer; the rest choose.
    fn server_of(&self, number: usize, random: &mut fastrand::Rng) -> usize {
        match number < self.servers.len() {
            true => number,
            false => random.usize(0..self.servers.len()),
        }
    }

    fn random(&self, client: usize) -> fastrand::Rng {
        fastrand::Rng::with_seed(self.seed.wrapping_mul(1_000).wrapping_add(client as u64))
    }

    /// Sends a request to this server, unless clients avoid it.
    pub async fn send(&self, client: &str, server: usize, key: &Key, what: Request) -> Answer {
        let (asked, http, shown) = (what.clone(), &self.plain, &self.journal.orders);
        let request = |base: &str| match &what {
            Request::Cancel(id) => http.delete(format!("{base}/store/orders/{id}")),
            Request::List => http.get(format!("{base}/store/orders")),
            _ => http.get(format!("{base}/pets/1")),
        };
        let read = |exchanged: Exchanged| match &what {
            Request::List => exchanged.read(|body| shown.list(body)),
            _ => exchanged.status(),
        };
        self.ask(client, server, key, asked, request, read).await
    }

    /// Records a request to this server, or its neighbour if clients avoid it, and what `read` makes
    /// of the response.
    async fn ask(
        &self,
        client: &str,
        server: usize,
        key: &Key,
        what: Request,
        request: impl FnOnce(&str) -> RequestBuilder,
        read: impl FnOnce(Exchanged) -> Answer,
    ) -> Answer {
        let server = self.pool.choose(server, self.servers.len());
        let Some((server, base)) = self.servers.get(server) else {
            return Answer::Lost("there is no such server".to_string());
        };
        let op = self.journal.asks(client, Some(server), Some(&key.id), what);
        let answer = match exchange(request(base).bearer_auth(&key.text)).await {
            Ok(exchanged) => read(exchanged),
            Err(error) => Answer::Lost(format!("{:#}", anyhow::Error::from(error))),
        };
        self.journal.gets(op, answer.clone());
        answer
    }
}

/// A list that a client has.
struct KnownList {
    tag: String,
    list: Answer,
}

/// What came back on a request.
struct Exchanged {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Exchanged {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// What the recording says of a list or a page: `read` holds its body against the orders that
    /// were shown before.
    fn read(&self, read: impl FnOnce(&[u8]) -> Answer) -> Answer {
        if self.status == 200 { read(&self.body) } else { self.status() }
    }

    /// What it says of any other answer.
    fn status(&self) -> Answer {
        Answer::Status(Answered {
            status: self.status,
            retry_after: self.header("retry-after").and_then(|text| text.parse().ok()),
            closes_in: closes_in(self.header("x-ratelimit-reset"), self.header("date")),
            is_banned: self.body.windows(BANNED.len()).any(|part| part == BANNED),
        })
    }
}

async fn exchange(request: RequestBuilder) -> reqwest::Result<Exchanged> {
    let answer = request.send().await?;
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    Ok(Exchanged { status, headers, body: answer.bytes().await?.into() })
}

/// Seconds until the window closes, by the server's own clock. The date of a response may be a
/// second old, also when the clock was moved in between: then it says nothing.
fn closes_in(reset: Option<&str>, date: Option<&str>) -> Option<i64> {
    let reset: i64 = reset?.parse().ok()?;
    let date = httpdate::parse_http_date(date?).ok()?.duration_since(UNIX_EPOCH).ok()?;
    let left = reset - i64::try_from(date.as_secs()).ok()?;
    (-1..=62).contains(&left).then_some(left)
}
