//! A snapshot as the body of a response, plain or as gzip. What it sends is held by
//! the snapshot, never copied.

use super::gzip::{self, Checksum};
use super::page::Page;
use super::snapshot::Snapshot;
use async_stream::{stream, try_stream};
use bytes::Bytes;
use futures::Stream;
use http_body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::task::JoinError;

/// A page could not be compressed: the thread that did it panicked.
#[derive(Debug, thiserror::Error)]
#[error("a page of the list could not be compressed")]
pub struct CompressionError(#[from] JoinError);

/// The whole list, and no more than that.
pub struct ListBody {
    pieces: Pin<Box<dyn Stream<Item = Result<Bytes, CompressionError>> + Send + Sync>>,
    /// How many bytes are still to be sent, if that is known.
    left: Option<usize>,
}

impl ListBody {
    /// The list as it is.
    pub fn plain(snapshot: Arc<Snapshot>) -> ListBody {
        let left = Some(snapshot.length());
        ListBody { pieces: Box::pin(plain_pieces(snapshot)), left }
    }

    /// The list as gzip. Its length is known, and stated, if no page has to be
    /// compressed first; otherwise it leaves page by page.
    pub fn gzip(snapshot: Arc<Snapshot>) -> ListBody {
        let left = snapshot.gzip_length();
        ListBody { pieces: Box::pin(gzip_pieces(snapshot)), left }
    }
}

/// Takes turns with other requests, or a fast reader would keep the thread to itself.
fn plain_pieces(snapshot: Arc<Snapshot>) -> impl Stream<Item = Result<Bytes, CompressionError>> {
    stream! {
        let turn = snapshot.sizes().turn_bytes;
        for part in snapshot.parts() {
            let mut rest = part.clone();
            while !rest.is_empty() {
                yield Ok(rest.split_to(turn.min(rest.len())));
                // To wake oneself would not do: tokio polls the sockets between only
                // for this.
                tokio::task::yield_now().await;
            }
        }
    }
}

fn gzip_pieces(snapshot: Arc<Snapshot>) -> impl Stream<Item = Result<Bytes, CompressionError>> {
    try_stream! {
        yield Bytes::from_static(gzip::HEADER);
        let mut checksum = Checksum::default();
        let (pages, ahead) = (snapshot.pages(), snapshot.sizes().pages_ahead);
        pages.iter().take(ahead).for_each(compress);
        for (number, page) in pages.iter().enumerate() {
            let deflated = Arc::clone(page).deflate().await?;
            pages.iter().skip(number + ahead).take(1).for_each(compress);
            checksum.add(&deflated);
            yield deflated.blocks;
        }
        yield checksum.end();
    }
}

/// Starts to compress a page. That goes on if this response is dropped, because
/// others may wait for the same page.
fn compress(page: &Arc<Page>) {
    if page.deflated().is_none() {
        tokio::spawn(Arc::clone(page).deflate());
    }
}

impl Body for ListBody {
    type Data = Bytes;
    type Error = CompressionError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CompressionError>>> {
        let piece = ready!(self.pieces.as_mut().poll_next(context));
        if let (Some(left), Some(Ok(bytes))) = (&mut self.left, &piece) {
            *left -= bytes.len();
        }
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map(|left| SizeHint::with_exact(left as u64)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::edit::tests::{SMALL, snapshot, text};
    use super::*;
    use futures::poll;
    use http_body_util::BodyExt;
    use std::io::Read;

    /// The pieces in which a body leaves, and how often it lets others have their
    /// turn before it has ended.
    async fn pieces(mut body: ListBody) -> (Vec<Bytes>, usize) {
        let (mut pieces, mut pauses) = (Vec::new(), 0);
        while !body.is_end_stream() {
            let polled = poll!(Box::pin(body.frame()));
            match polled {
                Poll::Ready(Some(frame)) => pieces.push(frame.unwrap().into_data().unwrap()),
                Poll::Ready(None) => break,
                Poll::Pending => {
                    pauses += 1;
                    tokio::task::yield_now().await;
                }
            }
        }
        (pieces, pauses)
    }

    #[tokio::test]
    async fn a_list_takes_turns() {
        let list = Arc::new(snapshot(1_000));
        let (pieces, pauses) = pieces(ListBody::plain(Arc::clone(&list))).await;
        assert_eq!(pieces.concat(), text(&list).as_bytes());
        assert!(pieces.iter().all(|piece| piece.len() <= SMALL.turn_bytes));
        assert_eq!(pauses, pieces.len() - 1);
    }

    #[tokio::test]
    async fn a_list_as_gzip_states_its_length_once_it_is_compressed() {
        let list = Arc::new(snapshot(1_000));
        for known in [false, true] {
            let body = ListBody::gzip(Arc::clone(&list));
            assert_eq!(body.size_hint().exact().is_some(), known);
            let (pieces, _) = pieces(body).await;
            let (file, mut unzipped) = (pieces.concat(), String::new());
            assert_eq!(list.gzip_length(), Some(file.len()));
            flate2::read::GzDecoder::new(&file[..]).read_to_string(&mut unzipped).unwrap();
            assert_eq!(unzipped, text(&list));
        }
    }
}
