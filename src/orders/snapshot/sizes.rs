//! The sizes of pages, turns, short lists and searches. A turn is a piece of a list that a response
//! sends, or a search scans, before it yields. Tests use smaller sizes, so that a few hundred
//! orders need several pages and turns.

#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// The maximum size in bytes of a page's JSON in version 1, with the list's closing bracket. A
    /// page is copied and compressed as a whole, so larger pages make changes and compression
    /// slower.
    pub page_bytes: usize,
    /// The number of bytes of a long list that a response sends before it yields to other requests.
    pub turn_bytes: usize,
    /// The maximum size of a short list in bytes. An uncompressed response sends a short list
    /// without yielding to other requests.
    pub short_list_bytes: usize,
    /// The number of pages that are compressed in advance while a page is sent.
    pub pages_ahead: usize,
    /// The number of orders after which a search yields to other requests, at the next page
    /// boundary.
    pub turn_orders: usize,
    /// The number of orders after which a search stops, at the next page boundary. The response may
    /// then list fewer orders than the request's limit.
    pub search_orders: usize,
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes {
            page_bytes: 4 * TURN_BYTES,
            turn_bytes: TURN_BYTES,
            short_list_bytes: 1024 * 1024,
            pages_ahead: std::thread::available_parallelism().map_or(1, usize::from),
            turn_orders: 50_000,
            search_orders: 1_000_000,
        }
    }
}

/// The size of a turn in bytes. A turn fits in one TCP segment on the loopback interface (at most
/// 65,483 bytes). A turn of 64 KiB would need a second segment, which costs a third of the
/// throughput.
const TURN_BYTES: usize = 62 * 1024;
