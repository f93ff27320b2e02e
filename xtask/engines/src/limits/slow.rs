//! A Redis that is slow and not lost: every batch is answered within its limit, and most
//! requests are not, because they wait for a batch that is under way and then for their own.

use super::clients::{SIXTY_A_DAY, admit, request};
use super::events::{Events, logging_limiter};
use anyhow::{Context, ensure};
use futures::FutureExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use store_orders::config::LimitsLost;
use store_orders::limits::{Decision, Limits, RedisLimits};
use testbed::Report;
use testbed::redis::InstalledRedis;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// One way. A round trip takes 210 ms, of the 250 that a batch may take, and a request at most
/// 240: most are late, also where the two batches under way are half a round trip apart.
const DELAY_MS: u64 = 105;

/// Between two requests: many during a round trip.
const INTERVAL: Duration = Duration::from_millis(5);

/// How long slowness may last unsaid, and how long it is watched afterwards.
const SAID_WITHIN: Duration = Duration::from_secs(4);
const WATCHED_FOR: Duration = Duration::from_secs(3);

const BACK_WITHIN: Duration = Duration::from_secs(1);

const LOST: &str = "request counts unavailable";
const BACK: &str = "request counts available again";

/// Runs it.
pub async fn run(installed: &InstalledRedis, report: &mut Report) -> anyhow::Result<()> {
    let server = installed.start(&[])?;
    for lost in [LimitsLost::Refuse, LimitsLost::Local] {
        let way = Way::to(server.port()).await?;
        let (limits, events) = logging_limiter(way.port, lost).await?;
        let load = Load::on(&limits);
        way.takes(DELAY_MS);
        is_said(lost, &limits, &events, report).await?;
        way.takes(0);
        let began = Instant::now();
        while limits.are_reachable() != Some(true) {
            ensure!(began.elapsed() < 10 * BACK_WITHIN, "{lost:?}: still {:?}", why(&limits));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        report.time(format!("{lost:?}: until Redis counted again"), began.elapsed(), BACK_WITHIN);
        let alone = limits.decided_alone().get();
        for account in 1..=20 {
            let decision = admit(&limits, request(-account, SIXTY_A_DAY)).await;
            let is_admitted = matches!(decision, Decision::Admitted(_));
            report.expect(is_admitted, || format!("{lost:?}: fast again: {decision:?}"));
        }
        let more = limits.decided_alone().get() - alone;
        report.expect(more == 0, || format!("{lost:?}: {more} decided alone when it was fast"));
        let (begun, ended) = (events.count(LOST), events.count(BACK));
        report.expect(begun == ended, || format!("{begun} outages begun, {ended} ended"));
        report.figure(format!("{lost:?}: {} requests", load.sent.load(Ordering::Relaxed)));
        drop(load);
    }
    Ok(())
}

/// The outage begins, is said once, and lasts; all requests have an answer at once then.
async fn is_said(
    lost: LimitsLost,
    limits: &RedisLimits,
    events: &Events,
    report: &mut Report,
) -> anyhow::Result<()> {
    let began = Instant::now();
    while !why(limits).is_some_and(|why| why.contains("slow")) {
        ensure!(began.elapsed() < 3 * SAID_WITHIN, "{lost:?}: slowness is not said");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    report.time(format!("{lost:?}: until slowness was said"), began.elapsed(), SAID_WITHIN);
    let said = events.count(LOST);
    let watched = Instant::now();
    while watched.elapsed() < WATCHED_FOR {
        let decision = admit(limits, request(-1, SIXTY_A_DAY)).now_or_never();
        let decision = decision.with_context(|| format!("{lost:?}: a request waits"))?;
        let is_refused = matches!(decision, Decision::Unavailable(_));
        report.expect(is_refused == (lost == LimitsLost::Refuse), || format!("{decision:?}"));
        report.expect(limits.are_reachable() == Some(false), || "it is reachable".to_string());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let again = events.count(LOST) - said;
    report.expect(again == 0, || format!("{lost:?}: said {again} times more"));
    Ok(())
}

fn why(limits: &RedisLimits) -> Option<String> {
    limits.unavailable_because().or(limits.alone_because())
}

/// Requests of one account after the other, whatever becomes of those before.
struct Load {
    sent: Arc<AtomicI64>,
    task: JoinHandle<()>,
}

impl Load {
    fn on(limits: &Arc<RedisLimits>) -> Load {
        let (limits, sent) = (Arc::clone(limits), Arc::new(AtomicI64::new(0)));
        let counted = Arc::clone(&sent);
        let task = tokio::spawn(async move {
            loop {
                let account = counted.fetch_add(1, Ordering::Relaxed);
                let limits = Arc::clone(&limits);
                tokio::spawn(async move { admit(&limits, request(account, SIXTY_A_DAY)).await });
                tokio::time::sleep(INTERVAL).await;
            }
        });
        Load { sent, task }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A long way to a port: what follows on it is not held up by what is under way, as by the
/// delay of a [`testbed::relay::Relay`].
struct Way {
    port: u16,
    delay_ms: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Way {
    async fn to(target: u16) -> anyhow::Result<Way> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let delay_ms = Arc::new(AtomicU64::new(0));
        let delay = Arc::clone(&delay_ms);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(("127.0.0.1", target)).await else { return };
                // Either fails only on a socket that is closed already.
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                carry(from_client, to_server, Arc::clone(&delay));
                carry(from_server, to_client, Arc::clone(&delay));
            }
        });
        Ok(Way { port, delay_ms, task })
    }

    /// From now on it takes as many milliseconds in each direction.
    fn takes(&self, delay_ms: u64) {
        self.delay_ms.store(delay_ms, Ordering::Relaxed);
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Carries one direction until either end closes it.
fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, delay_ms: Arc<AtomicU64>) {
    let (sender, mut under_way) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    tokio::spawn(async move {
        while let Some((arrives, bytes)) = under_way.recv().await {
            tokio::time::sleep_until(arrives.into()).await;
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
    tokio::spawn(async move {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            let Some(bytes) = buffer.get(..read) else { return };
            let delay = Duration::from_millis(delay_ms.load(Ordering::Relaxed));
            if sender.send((Instant::now() + delay, bytes.to_vec())).is_err() {
                return;
            }
        }
    });
}
