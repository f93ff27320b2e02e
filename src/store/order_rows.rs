//! Orders and pets as plain values, which [`Store`](super::Store) and the operator's commands take
//! and return on every engine.

use super::agreement::position::Position;
use super::error::StoreError;
use super::statements::Row;
use chrono::{DateTime, Utc};
use serde::{Serialize, Serializer};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;
use store_orders_api::types::{Pet, utc_text};
use strum::{EnumString, IntoStaticStr, VariantNames};

/// The status of an order in the store. v1's record has no such field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, EnumString, IntoStaticStr, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Status {
    /// Can be cancelled.
    Pending,
    /// Can no longer be cancelled.
    Shipped,
    /// In no list. The id is never used again.
    Cancelled,
}

impl Status {
    /// The status on the command line and in the store.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// An order in a list, borrowed from the store's row.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedOrder<'a> {
    /// Unique order identifier.
    pub id: i64,
    /// Identifier of the animal in the order.
    pub pet_id: i64,
    /// Number of units ordered.
    pub quantity: i32,
    /// Ship date in the wire format: RFC 3339 in UTC with `Z`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ship_date: Option<&'a str>,
    /// True if the order has been fulfilled.
    pub complete: bool,
    /// True if it can no longer be cancelled. v1 does not send this field.
    #[serde(skip)]
    pub is_shipped: bool,
}

/// A cancelled order. Times are in the wire format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelledOrder {
    /// Identifier of the animal in the order.
    pub pet_id: i64,
    /// Number of units ordered.
    pub quantity: i32,
    /// Ship date.
    pub ship_date: Option<String>,
    /// True if the order has been fulfilled.
    pub complete: bool,
    /// The time of cancellation.
    pub cancelled_at: String,
}

impl CancelledOrder {
    /// Selects the cancelled order with the id `$1`, on every engine.
    pub const SELECT: &str = "SELECT pet_id, quantity, ship_date, complete, cancelled_at \
                              FROM orders WHERE id = $1 AND status = 'cancelled'";

    /// Reads a row of [`Self::SELECT`].
    pub fn read(row: &Row<'_>) -> Result<CancelledOrder, StoreError> {
        Ok(CancelledOrder {
            pet_id: row.get(0)?,
            quantity: row.get(1)?,
            ship_date: row.get(2)?,
            complete: row.get(3)?,
            cancelled_at: row.get(4)?,
        })
    }
}

/// Selects the name of the pet with the id `$1`, on every engine.
pub const SELECT_PET: &str = "SELECT name FROM pets WHERE id = $1";

/// The current state of an order whose row changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedOrder {
    /// Unique order identifier.
    pub id: i64,
    /// Identifier of the animal in the order.
    pub pet_id: i64,
    /// Number of units ordered.
    pub quantity: i32,
    /// Ship date in the wire format.
    pub ship_date: Option<String>,
    /// True if the order has been fulfilled.
    pub complete: bool,
    /// Its status.
    pub status: Status,
}

impl ChangedOrder {
    /// The effect of this change on the list.
    pub fn change(&self) -> OrderChange<'_> {
        let is_shipped = match self.status {
            Status::Cancelled => return OrderChange::Removed(self.id),
            status => status == Status::Shipped,
        };
        let ChangedOrder { id, pet_id, quantity, complete, .. } = *self;
        let ship_date = self.ship_date.as_deref();
        OrderChange::Listed(ListedOrder { id, pet_id, quantity, ship_date, complete, is_shipped })
    }
}

/// The effect of an order's change on the list.
#[derive(Clone, Copy, Debug)]
pub enum OrderChange<'a> {
    /// The list contains the order with these fields.
    Listed(ListedOrder<'a>),
    /// The list no longer contains the order with this id.
    Removed(i64),
}

/// A request to cancel an order. The order's row records the key and the time.
#[derive(Clone, Debug)]
pub struct Cancellation {
    /// The id of the order.
    pub order_id: i64,
    /// `key_…` of the request's key.
    pub key_id: Arc<str>,
    /// The time of the request.
    pub at: DateTime<Utc>,
    /// The request stops waiting for the outcome at this time.
    pub deadline: Instant,
}

/// The outcome of a request to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelOutcome {
    /// The order was pending and is now durably cancelled.
    Cancelled,
    /// The order does not exist or was already cancelled.
    NotFound,
    /// The order has shipped and is unchanged.
    AlreadyShipped,
}

/// The outcomes of a batch of cancellations, made in one transaction.
#[derive(Debug)]
pub struct CancelledBatch {
    /// One per request, in the order of the requests. `None` if the request's deadline had passed,
    /// or was too near, when the store could write.
    pub outcomes: Vec<Option<CancelOutcome>>,
    /// The positions before and after the transaction. `None` if the transaction cancelled no
    /// order, for example because an earlier attempt of the same batch had cancelled all of its
    /// orders.
    pub positions: Option<(Position, Position)>,
}

