//! Weak entity tags (RFC 9110, 8.8.3) of a list and of its parts, from the store's history, the
//! change number and the request: the same on every server, after a restart and in every encoding.

use http::HeaderValue;
use store_orders_api::v1;

/// The entity tags of one list.
#[derive(Clone, Debug)]
pub struct ListTag {
    history: u64,
    change_number: i64,
    whole: HeaderValue,
}

impl ListTag {
    /// The tags of the list at this change of this history.
    pub fn new(history: u64, change_number: i64) -> ListTag {
        let whole = weak(history, change_number, &[v1::VERSION]);
        ListTag { history, change_number, whole }
    }

    /// The history of the store.
    pub fn history(&self) -> u64 {
        self.history
    }

    /// The tag of the whole list, as version 1 shows it.
    pub fn whole(&self) -> HeaderValue {
        self.whole.clone()
    }

    /// The tag of what this request gets from the list, as this version of a document shows it.
    pub fn of(&self, version: &str, request: &str) -> HeaderValue {
        weak(self.history, self.change_number, &[version, request])
    }
}

/// A response of another version of a document may say more.
fn weak(history: u64, change_number: i64, request: &[&str]) -> HeaderValue {
    let mut hasher = crc32fast::Hasher::new();
    request.iter().for_each(|part| hasher.update(part.as_bytes()));
    let tag = format!("W/\"{history:016x}-{change_number}-{:08x}\"", hasher.finalize());
    // Digits, letters and quotes are a value.
    HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_depends_on_history_change_version_and_request() {
        let (tag, page) = (ListTag::new(1, 5), "?limit=100");
        assert_eq!(tag.of("2.0.0", page), ListTag::new(1, 5).of("2.0.0", page));
        assert_eq!(tag.whole(), ListTag::new(1, 5).whole());
        let others = [
            ListTag::new(2, 5).of("2.0.0", page),
            ListTag::new(1, 6).of("2.0.0", page),
            tag.of("2.0.1", page),
            tag.of("2.0.0", "?limit=101"),
            tag.whole(),
        ];
        for other in others {
            assert_ne!(tag.of("2.0.0", page), other);
            let text = other.to_str().unwrap();
            assert!(text.starts_with("W/\"000000000000000") && text.ends_with('"'), "{text}");
        }
    }
}
