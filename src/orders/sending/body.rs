//! A snapshot as the body of a response, plain or as gzip. It copies nothing unless memory is
//! scarce.

use super::readers::Reader;
use crate::orders::snapshot::gzip::{self, Checksum};
use crate::orders::snapshot::{CutOff, ListPosition, Snapshot};
use async_stream::try_stream;
use bytes::Bytes;
use futures::Stream;
use http_body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::task::JoinError;

/// Why a body ended early.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// A page could not be compressed: the thread that did it panicked.
    #[error("a page of the list could not be compressed")]
    Compression(#[from] JoinError),
    /// It was read too slowly.
    #[error(transparent)]
    CutOff(#[from] CutOff),
}

/// The body of a whole list.
pub struct ListBody {
    pieces: Pin<Box<dyn Stream<Item = Result<Bytes, BodyError>> + Send + Sync>>,
    /// Bytes still to be sent, if known.
    left: Option<usize>,
}

impl ListBody {
    /// The list as it is.
    pub fn plain(list: &Snapshot, reader: Reader) -> ListBody {
        ListBody { pieces: Box::pin(plain_pieces(reader)), left: Some(list.length()) }
    }

    /// The list as gzip. Its length is stated if all pages are compressed already.
    pub fn gzip(list: &Snapshot, reader: Reader) -> ListBody {
        ListBody { pieces: Box::pin(gzip_pieces(reader)), left: list.gzip_length() }
    }
}

/// Yields after each turn: a fast reader would occupy the thread.
fn plain_pieces(reader: Reader) -> impl Stream<Item = Result<Bytes, BodyError>> {
    try_stream! {
        let mut position = ListPosition::default();
        while let Some(piece) = reader.next_turn(&mut position)? {
            yield piece;
            // `yield_now` lets tokio poll I/O; waking ourselves would not.
            tokio::task::yield_now().await;
        }
    }
}

fn gzip_pieces(reader: Reader) -> impl Stream<Item = Result<Bytes, BodyError>> {
    try_stream! {
        yield Bytes::from_static(gzip::HEADER);
        let mut checksum = Checksum::default();
        let (pages, ahead) =
            reader.snapshot().map(|list| (list.pages().len(), list.sizes().pages_ahead))?;
        for number in 0..pages + ahead {
            if number < pages && reader.page(number)?.deflated().is_none() {
                // Spawned, because others may wait for the page when this response is dropped.
                tokio::spawn(reader.deflate(number)?);
            }
            let Some(number) = number.checked_sub(ahead) else { continue };
            let deflated = reader.deflate(number)?.await?;
            checksum.add(&deflated);
            yield deflated.blocks;
        }
        yield checksum.end();
    }
}

impl Body for ListBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
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
    use super::super::readers::Readers;
    use super::*;
    use crate::orders::snapshot::edit::tests::{SMALL, edited, order, snapshot, text};
    use crate::store::OrderChange;
    use futures::poll;
    use http_body_util::BodyExt;
    use std::io::Read;
    use std::sync::Arc;

    /// Readers of lists that may hold this many bytes.
    fn readers(list: &Snapshot, bound: usize) -> Arc<Readers> {
        let log = slog::Logger::root(slog::Discard, slog::o!());
        Arc::new(Readers::new(list.memory().clone(), bound, &log))
    }

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
        let reader = readers(&list, usize::MAX).begin(&list);
        let (pieces, pauses) = pieces(ListBody::plain(&list, reader)).await;
        assert_eq!(pieces.concat(), text(&list).as_bytes());
        assert!(pieces.iter().all(|piece| piece.len() <= SMALL.turn_bytes));
        assert_eq!(pauses + 1, pieces.len());
    }

    #[tokio::test]
    async fn a_list_as_gzip_states_its_length_once_it_is_compressed() {
        let list = Arc::new(snapshot(1_000));
        let readers = readers(&list, usize::MAX);
        for known in [false, true] {
            let body = ListBody::gzip(&list, readers.begin(&list));
            assert_eq!(body.size_hint().exact().is_some(), known);
            let (pieces, _) = pieces(body).await;
            let (file, mut unzipped) = (pieces.concat(), String::new());
            assert_eq!(list.gzip_length(), Some(file.len()));
            flate2::read::GzDecoder::new(&file[..]).read_to_string(&mut unzipped).unwrap();
            assert_eq!(unzipped, text(&list));
        }
    }

    /// The list without some orders of every page.
    fn changed(list: &Snapshot, round: usize) -> Arc<Snapshot> {
        Arc::new(edited(list, (0..1_000).skip(round).step_by(50).map(OrderChange::Removed)))
    }

    /// A slow client reads a list while orders are added behind it, a step of an import after the
    /// other, and each step is listed.
    #[tokio::test]
    async fn what_the_current_list_has_too_is_not_outdated() {
        let mut list = Arc::new(snapshot(1_000));
        let readers = readers(&list, list.length() / 2);
        let slow = ListBody::plain(&list, readers.begin(&list));
        let first = text(&list);
        for step in 1..20 {
            let added = step * 1_000..(step + 1) * 1_000;
            let next = Arc::new(edited(&list, added.map(|id| OrderChange::Listed(order(id, 1)))));
            readers.enforce();
            next.replace(std::mem::replace(&mut list, Arc::clone(&next)));
            readers.enforce();
        }
        assert_eq!(readers.cut_off().get(), 0);
        // The last page of the first list, which was not full.
        assert!(readers.used().outdated <= SMALL.page_bytes, "{}", readers.used().outdated);
        assert_eq!(pieces(slow).await.0.concat(), first.as_bytes());
        assert_eq!(readers.used().outdated, 0);
    }

    #[tokio::test]
    async fn outdated_lists_hold_no_more_than_they_may() {
        let first = Arc::new(snapshot(1_000));
        let memory = first.memory().clone();
        let bound = 3 * first.length();
        let readers = readers(&first, bound);
        let (mut bodies, mut list) = (Vec::new(), first);
        // Each client asks for a list and does not read it.
        for round in 0..20 {
            readers.enforce();
            assert!(readers.used().outdated <= bound, "{}", readers.used().outdated);
            let reader = readers.begin(&list);
            bodies.push(if round % 2 == 0 {
                ListBody::plain(&list, reader)
            } else {
                ListBody::gzip(&list, reader)
            });
            let next = changed(&list, round);
            next.replace(std::mem::replace(&mut list, Arc::clone(&next)));
        }
        readers.enforce();
        assert!(readers.cut_off().get() > 10, "{}", readers.cut_off().get());
        // The latest list is complete, the oldest is not.
        let (_, latest) = (bodies.pop(), bodies.pop().unwrap());
        let (latest, _) = pieces(latest).await;
        assert!(latest.concat().ends_with(b"]"));
        let mut cut = bodies.swap_remove(0);
        let end = cut.frame().await;
        assert!(matches!(end, Some(Err(BodyError::CutOff(_)))), "{end:?}");
        drop((bodies, latest, cut));
        assert_eq!((memory.used().outdated, memory.held()), (0, list.held_bytes()));
    }
}
