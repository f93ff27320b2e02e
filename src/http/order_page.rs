//! Builds the pages of v2's order list and their cursors.

use crate::orders::{OrderFilter, Snapshot, find_orders};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderValue;
use store_orders_api::documents::V2;
use store_orders_api::parameters::{Invalid, Location};
use store_orders_api::v2::{ListOrdersQuery, OrderPage};

/// The version of the cursor format, which is the first byte of a cursor.
const CURSOR_VERSION: u8 = 1;

/// The approximate size of an order in v2's JSON.
const ORDER_BYTES: usize = 120;

pub struct PageRequest {
    filter: OrderFilter,
    /// The lowest id that the page may contain.
    from: i64,
    limit: usize,
}

pub struct PageAnswer {
    pub json: Vec<u8>,
    /// The `Link` header that leads to the next page. `None` on the last page.
    pub link: Option<HeaderValue>,
}

impl PageRequest {
    /// Reads the query parameters. Fails if the cursor is invalid or was issued for other filters.
    pub fn from_query(query: &ListOrdersQuery) -> Result<PageRequest, Invalid> {
        let filter = OrderFilter::from(query);
        // The conversion cannot fail, because the schema allows only 1 to 1,000.
        let limit = query.limit.try_into().unwrap_or(usize::MAX);
        let from = query.cursor.as_ref().map_or(Some(i64::MIN), |cursor| decode(cursor, &filter));
        let from = from.ok_or_else(|| {
            let expected = "the nextCursor of a page, unchanged and with the filters of that page";
            Invalid::Malformed(Location::Query, "cursor", expected.to_string())
        })?;
        Ok(PageRequest { filter, from, limit })
    }

    pub async fn page(&self, list: &Snapshot) -> serde_json::Result<PageAnswer> {
        let PageRequest { filter, from, limit } = self;
        let mut orders = Vec::with_capacity(limit.saturating_mul(ORDER_BYTES));
        let next = find_orders(list, filter, *from, *limit, &mut orders).await;
        let next_cursor = next.map(|next| encode(next, filter));
        let link = next_cursor.as_ref().map(|cursor| next_link(cursor, *limit, filter));
        // The orders are already encoded, so insert them into the JSON of a page without orders.
        let empty = serde_json::to_vec(&OrderPage { orders: Vec::new(), next_cursor })?;
        let end = empty.iter().position(|byte| *byte == b']').unwrap_or(empty.len());
        let (start, rest) = empty.split_at_checked(end).unwrap_or((&empty, &[]));
        let json = [start, &orders, rest].concat();
        Ok(PageAnswer { json, link: link.and_then(|link| HeaderValue::try_from(link).ok()) })
    }
}

fn next_link(cursor: &str, limit: usize, filter: &OrderFilter) -> String {
    let (base_path, filters) = (V2.base_path, filter.query());
    format!("<{base_path}/store/orders?cursor={cursor}&limit={limit}{filters}>; rel=\"next\"")
}

/// Encodes a cursor: format version, first id of the next page, hash of the filters, checksum.
fn encode(from: i64, filter: &OrderFilter) -> String {
    let mut bytes = vec![CURSOR_VERSION];
    bytes.extend(from.to_be_bytes());
    bytes.extend(crc32fast::hash(filter.query().as_bytes()).to_be_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns the first id of the page at this cursor, or `None` if the cursor was not issued for this
/// filter.
fn decode(cursor: &str, filter: &OrderFilter) -> Option<i64> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let from = i64::from_be_bytes(bytes.get(1..9)?.try_into().ok()?);
    (encode(from, filter) == cursor).then_some(from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::orders::{order_tag, page_tag};
    use proptest::prelude::*;
    use store_orders_api::parameters::{Parameters, SentParameters};

    #[test]
    fn the_documents_examples_and_default_limit_are_correct() {
        let document = V2.json().unwrap();
        let list = &document["paths"]["/store/orders"]["get"];
        let page = &list["responses"]["200"];
        let cursor = &page["content"]["application/json"]["example"]["nextCursor"];
        let cursor = cursor.as_str().unwrap();
        let filter = OrderFilter::default();
        assert_eq!(encode(1043, &filter), cursor);
        assert_eq!(decode(cursor, &filter), Some(1043));
        assert_eq!(page["headers"]["Link"]["example"], next_link(cursor, 100, &filter));
        // Some tools send the examples of all parameters in one request. The server must accept
        // such a request.
        let parameters = list["parameters"].as_array().unwrap().iter();
        let query = parameters.filter(|parameter| parameter["in"] == "query").map(|parameter| {
            let example = &parameter["example"];
            let example = example.as_str().map_or_else(|| example.to_string(), str::to_string);
            format!("{}={example}", parameter["name"].as_str().unwrap())
        });
        let query = query.collect::<Vec<_>>().join("&");
        let sent = SentParameters::from_query(&query, ListOrdersQuery::NAMES).unwrap();
        let query = ListOrdersQuery::read(&sent).unwrap();
        assert!(PageRequest::from_query(&query).is_ok_and(|page| page.from == 1001), "{query:?}");
        let order = &document["paths"]["/store/orders/{orderId}"]["get"]["responses"]["200"];
        for (response, tag) in [(page, page_tag(b"")), (order, order_tag(b""))] {
            let example = response["headers"]["ETag"]["example"].as_str().unwrap();
            assert_eq!(example.len(), tag.len(), "{example}");
        }
        let limit =
            list["parameters"].as_array().unwrap().iter().find(|item| item["name"] == "limit");
        let limit = limit.unwrap();
        let expected = format!(" The default is {}.", limit["schema"]["default"]);
        assert!(limit["description"].as_str().unwrap().ends_with(&expected), "{limit}");
    }

    proptest! {
        #![proptest_config(testbed::property_config())]

        #[test]
        fn a_cursor_is_valid_only_with_its_own_filters(from: i64, pet: i64, other: i64) {
            let with_pet = |pet_id| OrderFilter { pet_id, ..OrderFilter::default() };
            let cursor = encode(from, &with_pet(Some(pet)));
            prop_assert_eq!(decode(&cursor, &with_pet(Some(pet))), Some(from));
            prop_assert_eq!(decode(&cursor, &with_pet(None)), None);
            prop_assume!(pet != other);
            prop_assert_eq!(decode(&cursor, &with_pet(Some(other))), None);
        }

        #[test]
        fn an_altered_cursor_is_rejected(from: i64, index: prop::sample::Index, letter in "[A-Za-z0-9_-]") {
            let filter = OrderFilter::default();
            let cursor = encode(from, &filter);
            let index = index.index(cursor.len());
            let altered = format!("{}{letter}{}", &cursor[..index], &cursor[index + 1..]);
            prop_assume!(altered != cursor);
            prop_assert_eq!(decode(&altered, &filter), None);
            prop_assert_eq!(decode(&cursor[..index], &filter), None);
        }

        #[test]
        fn any_other_text_is_rejected_as_a_cursor(text in ".{0,40}") {
            prop_assert_eq!(decode(&text, &OrderFilter::default()), None);
        }
    }
}
