//! The clients of a recording. The journal records each request. Writers cancel orders, listers
//! request the list, and walkers request all pages. Callers use keys that may be revoked.
//!
//! Limited clients use up the limits of their accounts. Two of them continue after refusals: one
//! gets its key banned, and the other reaches the daily limit of its account.

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

/// The number of clients of each kind. A load also has a caller for each server, and a client for
/// each account in [`LIMITS`].
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub writers: usize,
    pub listers: usize,
    pub walkers: usize,
}

/// A load that two cores can handle while they also run the servers.
pub const LOAD: Load = Load { writers: 5, listers: 4, walkers: 2 };

/// The pause of a writer between two requests. Listers and walkers pause for `LISTER_RESTS`.
const WRITER_RESTS: Duration = Duration::from_millis(20);
const LISTER_RESTS: Duration = Duration::from_millis(15);

/// Listers from this number on send `If-None-Match`, so they may get a 304.
const FIRST_ASKING_AGAIN: usize = 2;

/// The number of orders per page. It is so small that a client needs several pages to read all
/// orders.
const PAGE: usize = 200;

/// A string that only the body of a 429 to a banned key contains.
const BANNED: &[u8] = br#""key_banned""#;

/// The limits per minute and per day of each account whose clients reach a limit.
pub const LIMITS: [(u32, u32); WAITING + 2] = [
    (PER_MINUTE, u32::MAX),
    (PER_MINUTE, u32::MAX),
    (PER_MINUTE, u32::MAX),
    (PER_MINUTE, u32::MAX),
    (PER_MINUTE, u32::MAX),
    (PER_MINUTE, u32::MAX),
    // This account's client does not wait for the next minute after refusals, so its key is soon
    // banned.
    (5, u32::MAX),
    // This account soon reaches its daily limit.
    (10_000, 50),
];

/// The number of accounts at the start of [`LIMITS`] whose clients use up a window, and then wait
/// for its end.
const WAITING: usize = 6;
const PER_MINUTE: u32 = 40;
/// The pause of limited clients between two rounds of requests.
const LIMITED_RESTS: Duration = Duration::from_millis(400);
/// The clients of the first [`WAITING`] accounts start one after another, at this interval. A
/// client sends its account's requests of a window in about 8 s, and then waits until the window of
/// 60 s ends. The six clients take turns: together they are busy for most of each 60 s.
const LIMITED_BEGIN_AFTER: Duration = Duration::from_secs(9);

/// After this many refusals, a client in `use_up_limit` waits until its window ends. The wait
/// prevents a ban, because a ban takes [`PER_MINUTE`] strikes.
const REFUSALS: u32 = 4;

const CALLER_RESTS: Duration = Duration::from_millis(40);

/// Maximum idle time of a client's connection. Servers close idle connections after 30 s, and a
/// request at that moment is lost.
const IDLE_CONNECTION_LIMIT: Duration = Duration::from_secs(10);

pub struct Workload {
    pub journal: Arc<Journal>,
    /// The name of each server, and its base URL for clients.
    pub servers: Vec<(String, String)>,
    /// A key of an account whose limits clients cannot reach.
    pub key: Key,
    /// The keys of the accounts, one per account, in the order of [`LIMITS`].
    pub limited: Vec<Key>,
    pub pool: Pool,
    plain: Client,
    gzip: Client,
    seed: u64,
}

impl Workload {
    /// Creates the state that the clients share. Clients run only after [`Workload::start`].
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
                true => clients.spawn(Arc::clone(self).use_up_limit(number)),
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

    /// Requests the list. Records a 304 as a response with the list in `known`. If the response has
    /// no entity tag, `known` is empty afterwards.
    async fn send_list(&self, client: &str, server: usize, known: &mut Option<KnownList>) {
        // The name of a lister ends with its number; half of the listers accept gzip.
        let http = if client.ends_with(['1', '3']) { &self.gzip } else { &self.plain };
        let before = known.take();
        let request = |base: &str| {
            let list = http.get(format!("{base}/store/orders"));
            match &before {
                Some(before) => list.header("if-none-match", &before.tag),
                None => list,
            }
        };
        let read = |response: Response| {
            let tag = response.header("etag").map(str::to_string);
            let list = match &before {
                Some(before) if response.status == 304 => before.list.clone(),
                _ => response.read(|body| self.journal.orders.list(body)),
            };
            *known = tag.map(|tag| KnownList { tag, list: list.clone() });
            list
        };
        self.ask(client, server, &self.key, Request::List, request, read).await;
    }

    /// Reads all pages of all orders, then all pages of the pending orders, and starts again. Each
    /// request for a page goes to a random server.
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

