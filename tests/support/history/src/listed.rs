//! Orders as lists and the operator's commands show them: their ids, and whether their fields
//! are those that were shown first.

use crate::IdSet;
use crate::event::{Answer, FinalTable};
use parking_lot::Mutex;
use serde::Deserialize;
use std::collections::HashMap;
use testbed::DataDir;

/// An order; `status` is on pages and in the operator's list.
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

/// The orders that were shown, as they were shown first.
#[derive(Default)]
pub struct ShownOrders(Mutex<HashMap<usize, Row>>);

impl ShownOrders {
    /// What a recording says of a list with this body: its orders are in ascending order of
    /// ids, and no field of any has changed.
    pub fn list(&self, body: &[u8]) -> Answer {
        self.ids_of(body).map_or_else(Answer::Malformed, Answer::List)
    }

    /// What a recording says of a page with this body, and the cursor of the next one.
    pub fn page(&self, body: &[u8], pending: bool) -> (Answer, Option<String>) {
        match self.ids_of_page(body, pending) {
            Ok((ids, next)) => (Answer::Page { ids, is_last: next.is_none() }, next),
            Err(text) => (Answer::Malformed(text), None),
        }
    }

    fn ids_of_page(&self, body: &[u8], pending: bool) -> Result<(IdSet, Option<String>), String> {
        let mut page: PageBody =
            serde_json::from_slice(body).map_err(|error| format!("a page is no page: {error}"))?;
        for row in &mut page.orders {
            match row.status.take().as_deref() {
                Some("pending") => {}
                Some("shipped") if !pending => {}
                other => return Err(format!("order {} has the status {other:?}", row.id)),
            }
        }
        Ok((self.ids_of_rows(page.orders)?, page.next_cursor))
    }

    fn ids_of(&self, body: &[u8]) -> Result<IdSet, String> {
        let rows: Vec<Row> =
            serde_json::from_slice(body).map_err(|error| format!("a list is no list: {error}"))?;
        self.ids_of_rows(rows)
    }

    fn ids_of_rows(&self, rows: Vec<Row>) -> Result<IdSet, String> {
        if !rows.is_sorted_by(|one, next| one.id < next.id) {
            return Err("a list is not in ascending order of ids".to_string());
        }
        let ids = rows.iter().map(|row| row.id).collect();
        rows.into_iter().try_for_each(|row| self.expect_unchanged(row))?;
        Ok(ids)
    }

    /// The store's table. An order whose fields have changed is in none of its sets.
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
        shown.ids_of(format!("[{}]", orders.join(",")).as_bytes()).map(|ids| ids.iter().collect())
    }

    #[test]
    fn only_an_ascending_array_is_a_list() {
        let shown = ShownOrders::default();
        assert_eq!(listed(&shown, &[(3, 1), (70, 1)]).unwrap(), [3, 70]);
        assert!(listed(&shown, &[]).unwrap().is_empty());
        listed(&shown, &[(3, 1), (3, 1)]).unwrap_err();
        shown.ids_of(br#"[{"id":3},"#).unwrap_err();
    }

    #[test]
    fn a_page_has_statuses_and_may_lead_to_another() {
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
