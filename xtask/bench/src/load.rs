//! The closed loop: connections that each send the next request when they have
//! the answer to the one before, for a bounded time. It runs on the calling thread
//! and therefore on that thread's core.

use crate::connection::Connection;
use anyhow::bail;
use futures::TryStreamExt;
use futures::stream::FuturesUnordered;
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Of bodies from this length on, the part that came in time counts, although the
/// rest came later.
const PARTIAL_BODY_BYTES: u64 = 64 * 1024;

/// What is sent.
#[derive(Debug)]
pub enum Work {
    /// One request again and again.
    Same(Vec<u8>),
    /// Each of these in turn, and again from the first.
    InTurn(Vec<Vec<u8>>, AtomicUsize),
    /// Cancels orders, each once, from the first id to the last.
    Cancel {
        /// What follows the id in the request.
        rest: String,
        /// The next id.
        next: AtomicI64,
        /// The last id.
        last: i64,
    },
}

impl Work {
    /// Writes the next request; false if there is none left.
    pub fn next(&self, request: &mut Vec<u8>) -> bool {
        request.clear();
        match self {
            Work::Same(same) => request.extend_from_slice(same),
            Work::InTurn(all, next) => {
                let turn = next.fetch_add(1, Ordering::Relaxed) % all.len().max(1);
                request.extend_from_slice(all.get(turn).map_or(&[], Vec::as_slice));
            }
            Work::Cancel { rest, next, last } => {
                let id = next.fetch_add(1, Ordering::Relaxed);
                if id > *last {
                    return false;
                }
                request.extend_from_slice(b"DELETE /v1/store/orders/");
                request.extend_from_slice(id.to_string().as_bytes());
                request.extend_from_slice(rest.as_bytes());
            }
        }
        true
    }
}

/// A request as the generator sends it.
pub fn request(method: &str, path: &str, key: Option<&str>, gzip: bool) -> Vec<u8> {
    let authorization = key.map(|key| format!("Authorization: Bearer {key}\r\n"));
    let encoding = if gzip { "Accept-Encoding: gzip\r\n" } else { "" };
    let authorization = authorization.unwrap_or_default();
    format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{authorization}{encoding}\r\n")
        .into_bytes()
}

/// A closed loop to be run.
#[derive(Clone, Copy, Debug)]
pub struct Load<'a> {
    /// Where to connect.
    pub address: SocketAddr,
    /// How many connections.
    pub connections: usize,
    /// For how long.
    pub span: Duration,
    /// What to send.
    pub work: &'a Work,
    /// The status that every answer must have: another one ends the benchmark.
    pub status: u16,
    /// Ends the loop before its time.
    pub stop: Option<&'a AtomicBool>,
}

impl Load<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// What a closed loop came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Answers that were complete in time.
    pub answers: u64,
    /// Bytes of bodies that came in time, those of unfinished answers included.
    pub bytes: u64,
    /// For how long: the span, or less if the work ran out.
    pub seconds: f64,
    /// Microseconds from a request's first byte out to its answer's last one in,
    /// in ascending order.
    pub latencies: Vec<f32>,
    /// Whether the bodies were gzip.
    pub gzip: bool,
    /// The length of a body.
    pub body: u64,
}

impl Outcome {
    /// Answers, unfinished ones as the part of them that came: a body of a million
    /// orders rarely ends with the time.
    pub fn parts(&self) -> f64 {
        match self.body {
            0..PARTIAL_BODY_BYTES => self.answers as f64,
            body => self.bytes as f64 / body as f64,
        }
    }

    /// This quantile of the latencies, in microseconds.
    pub fn quantile(&self, part: f64) -> f64 {
        let last = self.latencies.len().saturating_sub(1);
        let index = (last as f64 * part).round() as usize;
        self.latencies.get(index).copied().map_or(f64::NAN, f64::from)
    }
}

/// Runs a closed loop. Connections are open before the time begins.
pub fn run(load: &Load<'_>) -> anyhow::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut outcome = runtime.block_on(async {
        let open = (0..load.connections).map(|_| Connection::open(load.address));
        let connections = futures::future::try_join_all(open).await?;
        let begun = Instant::now();
        let (deadline, total) = (begun + load.span, RefCell::new(Outcome::default()));
        // When the last answer came, if the loop ended before its time.
        let (last_answer, is_early) = (Cell::new(begun), Cell::new(false));
        let one = async |mut connection: Connection| {
            let mut request = Vec::new();
            loop {
                let sent = Instant::now();
                if sent >= deadline {
                    return anyhow::Ok(());
                }
                if load.is_stopped() || !load.work.next(&mut request) {
                    is_early.set(true);
                    return Ok(());
                }
                connection.send(&request).await?;
                let (mut bytes, mut body) = (0, 0);
                let head = connection
                    .receive(&mut |part| {
                        body += part.len() as u64;
                        if body < PARTIAL_BODY_BYTES || Instant::now() <= deadline {
                            bytes = body;
                        }
                    })
                    .await?;
                if head.status != load.status {
                    bail!("an answer was {} where {} was expected", head.status, load.status);
                }
                let (received, mut total) = (Instant::now(), total.borrow_mut());
                total.bytes += bytes;
                total.body = total.body.max(body);
                total.gzip |= head.gzip;
                if received <= deadline {
                    total.answers += 1;
                    total.latencies.push((received - sent).as_secs_f32() * 1e6);
                    last_answer.set(received);
                }
            }
        };
        // Each is woken by its own socket alone.
        let loops: FuturesUnordered<_> = connections.into_iter().map(one).collect();
        loops.try_collect::<()>().await?;
        let end = if is_early.get() { last_answer.get() } else { deadline };
        let seconds = end.duration_since(begun).as_secs_f64();
        anyhow::Ok(Outcome { seconds, ..total.take() })
    })?;
    outcome.latencies.sort_unstable_by(f32::total_cmp);
    if outcome.bytes == 0 && outcome.answers == 0 {
        bail!("no answer within {:?}", load.span);
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancels_name_each_order_once_and_end() {
        let work = Work::Cancel { rest: " HTTP/1.1".into(), next: AtomicI64::new(8), last: 9 };
        let mut request = Vec::new();
        assert!(work.next(&mut request));
        assert_eq!(request, b"DELETE /v1/store/orders/8 HTTP/1.1");
        assert!(work.next(&mut request));
        assert!(!work.next(&mut request));
    }

    #[test]
    fn a_request_ends() {
        let request = request("GET", "/v1/x", Some("k"), true);
        let text = String::from_utf8(request).unwrap();
        assert!(text.contains("\r\nAuthorization: Bearer k\r\n") && text.ends_with("\r\n\r\n"));
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_latencies() {
        let latencies = (0..=100).map(|n| n as f32).collect();
        let outcome = Outcome { latencies, ..Outcome::default() };
        assert_eq!((outcome.quantile(0.5), outcome.quantile(0.99)), (50.0, 99.0));
        assert!(Outcome::default().quantile(0.5).is_nan());
    }
}