    /// Requests a page. The cursor is `None` if no page follows or the request failed.
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
        let read = |response: Response| {
            response.read(|body| {
                let (answer, cursor) = self.journal.orders.page(body, page.pending);
                next = cursor;
                answer
            })
        };
        let what = Request::Page(page.clone());
        let answer = self.ask(client, server, &self.key, what, request, read).await;
        (answer, next)
    }

    /// Sends requests in pairs, so that two servers may count requests at the same time. Pauses
    /// after [`REFUSALS`] refusals to avoid a ban.
    async fn use_up_limit(self: Arc<Self>, number: usize) {
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

    /// Sends requests with a limited account's key, and continues after refusals. Under a low limit
    /// per minute, the refusals lead to a ban.
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

    /// Sends requests to one server with the keys that the operator issues and revokes.
    async fn call(self: Arc<Self>, number: usize) {
        let name = format!("caller-{number}");
        while !self.pool.is_over() {
            for key in self.pool.keys() {
                self.send(&name, number, &key, Request::Pet).await;
            }
            self.pool.pause(CALLER_RESTS).await;
        }
    }

    /// Returns the server for the next request of a writer or lister. Client `number` uses server
    /// `number`, so that each server gets requests even while another server hangs. If there is no
    /// such server, the client chooses one at random.
    fn server_of(&self, number: usize, random: &mut fastrand::Rng) -> usize {
        match number < self.servers.len() {
            true => number,
            false => random.usize(0..self.servers.len()),
        }
    }

    fn random(&self, client: usize) -> fastrand::Rng {
        fastrand::Rng::with_seed(self.seed.wrapping_mul(1_000).wrapping_add(client as u64))
    }

    /// Sends a request to `server`, or to the next server if clients avoid `server`.
    pub async fn send(&self, client: &str, server: usize, key: &Key, what: Request) -> Answer {
        let (asked, http, shown) = (what.clone(), &self.plain, &self.journal.orders);
        let request = |base: &str| match &what {
            Request::Cancel(id) => http.delete(format!("{base}/store/orders/{id}")),
            Request::List => http.get(format!("{base}/store/orders")),
            _ => http.get(format!("{base}/pets/1")),
        };
        let read = |response: Response| match &what {
            Request::List => response.read(|body| shown.list(body)),
            _ => response.status(),
        };
        self.ask(client, server, key, asked, request, read).await
    }

    async fn ask(
        &self,
        client: &str,
        server: usize,
        key: &Key,
        what: Request,
        request: impl FnOnce(&str) -> RequestBuilder,
        read: impl FnOnce(Response) -> Answer,
    ) -> Answer {
        let server = self.pool.choose(server, self.servers.len());
        let Some((server, base)) = self.servers.get(server) else {
            return Answer::Lost("there is no such server".to_string());
        };
        let op = self.journal.asks(client, Some(server), Some(&key.id), what);
        let answer = match exchange(request(base).bearer_auth(&key.text)).await {
            Ok(response) => read(response),
            Err(error) => Answer::Lost(format!("{:#}", anyhow::Error::from(error))),
        };
        self.journal.gets(op, answer.clone());
        answer
    }
}

struct KnownList {
    tag: String,
    list: Answer,
}

struct Response {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Response {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    fn read(&self, read: impl FnOnce(&[u8]) -> Answer) -> Answer {
        if self.status == 200 { read(&self.body) } else { self.status() }
    }

    fn status(&self) -> Answer {
        Answer::Status(Answered {
            status: self.status,
            retry_after: self.header("retry-after").and_then(|text| text.parse().ok()),
            closes_in: closes_in(self.header("x-ratelimit-reset"), self.header("date")),
            is_banned: self.body.windows(BANNED.len()).any(|part| part == BANNED),
        })
    }
}

async fn exchange(request: RequestBuilder) -> reqwest::Result<Response> {
    let answer = request.send().await?;
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    Ok(Response { status, headers, body: answer.bytes().await?.into() })
}

/// Returns the seconds from `Date` until the minute window ends. Allows -1 to 62 seconds, because
/// of rounding and a slightly old `Date`. Returns `None` for other results, because they come from
/// a day window or a changed clock.
fn closes_in(reset: Option<&str>, date: Option<&str>) -> Option<i64> {
    let reset: i64 = reset?.parse().ok()?;
    let server_time = httpdate::parse_http_date(date?).ok()?.duration_since(UNIX_EPOCH).ok()?;
    let seconds = reset - i64::try_from(server_time.as_secs()).ok()?;
    (-1..=62).contains(&seconds).then_some(seconds)
}