/// Selects [`OrderCounts`] on every engine. GROUP BY would sort and take twice as long.
pub const COUNT_ORDERS: &str = "
    SELECT count(*) FILTER (WHERE status = 'pending'),
           count(*) FILTER (WHERE status = 'shipped'),
           count(*) FILTER (WHERE status = 'cancelled')
    FROM orders";

/// The number of orders in each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OrderCounts {
    /// The number of pending orders.
    pub pending: i64,
    /// The number of shipped orders.
    pub shipped: i64,
    /// The number of cancelled orders.
    pub cancelled: i64,
}

/// An order to import. Its fields have been validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// Unique order identifier.
    pub id: i64,
    /// Identifier of the animal in the order.
    pub pet_id: i64,
    /// Number of units ordered, at least 1.
    pub quantity: i32,
    /// Expected or actual ship date.
    pub ship_date: Option<DateTime<Utc>>,
    /// True if the order has been fulfilled.
    pub complete: bool,
    /// True if it has shipped and so cannot be cancelled.
    pub shipped: bool,
}

/// New values for an order that is pending or shipped. The fields have been validated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderUpdate {
    /// The id of the order.
    pub id: i64,
    /// The new ship date. `None` leaves it unchanged.
    #[serde(serialize_with = "as_stored")]
    pub ship_date: Option<DateTime<Utc>>,
    /// The new value of `complete`. `None` leaves it unchanged.
    pub complete: Option<bool>,
}

/// Serializes a date in the store's format.
fn as_stored<S: Serializer>(date: &Option<DateTime<Utc>>, to: S) -> Result<S::Ok, S::Error> {
    date.as_ref().map(utc_text).serialize(to)
}

#[cfg(test)]
impl NewOrder {
    /// A pending order with this id, for unit tests.
    pub fn pending(id: i64) -> NewOrder {
        let (ship_date, complete, shipped) = (None, false, false);
        NewOrder { id, pet_id: 7, quantity: 1, ship_date, complete, shipped }
    }
}

/// A type of imported record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// An order.
    Order,
    /// A pet.
    Pet,
}

impl RecordKind {
    /// The singular in messages.
    pub const fn noun(self) -> &'static str {
        match self {
            RecordKind::Order => "order",
            RecordKind::Pet => "pet",
        }
    }

    /// The table of these records.
    pub const fn table(self) -> &'static str {
        match self {
            RecordKind::Order => "orders",
            RecordKind::Pet => "pets",
        }
    }
}

/// Records of one type.
#[derive(Clone, Copy, Debug)]
pub enum Records<'a> {
    /// Orders.
    Orders(&'a [NewOrder]),
    /// Pets.
    Pets(&'a [Pet]),
}

impl Records<'_> {
    /// The type of the records.
    pub const fn kind(&self) -> RecordKind {
        match self {
            Records::Orders(_) => RecordKind::Order,
            Records::Pets(_) => RecordKind::Pet,
        }
    }

    /// The records in this range, or none if it is out of bounds.
    pub fn step(self, range: Range<usize>) -> Self {
        match self {
            Records::Orders(orders) => Records::Orders(orders.get(range).unwrap_or_default()),
            Records::Pets(pets) => Records::Pets(pets.get(range).unwrap_or_default()),
        }
    }

    /// The number of records.
    pub const fn count(&self) -> usize {
        match self {
            Records::Orders(orders) => orders.len(),
            Records::Pets(pets) => pets.len(),
        }
    }

    /// The ids, in the order of the records.
    pub fn ids(&self) -> Vec<i64> {
        match self {
            Records::Orders(orders) => orders.iter().map(|order| order.id).collect(),
            Records::Pets(pets) => pets.iter().map(|pet| pet.id).collect(),
        }
    }
}

/// The result of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportOutcome {
    /// Records stored.
    pub imported: usize,
    /// Records skipped because the store already had their id.
    pub skipped: usize,
}

/// An order with all its fields in the store.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredOrder {
    /// Unique order identifier.
    pub id: i64,
    /// Identifier of the animal in the order.
    pub pet_id: i64,
    /// Number of units ordered.
    pub quantity: i32,
    /// Ship date, RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ship_date: Option<String>,
    /// True if the order has been fulfilled.
    pub complete: bool,
    /// Its status.
    pub status: Status,
    /// The time of cancellation, RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled_at: Option<String>,
    /// `key_…` of the key that cancelled it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<String>,
}
