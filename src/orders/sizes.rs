//! The sizes that decide how lists are held and sent. They are parameters, so that
//! tests run the same code on short lists.

/// Sizes of pages, of joined lists and of turns.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// How large a page grows, with the end of the array. A page is what is copied
    /// when an order in it goes, and what is compressed at once.
    pub page_bytes: usize,
    /// Up to this length a list is joined to one buffer, and sent without a pause.
    pub joined_bytes: usize,
    /// How much of a longer list is sent before other requests have their turn.
    pub turn_bytes: usize,
    /// How many pages are compressed ahead of the one that is sent.
    pub pages_ahead: usize,
}

impl Default for Sizes {
    fn default() -> Sizes {
        let bytes = |name: &str, default| {
            std::env::var(name).map_or(default, |text| text.parse().unwrap_or(default))
        };
        Sizes {
            page_bytes: bytes("PAGE_BYTES", 256 * 1024),
            joined_bytes: bytes("JOINED_BYTES", 1024 * 1024),
            turn_bytes: bytes("TURN_BYTES", 64 * 1024),
            pages_ahead: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}
