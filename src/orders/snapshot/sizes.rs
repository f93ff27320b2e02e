//! The sizes that decide how lists are held and sent. They are parameters, so that
//! tests run the same code on short lists.

/// Sizes of pages, of joined lists and of turns.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// The largest page, with the end of the array. A page is copied when an order in it is removed,
    /// and compressed as a whole.
    pub page_bytes: usize,
    /// Up to this length a list is joined to one buffer, and sent without a pause.
    pub joined_bytes: usize,
    /// How much of a list that is not joined is sent before other requests have their
    /// turn.
    pub turn_bytes: usize,
    /// How many pages are compressed ahead of the one that is sent.
    pub pages_ahead: usize,
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes {
            page_bytes: 4 * TURN_BYTES,
            joined_bytes: 1024 * 1024,
            turn_bytes: TURN_BYTES,
            pages_ahead: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// A little less than the loopback's largest TCP segment (65,483 bytes): turns of
/// 64 KiB end in a segment of 53 bytes each, which costs a third of the throughput.
const TURN_BYTES: usize = 62 * 1024;
