//! Reads lists of orders and checks that an order's fields, except its status, never change between
//! two lists.

use crate::IdSet;
use crate::event::{Answer, FinalTable};
use parking_lot::Mutex;
use serde::Deserialize;
use std::collections::HashMap;
use testbed::DataDir;

/// An order. Pages of version 2 and the operator's list contain its `status`; the list of version 1
/// does not.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: usize,
    pet_id: i64,
    quantity: i64,
    ship_date: Option<String>,
    complete: bool,
    status: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageBody {
    orders: Vec<Row>,
    next_cursor: Option<String>,
}

/// All orders that lists have shown, each with the fields of its first appearance.
#[derive(Default)]
pub struct ShownOrders(Mutex<HashMap<usize, Row>>);

impl ShownOrders {
    /// Parses the body of a list. Returns `Malformed` if the body is invalid, the ids do not
    /// ascend, or a field differs from the order's first appearance.
    pub fn list(&self, body: &[u8]) -> Answer {
        self.parse_list(body).map_or_else(Answer::Malformed, Answer::List)
    }

    /// If `pending` is true, allows only pending orders. Also returns the next page's cursor.
    pub fn page(&self, body: &[u8], pending: bool) -> (Answer, Option<String>) {
        match self.parse_page(body, pending) {
            Ok((ids, next)) => (Answer::Page { ids, is_last: next.is_none() }, next),
            Err(text) => (Answer::Malformed(text), None),
        }
    }

    fn parse_page(&self, body: &[u8], pending: bool) -> Result<(IdSet, Option<String>), String> {
        let mut page: PageBody =
            serde_json::from_slice(body).map_err(|error| format!("a page is no page: {error}"))?;
        for row in &mut page.orders {
            match row.status.take().as_deref() {
                Some("pending") => {}
                Some("shipped") if !pending => {}
                other => return Err(format!("order {} has the status {other:?}", row.id)),
            }
        }
        Ok((self.checked_ids(page.orders)?, page.next_cursor))
    }

    fn parse_list(&self, body: &[u8]) -> Result<IdSet, String> {
        let rows: Vec<Row> =
            serde_json::from_slice(body).map_err(|error| format!("a list is no list: {error}"))?;
        self.checked_ids(rows)
    }

    fn checked_ids(&self, rows: Vec<Row>) -> Result<IdSet, String> {
        if !rows.is_sorted_by(|one, next| one.id < next.id) {
            return Err("a list is not in ascending order of ids".to_string());
        }
        let ids = rows.iter().map(|row| row.id).collect();
        rows.into_iter().try_for_each(|row| self.expect_unchanged(row))?;
        Ok(ids)
    }

    /// Reads all orders with the operator's command. Omits orders that differ from an earlier list
    /// in more than the status, so the checker reports these orders as missing.
    pub fn table(&self, operator: &DataDir) -> anyhow::Result<FinalTable> {
        let mut table = FinalTable::default();
        let rows: Vec<Row> = serde_json::from_value(operator.run_json(&["orders", "list"])?)?;
        for mut row in rows {
            let ids = match row.status.take().as_deref() {
                Some("pending") => &mut table.pending,
                Some("shipped") => &mut table.shipped,
                _ => &mut table.cancelled,
            };
            let id = row.id;
            if self.expect_unchanged(row).is_ok() {
                ids.insert(id);
            }
        }
        Ok(table)
    }

    fn expect_unchanged(&self, row: Row) -> Result<(), String> {
        let mut shown = self.0.lock();
        match shown.get(&row.id) {
            Some(first) if *first != row => Err(format!("{row:?} was {first:?}")),
            Some(_) => Ok(()),
            None => {
                shown.insert(row.id, row);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(shown: &ShownOrders, orders: &[(u32, u32)]) -> Result<Vec<usize>, String> {
        let order = |(id, pet): &(u32, u32)| {
            format!(r#"{{"id":{id},"petId":{pet},"quantity":1,"complete":false}}"#)
        };
        let orders: Vec<String> = orders.iter().map(order).collect();
        shown
            .parse_list(format!("[{}]", orders.join(",")).as_bytes())
            .map(|ids| ids.iter().collect())
    }

    #[test]
    fn a_list_is_an_array_in_ascending_order_of_ids() {
        let shown = ShownOrders::default();
        assert_eq!(listed(&shown, &[(3, 1), (70, 1)]).unwrap(), [3, 70]);
        assert!(listed(&shown, &[]).unwrap().is_empty());
        listed(&shown, &[(3, 1), (3, 1)]).unwrap_err();
        shown.parse_list(br#"[{"id":3},"#).unwrap_err();
    }

    #[test]
    fn a_page_has_statuses_and_an_optional_next_cursor() {
        let shown = ShownOrders::default();
        listed(&shown, &[(3, 1)]).unwrap();
        let page = |status: &str, pending| {
            let order = format!(r#"{{"id":3,"petId":1,"quantity":1,"complete":false{status}}}"#);
            let body = format!(r#"{{"orders":[{order}],"nextCursor":"abc"}}"#);
            shown.page(body.as_bytes(), pending)
        };
        let (answer, next) = page(r#","status":"pending""#, true);
        assert!(matches!(answer, Answer::Page { is_last: false, .. }), "{answer:?}");
        assert_eq!(next.as_deref(), Some("abc"));
        let shipped = r#","status":"shipped""#;
        assert!(matches!(page(shipped, false).0, Answer::Page { .. }));
        for (status, pending) in [(shipped, true), ("", false), (r#","status":"cancelled""#, false)]
        {
            assert!(matches!(page(status, pending).0, Answer::Malformed(_)), "{status}");
        }
    }

    #[test]
    fn an_order_whose_fields_differ_is_noticed() {
        let shown = ShownOrders::default();
        listed(&shown, &[(3, 1), (4, 2)]).unwrap();
        assert!(listed(&shown, &[(3, 1), (4, 1)]).unwrap_err().contains("id: 4, pet_id: 1"));
    }
}
