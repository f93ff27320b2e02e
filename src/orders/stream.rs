//! A snapshot as a response body: its pages one after the other, copied by
//! nobody, with their exact length known beforehand.

use super::pages::{END, Snapshot};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The body of one list. It holds its own snapshot for as long as its client
/// takes to read it.
#[derive(Debug)]
pub struct SnapshotBody {
    snapshot: Arc<Snapshot>,
    /// The next part: the pages by their number, then the end.
    next: usize,
    left: u64,
}

impl SnapshotBody {
    /// The whole of this snapshot.
    pub fn new(snapshot: Arc<Snapshot>) -> SnapshotBody {
        let left = snapshot.length();
        SnapshotBody { snapshot, next: 0, left }
    }

    fn part(&self) -> Option<Bytes> {
        let pages = self.snapshot.pages();
        match pages.get(self.next) {
            Some(page) => Some(page.bytes().clone()),
            None if self.next > pages.len() => None,
            None if pages.is_empty() => Some(Bytes::from_static(b"[]")),
            None => Some(Bytes::from_static(END)),
        }
    }
}

impl Body for SnapshotBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let part = self.part();
        self.next += 1;
        self.left -= part.as_ref().map_or(0, |part| part.len() as u64);
        Poll::Ready(part.map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
