//! A snapshot as a response body: its pages one after the other, copied by
//! nobody. Whoever reads slowly holds this snapshot and nothing else.

use super::gzip::{self, Checksum};
use super::pages::{Page, SEGMENT, Snapshot};
use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tokio::task::JoinHandle;

/// What a long list sends at once while others arrive: a segment. Beside a list of
/// a million the p99 of a short list is then twice that without; where 192 KiB are
/// sent at once, 7 times. Tests have smaller pages.
const SHORT_TURN: usize = if cfg!(test) { SEGMENT / 4 } else { SEGMENT };

/// So long after one arrived the next is expected: two milliseconds, or so.
const SHORT_FOR: usize = 8 * 1024 * 1024;

/// As much as is sent in whole pages whoever waits.
const LONG: u64 = 1024 * 1024;

/// How many requests have arrived, whatever they ask for: who sends a long list
/// learns from it whether others wait.
#[derive(Debug, Default)]
pub struct Arrivals(AtomicU64);

impl Arrivals {
    /// Counts one.
    pub fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

type NextFrame = Poll<Option<Result<Frame<Bytes>, BodyError>>>;

/// A page could not be compressed: the thread that did it panicked.
#[derive(Debug, thiserror::Error)]
#[error("a page of the list could not be compressed")]
pub struct BodyError(#[from] tokio::task::JoinError);

/// The list as it is, with its exact length. Each time it has sent a page, others
/// have their turn.
pub struct PlainBody {
    snapshot: Arc<Snapshot>,
    arrivals: Arc<Arrivals>,
    /// Of these the last turn knew.
    arrived: u64,
    /// So many bytes more are sent in short turns.
    short: usize,
    page: usize,
    /// How much of the page has been sent.
    sent: usize,
    left: u64,
    /// While others have their turn.
    rest: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
}

impl PlainBody {
    /// The whole of this snapshot.
    pub fn new(snapshot: Arc<Snapshot>, arrivals: Arc<Arrivals>) -> PlainBody {
        let (left, arrived) = (snapshot.length(), arrivals.so_far());
        PlainBody { snapshot, arrivals, arrived, short: 0, page: 0, sent: 0, left, rest: None }
    }

    /// What is sent next: a page, or the next part of it.
    fn next(&mut self) -> Option<Bytes> {
        let mut part = self.snapshot.part(self.page)?;
        part.advance(self.sent);
        let arrived = self.arrivals.so_far();
        if arrived != std::mem::replace(&mut self.arrived, arrived) {
            self.short = SHORT_FOR;
        }
        if self.short > 0 && self.left > LONG && part.len() > SHORT_TURN {
            part.truncate(SHORT_TURN);
            self.sent += SHORT_TURN;
        } else {
            self.page += 1;
            self.sent = 0;
        }
        self.short = self.short.saturating_sub(part.len());
        self.left -= part.len() as u64;
        Some(part)
    }
}

impl Body for PlainBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        // A reader as fast as the writer would keep this thread to itself. To
        // wake oneself is not enough: tokio looks for what arrives meanwhile
        // only where `yield_now` is waited for.
        if let Some(rest) = &mut self.rest {
            ready!(rest.as_mut().poll(context));
        }
        let part = self.next();
        self.rest = (self.left > 0).then(|| Box::pin(tokio::task::yield_now()) as _);
        Poll::Ready(part.map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// How many pages are compressed ahead of the one that is sent: one for each of
/// two cores.
const AHEAD: usize = 2;

/// The list as gzip. Its length is known beforehand, and told, if no page has to
/// be compressed first; otherwise it leaves at once, page by page.
#[derive(Debug)]
pub struct GzipBody {
    snapshot: Arc<Snapshot>,
    /// Pages that have been sent, or -1 while the header has not.
    sent: Option<usize>,
    /// The pages behind those sent that are being compressed.
    ahead: VecDeque<JoinHandle<()>>,
    checksum: Option<Checksum>,
    left: Option<u64>,
}

impl GzipBody {
    /// The whole of this snapshot.
    pub fn new(snapshot: Arc<Snapshot>) -> GzipBody {
        let left = gzip::length(&snapshot);
        let checksum = Some(Checksum::default());
        GzipBody { snapshot, sent: None, ahead: VecDeque::new(), checksum, left }
    }

    fn frame(&mut self, bytes: Bytes) -> NextFrame {
        self.left = self.left.map(|left| left - bytes.len() as u64);
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    /// Compresses this page and the ones behind it, unless they are.
    fn look_ahead(&mut self, sent: usize) {
        let coming = self.snapshot.pages().iter().skip(sent + self.ahead.len());
        for page in coming.take(AHEAD - self.ahead.len().min(AHEAD)) {
            let page: Arc<Page> = Arc::clone(page);
            self.ahead.push_back(tokio::task::spawn_blocking(move || {
                page.deflate();
            }));
        }
    }
}

impl Body for GzipBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> NextFrame {
        let Some(sent) = self.sent else {
            self.sent = Some(0);
            return self.frame(Bytes::from_static(gzip::HEADER));
        };
        let Some(page) = self.snapshot.pages().get(sent).map(Arc::clone) else {
            return match self.checksum.take() {
                Some(checksum) => self.frame(checksum.end()),
                None => Poll::Ready(None),
            };
        };
        if page.deflated().is_none() || !self.ahead.is_empty() {
            self.look_ahead(sent);
            if let Some(compressing) = self.ahead.front_mut() {
                let compressed = ready!(Pin::new(compressing).poll(context));
                self.ahead.pop_front();
                if let Err(error) = compressed {
                    self.checksum = None;
                    self.sent = Some(usize::MAX);
                    return Poll::Ready(Some(Err(error.into())));
                }
            }
        }
        let deflated = page.deflate();
        if let Some(checksum) = &mut self.checksum {
            checksum.add(deflated);
        }
        self.sent = Some(sent + 1);
        self.frame(deflated.blocks.clone())
    }

    fn is_end_stream(&self) -> bool {
        self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map(SizeHint::with_exact).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::pages::tests::snapshot;
    use super::*;
    use http_body_util::BodyExt;

    /// The parts in which a list goes out, with or without others that arrive
    /// before each of them.
    async fn parts(snapshot: &Arc<Snapshot>, others: bool) -> Vec<Bytes> {
        let arrivals = Arc::new(Arrivals::default());
        let mut body = PlainBody::new(Arc::clone(snapshot), Arc::clone(&arrivals));
        let mut parts = Vec::new();
        loop {
            if others {
                arrivals.count();
            }
            let Some(frame) = body.frame().await else { break };
            parts.push(frame.unwrap().into_data().unwrap());
        }
        assert!(body.is_end_stream());
        parts
    }

    #[tokio::test]
    async fn a_long_list_takes_short_turns_while_others_arrive() {
        let list = Arc::new(snapshot(50_000));
        let pages: Vec<_> = list.pages().iter().map(|page| page.bytes().clone()).collect();
        assert!(list.length() > 2 * LONG);
        assert_eq!(parts(&list, false).await, pages);

        let (short, mut left) = (parts(&list, true).await, list.length());
        assert_eq!(short.concat(), pages.concat());
        for part in short {
            assert!(left <= LONG || part.len() <= SHORT_TURN, "{} with {left} left", part.len());
            left -= part.len() as u64;
        }
    }

    #[tokio::test]
    async fn a_list_that_is_not_long_goes_out_in_whole_pages() {
        let list = Arc::new(snapshot(10_000));
        assert!(list.length() < LONG && list.pages().len() > 1);
        assert_eq!(parts(&list, true).await.len(), list.pages().len());
        assert_eq!(parts(&Arc::default(), true).await, [Bytes::from_static(b"[]")]);
    }
}
