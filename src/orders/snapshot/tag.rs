//! The weak entity tag (RFC 9110, 8.8.3) of a whole list. It derives from the store's history and
//! the change number, so it is the same on every server, after a restart and in every encoding.

use http::HeaderValue;
use store_orders_api::v1;

/// The entity tag of a list in one history of the store.
#[derive(Clone, Debug)]
pub struct ListTag {
    /// The history of the store.
    pub history: u64,
    /// The value of `ETag`.
    pub value: HeaderValue,
}

impl ListTag {
    /// Creates the tag of the list at a change in a history.
    pub fn new(history: u64, change_number: i64) -> ListTag {
        // The tag contains the version of the API document, because orders may have more fields in
        // another version.
        let version = crc32fast::hash(v1::VERSION.as_bytes());
        let tag = format!("W/\"{history:016x}-{change_number}-{version:08x}\"");
        // Digits, letters and quotes are valid in a header value, so the conversion does not fail.
        let value = HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static(""));
        ListTag { history, value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_depends_on_history_and_change() {
        let tag = |history, change_number| ListTag::new(history, change_number).value;
        assert_eq!(tag(1, 5), tag(1, 5));
        for other in [tag(2, 5), tag(1, 6)] {
            assert_ne!(tag(1, 5), other);
            let text = other.to_str().unwrap();
            assert!(text.starts_with("W/\"000000000000000") && text.ends_with('"'), "{text}");
        }
    }
}
