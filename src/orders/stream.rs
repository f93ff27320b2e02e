//! A snapshot as a response body: its pages one after the other, copied by
//! nobody. Whoever reads slowly holds this snapshot and nothing else.

use super::gzip::{self, Checksum};
use super::pages::{Page, Snapshot};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::task::JoinHandle;

type NextFrame = Poll<Option<Result<Frame<Bytes>, BodyError>>>;

/// A page could not be compressed: the thread that did it panicked.
#[derive(Debug, thiserror::Error)]
#[error("a page of the list could not be compressed")]
pub struct BodyError(#[from] tokio::task::JoinError);

/// The list as it is, with its exact length.
pub struct PlainBody {
    snapshot: Arc<Snapshot>,
    next: usize,
    left: u64,
    /// While others have their turn.
    rest: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
}

impl PlainBody {
    /// The whole of this snapshot.
    pub fn new(snapshot: Arc<Snapshot>) -> PlainBody {
        let left = snapshot.length();
        PlainBody { snapshot, next: 0, left, rest: None }
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
        let part = self.snapshot.part(self.next);
        self.next += 1;
        self.left -= part.as_ref().map_or(0, |part| part.len() as u64);
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
