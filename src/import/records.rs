//! Defines the fields and their valid values for each type of record in an import file: orders,
//! updates of orders, and pets.

use super::record::quote;
use super::{BadRows, FieldProblem, FieldValue, Location, NewRecord, Record, RecordFields};
use crate::store::{Order, OrderStatus, OrderUpdate, RecordKind, Records};
use chrono::{DateTime, Utc};
use store_orders_api::types::{MAX_ID, Pet, parse_date_time, plain_int64};

impl Record for Order {
    const KIND: RecordKind = RecordKind::Order;
    const FIELDS: &'static [&'static str] =
        &["id", "petId", "quantity", "shipDate", "complete", "status"];
    const REQUIRED: &'static [&'static str] = &["id", "petId", "quantity"];

    fn read(fields: &mut RecordFields<'_>) -> Option<Order> {
        // Read all fields before returning, so that all problems are reported.
        let (id, pet_id) = (fields.required("id", new_id), fields.required("petId", new_id));
        let quantity = fields.required("quantity", quantity);
        let ship_date = fields.optional("shipDate", date_time);
        let complete = fields.optional("complete", boolean);
        let status = fields.optional("status", status);
        Some(Order {
            id: id?,
            pet_id: pet_id?,
            quantity: quantity?,
            ship_date: ship_date?,
            complete: complete?.unwrap_or(false),
            status: status?.unwrap_or(OrderStatus::Pending),
        })
    }

    fn id(&self) -> i64 {
        self.id
    }
}

impl NewRecord for Order {
    fn records(records: &[Order]) -> Records<'_> {
        Records::Orders(records)
    }
}

impl Record for OrderUpdate {
    const KIND: RecordKind = RecordKind::Order;
    const FIELDS: &'static [&'static str] = &["id", "shipDate", "complete"];
    const REQUIRED: &'static [&'static str] = &["id"];

    fn read(fields: &mut RecordFields<'_>) -> Option<OrderUpdate> {
        let id = fields.required("id", int64);
        let ship_date = fields.optional("shipDate", date_time);
        let complete = fields.optional("complete", boolean);
        let update = OrderUpdate { id: id?, ship_date: ship_date?, complete: complete? };
        if update.ship_date.is_none() && update.complete.is_none() {
            fields.refuse("has neither shipDate nor complete");
        }
        Some(update)
    }

    fn id(&self) -> i64 {
        self.id
    }
}

impl Record for Pet {
    const KIND: RecordKind = RecordKind::Pet;
    const FIELDS: &'static [&'static str] = &["id", "name"];
    const REQUIRED: &'static [&'static str] = &["id", "name"];

    fn read(fields: &mut RecordFields<'_>) -> Option<Pet> {
        let (id, name) = (fields.required("id", new_id), fields.required("name", line_of_text));
        Some(Pet { id: id?, name: name? })
    }

    fn id(&self) -> i64 {
        self.id
    }
}

impl NewRecord for Pet {
    fn records(records: &[Pet]) -> Records<'_> {
        Records::Pets(records)
    }
}

/// Parses text with an order's id on each line, and returns the ids with their locations. Lines may
/// be blank.
pub fn order_ids(text: &str) -> (Vec<(Location, i64)>, BadRows) {
    let (mut ids, mut bad) = (Vec::new(), BadRows::default());
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (line, text) in (1..).zip(text.lines().map(str::trim)) {
        let location = Location { line, column: 0 };
        match plain_int64(text) {
            Some(id) => ids.push((location, id)),
            None if text.is_empty() => {}
            None => {
                let problem = format!("id must be a 64-bit integer, not {}", quote(text));
                bad.add(location, vec![FieldProblem::for_field("id", problem)]);
            }
        }
    }
    (ids, bad)
}

fn int64(value: FieldValue<'_>) -> Result<i64, &'static str> {
    value.read(plain_int64).ok_or("a 64-bit integer")
}

fn new_id(value: FieldValue<'_>) -> Result<i64, &'static str> {
    let id = int64(value).ok().filter(|id| (-MAX_ID..=MAX_ID).contains(id));
    id.ok_or("an integer from -9007199254740991 to 9007199254740991")
}

fn quantity(value: FieldValue<'_>) -> Result<i32, &'static str> {
    let quantity = int64(value).ok().and_then(|quantity| i32::try_from(quantity).ok());
    quantity.filter(|quantity| *quantity >= 1).ok_or("an integer from 1 to 2147483647")
}

/// Accepts any letter case in a cell, because spreadsheets write TRUE.
fn boolean(value: FieldValue<'_>) -> Result<bool, &'static str> {
    value.read(|cell| cell.to_ascii_lowercase().parse().ok()).ok_or("true or false")
}

/// Refuses `cancelled`, because cancelled orders are not imported.
fn status(value: FieldValue<'_>) -> Result<OrderStatus, &'static str> {
    match value.text().as_deref() {
        Some("pending") => Ok(OrderStatus::Pending),
        Some("shipped") => Ok(OrderStatus::Shipped),
        _ => Err("pending or shipped"),
    }
}

fn date_time(value: FieldValue<'_>) -> Result<DateTime<Utc>, &'static str> {
    let time = value.text().and_then(|text| parse_date_time(&text));
    time.ok_or("an RFC 3339 date-time like 2026-01-15T09:30:00Z, in the years 0000 to 9999 in UTC")
}

/// Refuses control characters, such as line breaks. Otherwise, an unclosed quote in a CSV file
/// could add the following rows to the text.
fn line_of_text(value: FieldValue<'_>) -> Result<String, &'static str> {
    let valid = |text: &str| !text.trim().is_empty() && !text.contains(char::is_control);
    let text = value.text().filter(|text| valid(text));
    text.map(Into::into).ok_or("text on one line, and not empty")
}
