//! Orders as a file writes them.

use super::fields::{BOOL, DATE_TIME, INT64, Kind, QUANTITY, Value};
use super::{Fields, Reason, Record};
use crate::store::NewOrder;

/// Whether an order has shipped. An order is imported as it stands, not
/// cancelled on the way in.
const SHIPPED: Kind<bool> = Kind {
    must_be: "pending or shipped",
    read: |value| match value {
        Value::Cell(status) => shipped(status),
        Value::Text(status) => shipped(status),
        _ => None,
    },
};

fn shipped(status: &str) -> Option<bool> {
    match status {
        "pending" => Some(false),
        "shipped" => Some(true),
        _ => None,
    }
}

impl Record for NewOrder {
    const NOUN: &'static str = "order";
    const FIELDS: &'static [&'static str] =
        &["id", "petId", "quantity", "shipDate", "complete", "status"];
    const REQUIRED: &'static [&'static str] = &["id", "petId", "quantity"];

    fn read(fields: &Fields<'_>) -> Result<NewOrder, Reason> {
        Ok(NewOrder {
            id: fields.required("id", &INT64)?,
            pet_id: fields.required("petId", &INT64)?,
            quantity: fields.required("quantity", &QUANTITY)?,
            ship_date: fields.optional("shipDate", &DATE_TIME)?,
            complete: fields.optional("complete", &BOOL)?.unwrap_or(false),
            shipped: fields.optional("status", &SHIPPED)?.unwrap_or(false),
        })
    }

    fn id(&self) -> i64 {
        self.id
    }
}
