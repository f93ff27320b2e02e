//! Sends lists and parts of them, plain or as gzip, and limits the memory that slow clients use.
//!
//! A slow client keeps a whole snapshot in memory, even after orders have changed. If such outdated
//! snapshots use too much memory, responses that send the oldest ones end with an error, which
//! frees the memory.

use super::refresh::ListInMemory;
use super::sent_lists::{CutOff, SentList};
use super::snapshot::gzip::{self, Checksum, Deflated};
use super::snapshot::{Page, Sizes, Snapshot};
use crate::blocking::spawn_blocking_with_permit;
use crate::counter::counter;
use async_stream::try_stream;
use bytes::Bytes;
use futures::Stream;
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use prometheus::IntCounter;
use slog::{Logger, warn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::sync::Semaphore;
use tokio::task::JoinError;

/// The minimum size of a body that is sent as gzip. A smaller body fits into one TCP segment, so it
/// is not compressed.
const MIN_GZIP_BYTES: usize = 1_024;

pub struct Payload {
    pub body: PayloadBody,
    pub is_gzip: bool,
}

pub enum PayloadBody {
    Whole(Bytes),
    Pieces(ListBody),
}

impl Payload {
    pub fn for_list(list: &Arc<Snapshot>, readers: &Readers, accepts_gzip: bool) -> Payload {
        let is_gzip = accepts_gzip && list.length() >= MIN_GZIP_BYTES;
        let body = match list.whole() {
            _ if is_gzip => PayloadBody::Pieces(ListBody::gzip(list, readers.register(list))),
            Some(bytes) => PayloadBody::Whole(bytes),
            None => PayloadBody::Pieces(ListBody::plain(list, readers.register(list))),
        };
        Payload { body, is_gzip }
    }

    /// Compresses the JSON on a blocking thread if the response is sent as gzip. Fails if the
    /// compression panicked.
    pub async fn for_part(
        json: Vec<u8>,
        readers: &Readers,
        accepts_gzip: bool,
    ) -> Result<Payload, JoinError> {
        let is_gzip = accepts_gzip && json.len() >= MIN_GZIP_BYTES;
        let bytes = if is_gzip { readers.compress(json).await? } else { json.into() };
        Ok(Payload { body: PayloadBody::Whole(bytes), is_gzip })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The thread that compressed a page panicked.
    #[error("a page of the list could not be compressed")]
    Compression(#[from] JoinError),
    #[error(transparent)]
    CutOff(#[from] CutOff),
}

pub struct ListBody {
    pieces: Pin<Box<dyn Stream<Item = Result<Bytes, BodyError>> + Send + Sync>>,
    /// The number of bytes that are still to be sent. `None` for gzip if a page was not compressed
    /// when the body was created.
    bytes_left: Option<usize>,
}

impl ListBody {
    pub fn plain(list: &Snapshot, reader: Reader) -> ListBody {
        ListBody { pieces: Box::pin(plain_pieces(reader)), bytes_left: Some(list.length()) }
    }

    /// Sends the list as gzip. The body's length is known if all pages are compressed already.
    pub fn gzip(list: &Snapshot, reader: Reader) -> ListBody {
        ListBody { pieces: Box::pin(gzip_pieces(reader)), bytes_left: list.gzip_length() }
    }
}

/// Returns the uncompressed list in pieces. After each piece of a long list, lets other tasks run,
/// because a fast client would otherwise occupy the thread.
fn plain_pieces(reader: Reader) -> impl Stream<Item = Result<Bytes, BodyError>> {
    try_stream! {
        let (joined, pages, Sizes { turn_bytes, short_list_bytes, .. }, length) = reader
            .snapshot()
            .map(|list| (list.join_unless_first(), list.pages().len(), list.sizes(), list.length()))?;
        if let Some(joined) = joined {
            yield joined;
            return;
        }
        for number in 0..pages {
            let mut rest = reader.page(number)?.bytes.clone();
            if length <= short_list_bytes {
                yield rest;
                continue;
            }
            while !rest.is_empty() {
                yield rest.split_to(turn_bytes.min(rest.len()));
                // `yield_now` lets tokio poll I/O; waking this task directly would not.
                tokio::task::yield_now().await;
                // If the list was cut off during the pause, this call fails, and its error ends the
                // response.
                reader.snapshot()?;
            }
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
                // The compression runs in its own task, because other responses may need the page
                // after this response is dropped.
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
        if let (Some(bytes_left), Some(Ok(bytes))) = (&mut self.bytes_left, &piece) {
            *bytes_left -= bytes.len();
        }
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes_left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.bytes_left.map(|left| SizeHint::with_exact(left as u64)).unwrap_or_default()
    }
}

#[derive(Debug)]
pub struct Readers {
    state: Arc<Mutex<ListInMemory>>,
    /// If outdated snapshots together use more than this many bytes, responses that send the oldest
    /// snapshots end with an error.
    bound: usize,
    compressions: Arc<Semaphore>,
    lists_cut_off: IntCounter,
    log: Logger,
}

#[derive(Debug)]
pub struct Reader {
    list: Arc<SentList>,
    compressions: Arc<Semaphore>,
}

impl Readers {
    pub fn new(state: Arc<Mutex<ListInMemory>>, bound: usize, log: &Logger) -> Readers {
        // More threads than processors would not compress faster.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Readers {
            state,
            bound,
            compressions: Arc::new(Semaphore::new(threads)),
            lists_cut_off: counter(
                "store_orders_lists_cut_off_total",
                "Lists that were cut off because outdated lists held too much memory.",
            ),
            log: log.clone(),
        }
    }

    pub fn register(&self, snapshot: &Arc<Snapshot>) -> Reader {
        let list = self.state.lock().register(snapshot);
        // If the snapshot is outdated, registering it may raise the memory of all outdated lists
        // above the bound.
        self.cut_off_excess();
        Reader { list, compressions: Arc::clone(&self.compressions) }
    }

    /// Compresses a part of a list. Waits for a permit, because at most one compression per
    /// processor runs at a time.
    pub async fn compress(&self, part: Vec<u8>) -> Result<Bytes, JoinError> {
        // This cannot fail, because the semaphore is never closed.
        let permit = Arc::clone(&self.compressions).acquire_owned().await;
        Ok(spawn_blocking_with_permit(permit, move || gzip::compress_file(&part)).await?.into())
    }

    pub fn lists_cut_off(&self) -> &IntCounter {
        &self.lists_cut_off
    }

    /// Cuts off outdated lists, the oldest first, until the other outdated lists hold at most
    /// `bound` bytes. Never cuts off the newest outdated list. Must be called whenever a list has
    /// become outdated.
    pub fn cut_off_excess(&self) {
        let excess = self.state.lock().excess(self.bound);
        // Dropping a snapshot can take long, so the lock is not held here.
        let cut: usize = excess.iter().map(SentList::cut_off).sum();
        if cut == 0 {
            return;
        }
        self.lists_cut_off.inc_by(cut as u64);
        warn!(self.log, "lists cut off: clients read them too slowly"; "lists" => cut,
            "effect" => "their bodies end early, with an error",
            "fix" => "raise outdated_lists_mib if there is memory to spare");
    }
}

impl Reader {
    /// Returns the list. Do not hold the list across an `await`, because a held list stays in
    /// memory even after it is cut off.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>, CutOff> {
        self.list.snapshot()
    }

    pub fn page(&self, number: usize) -> Result<Arc<Page>, CutOff> {
        self.snapshot()?.pages().get(number).map(Arc::clone).ok_or(CutOff)
    }

    /// Returns a future that compresses the page with this index, unless the page is already
    /// compressed. The method itself fails if the list was cut off or the index is too high.
    /// Permits limit the compressions at one time.
    pub fn deflate(
        &self,
        number: usize,
    ) -> Result<impl Future<Output = Result<Deflated, JoinError>> + Send + Sync + use<>, CutOff>
    {
        Ok(self.page(number)?.deflate(Arc::clone(&self.compressions)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::orders::snapshot::edit::tests::{SMALL, apply_changes, cancelled, snapshot, text};
    use crate::store::Position;
    use futures::poll;
    use http_body_util::BodyExt;
    use std::io::Read;

    /// Returns a state in which `list` is the current list, and the readers of this state. All
    /// outdated lists together may use at most `bound` bytes.
    fn state_and_readers(
        list: &Arc<Snapshot>,
        bound: usize,
    ) -> (Arc<Mutex<ListInMemory>>, Readers) {
        let log = slog::Logger::root(slog::Discard, slog::o!());
        let list = ListInMemory::new(Arc::clone(list), Position::beginning(0));
        let state = Arc::new(Mutex::new(list));
        (Arc::clone(&state), Readers::new(state, bound, &log))
    }

    fn readers(list: &Arc<Snapshot>) -> Readers {
        state_and_readers(list, usize::MAX).1
    }

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
    async fn a_short_list_is_sent_without_yielding() {
        let list = Arc::new(snapshot(200));
        assert!(list.pages().len() > 1 && list.length() <= SMALL.short_list_bytes);
        let reader = readers(&list).register(&list);
        let (pieces, pauses) = pieces(ListBody::plain(&list, reader)).await;
        assert_eq!((pieces.concat().as_slice(), pauses), (text(&list).as_bytes(), 0));
    }

    #[tokio::test]
    async fn a_response_yields_after_each_turn_of_a_long_list() {
        let list = Arc::new(snapshot(1_000));
        let reader = readers(&list).register(&list);
        let (pieces, pauses) = pieces(ListBody::plain(&list, reader)).await;
        assert_eq!(pieces.concat(), text(&list).as_bytes());
        assert!(pieces.iter().all(|piece| piece.len() <= SMALL.turn_bytes));
        assert_eq!(pauses + 1, pieces.len());
    }

    #[tokio::test]
    async fn the_length_of_gzip_is_known_once_all_pages_are_compressed() {
        let list = Arc::new(snapshot(1_000));
        let readers = readers(&list);
        for is_compressed in [false, true] {
            let body = ListBody::gzip(&list, readers.register(&list));
            assert_eq!(body.size_hint().exact().is_some(), is_compressed);
            let (pieces, _) = pieces(body).await;
            let (file, mut unzipped) = (pieces.concat(), String::new());
            assert_eq!(list.gzip_length(), Some(file.len()));
            flate2::read::GzDecoder::new(&file[..]).read_to_string(&mut unzipped).unwrap();
            assert_eq!(unzipped, text(&list));
        }
    }

    /// Returns the list without some orders of every page.
    fn remove_some(list: &Snapshot, round: usize) -> Arc<Snapshot> {
        Arc::new(apply_changes(list, (0..1_000).skip(round).step_by(50).map(cancelled)))
    }

    #[tokio::test]
    async fn outdated_lists_are_cut_off_at_the_memory_bound() {
        let first = Arc::new(snapshot(1_000));
        let bound = 3 * first.held_bytes();
        let (state, readers) = state_and_readers(&first, bound);
        let outdated = || state.lock().outdated_bytes();
        let (mut bodies, mut list) = (Vec::new(), Arc::clone(&first));
        // Each client requests a list and does not read it.
        for round in 0..20 {
            let reader = readers.register(&list);
            bodies.push(if round % 2 == 0 {
                ListBody::plain(&list, reader)
            } else {
                ListBody::gzip(&list, reader)
            });
            list = remove_some(&list, round);
            drop(state.lock().publish(&list, Position::beginning(0), 0));
            readers.cut_off_excess();
            assert!(outdated() <= bound, "{} bytes", outdated());
        }
        assert!(readers.lists_cut_off().get() > 10, "{}", readers.lists_cut_off().get());
        // The last body is compressed, so the newest plain body is the one before the last.
        let (_, latest) = (bodies.pop(), bodies.pop().unwrap());
        let (latest, _) = pieces(latest).await;
        assert!(latest.concat().ends_with(b"]"));
        let mut cut = bodies.swap_remove(0);
        let end = cut.frame().await;
        assert!(matches!(end, Some(Err(BodyError::CutOff(_)))), "{end:?}");
        assert_eq!(Arc::strong_count(&first), 1, "the body keeps a list that was cut off");
        drop((bodies, latest));
        assert_eq!(outdated(), 0);
    }

    #[tokio::test]
    async fn a_list_that_is_outdated_before_its_first_response_counts() {
        let lists = [(); 3].map(|()| Arc::new(snapshot(1_000)));
        let [first, second, current] = &lists;
        let (state, readers) = state_and_readers(current, 2 * current.held_bytes() - 1);
        let mut oldest = ListBody::plain(first, readers.register(first));
        let newest = ListBody::plain(second, readers.register(second));
        assert_eq!(state.lock().outdated_bytes(), second.held_bytes());
        assert!(matches!(oldest.frame().await, Some(Err(BodyError::CutOff(_)))));
        assert_eq!(pieces(newest).await.0.concat(), text(second).as_bytes());
    }
}
