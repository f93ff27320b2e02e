//! The sizes of pages and short lists. They are parameters, so that tests can run the same code on
//! short lists.

/// The sizes of pages and short lists.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// The maximum size of a page, including the end of the array. A page is copied when one of its
    /// orders changes. It is compressed and sent as a whole, so a stalled connection keeps no more
    /// memory than the bytes that it still has to send.
    pub page_bytes: usize,
    /// A list up to this length is sent without yielding to other requests.
    pub short_list_bytes: usize,
    /// The number of pages that are compressed ahead of the page that is sent.
    pub pages_ahead: usize,
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes {
            // A little less than the largest TCP segment on the loopback interface (65,483 bytes):
            // pages of 64 KiB would each end in a segment of 53 bytes, which costs a third of the
            // throughput.
            page_bytes: 62 * 1024,
            short_list_bytes: 1024 * 1024,
            pages_ahead: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}
