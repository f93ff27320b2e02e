//! Orders and pets as plain values, which the server store and the operator store of both engines
//! take and return.

use super::agreement::position::Position;
use super::error::StoreError;
use super::row::{Cells, Cursor, Field, StoredRow, row};
use super::value::{Parameter, StoredDate, Value};
use chrono::{DateTime, Utc};
use serde::Serialize;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;
use store_orders_api::types::Pet;
use strum::{EnumString, IntoStaticStr, VariantNames};

/// The status of an order in the store. Version 1 of the API does not show the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, EnumString, IntoStaticStr, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Status {
    /// The order can be cancelled.
    Pending,
    /// The order can no longer be cancelled.
    Shipped,
    /// The order is in no list of the API, and its id is never used again.
    Cancelled,
}

impl Status {
    /// Returns the status as the command line and the store spell it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

row! {
    /// An order with all its fields, as both engines store it. Its row also has a change number.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "camelCase")]
    pub struct Order {
        pub id: i64 = [id bigint],
        pub pet_id: i64 = [pet_id bigint],
        /// Number of units ordered, at least 1.
        pub quantity: i32 = [quantity integer],
        /// Expected or actual ship date.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub ship_date: Option<DateTime<Utc>> = [ship_date text],
        pub complete: bool = [complete boolean],
        #[serde(flatten)]
        pub status: OrderStatus = [status text, cancelled_at text, cancelled_by text],
    }
}

impl Order {
    /// Creates a pending order with the default of every optional field.
    pub fn new(id: i64, pet_id: i64, quantity: i32) -> Order {
        let (ship_date, complete, status) = (None, false, OrderStatus::Pending);
        Order { id, pet_id, quantity, ship_date, complete, status }
    }

    #[cfg(test)]
    pub fn pending(id: i64) -> Order {
        Order::new(id, 7, 1)
    }

