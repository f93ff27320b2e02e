//! Sends lists and parts of them, plain or as gzip, and limits the memory that slow clients use.

mod body;
mod readers;
mod sent_lists;

pub use readers::Readers;
pub use sent_lists::{SentList, SentLists};

use crate::orders::snapshot::Snapshot;
use body::ListBody;
use bytes::Bytes;
use std::sync::Arc;
use tokio::task::JoinError;

/// Shorter bodies are not compressed, because they fit into one TCP segment.
const MIN_GZIP_BYTES: usize = 1_024;

/// JSON that is ready to send.
pub struct Payload {
    /// The JSON, plain or as gzip.
    pub body: PayloadBody,
    /// True if the body is gzip.
    pub is_gzip: bool,
}

/// The bytes of a payload.
pub enum PayloadBody {
    /// All bytes in one buffer.
    Whole(Bytes),
    /// A stream of pieces.
    Pieces(ListBody),
}

impl Payload {
    /// Prepares a whole list, as gzip if the client accepts it and the list is not too short.
    pub fn for_list(list: &Arc<Snapshot>, readers: &Readers, accepts_gzip: bool) -> Payload {
        let is_gzip = accepts_gzip && list.length() >= MIN_GZIP_BYTES;
        let body = match list.whole() {
            _ if is_gzip => PayloadBody::Pieces(ListBody::gzip(list, readers.begin(list))),
            Some(bytes) => PayloadBody::Whole(bytes),
            None => PayloadBody::Pieces(ListBody::plain(list, readers.begin(list))),
        };
        Payload { body, is_gzip }
    }

    /// Prepares a part of a list, as gzip if the client accepts it and the part is not too short.
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
