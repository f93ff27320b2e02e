//! Entity tags (RFC 9110, 8.8.3), which are hashes of the content. So they are the same on every
//! server, and after a restart or a restore.
//!
//! The tags of lists and of version 2 pages are weak, because both can be sent plain or as gzip. An
//! order is sent in one encoding only, so its tag is strong. 128 bits make accidental collisions
//! negligible. Nobody would gain from a deliberate collision, because only the operator writes the
//! content of orders.

use http::HeaderValue;
use twox_hash::XxHash3_128;

/// The sum of the hashes of a list's orders, each encoded as JSON of version 1. An edit adds and
/// subtracts only the changed orders. The sum need not reflect the sequence of the orders, because
/// lists are always sorted by id.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContentHash(u128);

impl ContentHash {
    pub fn add(&mut self, order: &[u8]) {
        self.0 = self.0.wrapping_add(XxHash3_128::oneshot(order));
    }

    /// Subtracts an encoded order that was added before.
    pub fn subtract(&mut self, order: &[u8]) {
        self.0 = self.0.wrapping_sub(XxHash3_128::oneshot(order));
    }

    pub fn tag(self) -> HeaderValue {
        weak_tag(self.0)
    }
}

pub fn page_tag(json: &[u8]) -> HeaderValue {
    weak_tag(XxHash3_128::oneshot(json))
}

/// Returns the tag of an order. It is strong, because an order is sent in one encoding only.
pub fn order_tag(json: &[u8]) -> HeaderValue {
    to_header(format!("\"{:032x}\"", XxHash3_128::oneshot(json)))
}

fn weak_tag(hash: u128) -> HeaderValue {
    to_header(format!("W/\"{hash:032x}\""))
}

fn to_header(tag: String) -> HeaderValue {
    // All characters of a tag are valid in a header value, so the conversion does not fail.
    HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_of_a_list_depends_on_its_orders_alone() {
        let tag = |orders: &[&[u8]]| {
            let mut content = ContentHash::default();
            orders.iter().for_each(|order| content.add(order));
            (content, content.tag())
        };
        let (mut both, tag_of_both) = tag(&[b"{1}", b"{2}"]);
        assert_eq!(tag(&[b"{2}", b"{1}"]).1, tag_of_both);
        both.subtract(b"{2}");
        assert_eq!(both.tag(), tag(&[b"{1}"]).1);
        for other in [&[b"{1}" as &[u8]][..], &[b"{1}", b"{3}"], &[b"{1}{2}"], &[]] {
            assert_ne!(tag(other).1, tag_of_both, "{other:?}");
        }
        assert_eq!(tag(&[]).1.as_bytes().len(), 36);
    }
}