    /// Returns a query for the cancelled order with the id `$1`, for SQLite and PostgreSQL.
    pub fn select_cancelled() -> String {
        let names = Order::names();
        format!("SELECT {names}, change_number FROM orders WHERE id = $1 AND status = 'cancelled'")
    }
}

/// The status of an order. Only a cancellation has a time and an author.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum OrderStatus {
    Pending,
    Shipped,
    /// The cancellation is boxed, so that the orders of a list take little memory.
    Cancelled(Box<Cancelled>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cancelled {
    /// The time of the request to cancel.
    #[serde(rename = "cancelledAt")]
    pub at: DateTime<Utc>,
    /// The public name, `key_…`, of the key that cancelled the order, or `operator:NAME` for
    /// `orders cancel`.
    #[serde(rename = "cancelledBy")]
    pub by: Box<str>,
}

impl OrderStatus {
    pub fn status(&self) -> Status {
        match self {
            OrderStatus::Pending => Status::Pending,
            OrderStatus::Shipped => Status::Shipped,
            OrderStatus::Cancelled(_) => Status::Cancelled,
        }
    }
}

impl Field for OrderStatus {
    const COLUMNS: usize = 3;

    fn read<R: Cells>(cells: &mut Cursor<'_, R>) -> Result<OrderStatus, StoreError> {
        let status = match cells.parse()? {
            Status::Pending => OrderStatus::Pending,
            Status::Shipped => OrderStatus::Shipped,
            Status::Cancelled => {
                let (StoredDate(at), by) = (cells.parse()?, cells.cell()?);
                return Ok(OrderStatus::Cancelled(Box::new(Cancelled { at, by })));
            }
        };
        cells.skip(2);
        Ok(status)
    }

    fn write(&self, values: &mut Vec<Value>) {
        values.push(self.status().as_str().value());
        match self {
            OrderStatus::Pending | OrderStatus::Shipped => {
                values.extend([Value::Null, Value::Null])
            }
            OrderStatus::Cancelled(cancelled) => {
                let Cancelled { at, by } = &**cancelled;
                values.extend([StoredDate(*at).value(), by.value()]);
            }
        }
    }
}

/// A query for the name of the pet with the id `$1`. Every engine accepts this query.
pub const SELECT_PET: &str = "SELECT name FROM pets WHERE id = $1";

/// A request to cancel an order. The order's row records the key and the time.
#[derive(Clone, Debug)]
pub struct Cancellation {
    pub order_id: i64,
    /// The public name, `key_…`, of the request's key.
    pub key_id: Arc<str>,
    pub at: DateTime<Utc>,
    /// The request stops waiting for the outcome at this time.
    pub deadline: Instant,
    /// If given, the order is cancelled only if it has not changed after this position.
    pub unchanged_since: Option<Position>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelOutcome {
    /// The order was pending and is now durably cancelled.
    Cancelled,
    NotFound,
    /// The order has shipped and is unchanged.
    AlreadyShipped,
}

/// The reason why a batch did not execute a request to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotExecuted {
    /// When the store was able to write, too little time was left before the request's deadline.
    #[error("the request's deadline had passed")]
    Expired,
    /// The order is pending, and may have changed after the request's `unchanged_since`.
    #[error("the order has changed")]
    Changed,
}

#[derive(Debug)]
pub struct CancelledBatch {
    /// One outcome per [`Cancellation`] of the batch, in the batch's sequence.
    pub outcomes: Vec<Result<CancelOutcome, NotExecuted>>,
    /// The positions before and after the transaction. `None` if the transaction cancelled no
    /// order.
    pub positions: Option<(Position, Position)>,
}

/// A query for [`OrderCounts`], valid on every engine. With GROUP BY, SQLite would sort the rows
/// and take twice as long.
pub const COUNT_ORDERS: &str = "
    SELECT count(*) FILTER (WHERE status = 'pending') AS pending,
           count(*) FILTER (WHERE status = 'shipped') AS shipped,
           count(*) FILTER (WHERE status = 'cancelled') AS cancelled
    FROM orders";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OrderCounts {
    pub pending: i64,
    pub shipped: i64,
    pub cancelled: i64,
}

row! {
    /// New values for an order, from a file of updates. `None` leaves a field unchanged. The values
    /// are valid, but the order may be missing or cancelled.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
    pub struct OrderUpdate {
        pub id: i64 = [id bigint],
        pub ship_date: Option<DateTime<Utc>> = [ship_date text],
        pub complete: Option<bool> = [complete boolean],
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    Order,
    Pet,
}

impl RecordKind {
    pub const fn noun(self) -> &'static str {
        match self {
            RecordKind::Order => "order",
            RecordKind::Pet => "pet",
        }
    }

    pub const fn table(self) -> &'static str {
        match self {
            RecordKind::Order => "orders",
            RecordKind::Pet => "pets",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Records<'a> {
    Orders(&'a [Order]),
    Pets(&'a [Pet]),
}

impl Records<'_> {
    pub const fn kind(&self) -> RecordKind {
        match self {
            Records::Orders(_) => RecordKind::Order,
            Records::Pets(_) => RecordKind::Pet,
        }
    }

    /// Returns the records in this range, or none if the range ends out of bounds.
    pub fn step(self, range: Range<usize>) -> Self {
        match self {
            Records::Orders(orders) => Records::Orders(orders.get(range).unwrap_or_default()),
            Records::Pets(pets) => Records::Pets(pets.get(range).unwrap_or_default()),
        }
    }

    pub const fn count(&self) -> usize {
        match self {
            Records::Orders(orders) => orders.len(),
            Records::Pets(pets) => pets.len(),
        }
    }

    pub fn ids(&self) -> Vec<i64> {
        match self {
            Records::Orders(orders) => orders.iter().map(|order| order.id).collect(),
            Records::Pets(pets) => pets.iter().map(|pet| pet.id).collect(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportOutcome {
    pub imported: usize,
    /// The number of records that were skipped because the store already had their id.
    pub skipped: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::row::StoredColumn;

    #[test]
    fn parts_of_an_order_have_its_columns() {
        let describes = |part: &StoredColumn| Order::COLUMNS.contains(part);
        for part in OrderUpdate::COLUMNS {
            assert!(describes(part), "`Order` has no column {part:?}");
        }
    }

    #[test]
    fn the_objects_of_an_update_have_the_names_of_its_columns() {
        let update = OrderUpdate { id: 7, ship_date: None, complete: None };
        let json = serde_json::to_value(update).unwrap();
        let names = OrderUpdate::COLUMNS.iter().map(|column| column.name);
        assert!(json.as_object().unwrap().keys().eq(names), "{json}");
    }
}
