//! Orders, and what else is imported, as they cross the [`Store`](super::Store) trait and the
//! operator's commands: plain values, the same on every engine.

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
    /// Listed nowhere; the id is never used again.
    Cancelled,
}

impl Status {
    /// The status as the command line and the store write it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// An order as a list shows it, borrowed from the store's row.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedOrder<'a> {
    /// Unique order identifier.
    pub id: i64,
    /// Identifier of the animal in the order.
    pub pet_id: i64,
    /// Number of units ordered.
    pub quantity: i32,
    /// Ship date as sent over the wire: RFC 3339 in UTC with `Z`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ship_date: Option<&'a str>,
    /// Whether the order has been fulfilled.
    pub complete: bool,
    /// Whether it can no longer be cancelled, which v1 does not send.
    #[serde(skip)]
    pub is_shipped: bool,
}

/// A cancelled order, which no list shows. Times are as sent over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelledOrder {
    /// Identifier of the animal in the order.
    pub pet_id: i64,
    /// Number of units ordered.
    pub quantity: i32,
    /// Ship date.
    pub ship_date: Option<String>,
    /// Whether the order has been fulfilled.
    pub complete: bool,
    /// When it was cancelled.
    pub cancelled_at: String,
}

impl CancelledOrder {
    /// Selects the one of this id, on every engine.
    pub const SELECT: &str = "SELECT pet_id, quantity, ship_date, complete, cancelled_at \
                              FROM orders WHERE id = $1 AND status = 'cancelled'";

    /// Reads a row of it.
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

/// Selects the name of the pet of this id, on every engine.
pub const SELECT_PET: &str = "SELECT name FROM pets WHERE id = $1";

/// An order whose row changed, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedOrder {
    /// Unique order identifier.
    pub id: i64,
    /// Identifier of the animal in the order.
    pub pet_id: i64,
    /// Number of units ordered.
    pub quantity: i32,
    /// Ship date as sent over the wire.
    pub ship_date: Option<String>,
    /// Whether the order has been fulfilled.
    pub complete: bool,
    /// Its status.
    pub status: Status,
}

impl ChangedOrder {
    /// What became of it for the list.
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

/// A change of the list since another change.
#[derive(Clone, Copy, Debug)]
pub enum OrderChange<'a> {
    /// The order is listed, with these fields.
    Listed(ListedOrder<'a>),
    /// The order of this id is no longer listed.
    Removed(i64),
}

/// A request to cancel an order. The row keeps who asked and when.
#[derive(Clone, Debug)]
pub struct Cancellation {
    /// The order.
    pub order_id: i64,
    /// `key_…` of the key that asked.
    pub key_id: Arc<str>,
    /// When it asked.
    pub at: DateTime<Utc>,
    /// When the request no longer waits for the outcome.
    pub deadline: Instant,
}

/// The outcome of a request to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelOutcome {
    /// The order was pending and is cancelled, durably.
    Cancelled,
    /// There is no such order, or it is cancelled already.
    NotFound,
    /// The order has shipped and is unchanged.
    AlreadyShipped,
}

/// The outcomes of a batch of cancellations, made in one transaction.
#[derive(Debug)]
pub struct CancelledBatch {
    /// One for each request, in their order; none if its deadline had passed before the store could
    /// write.
    pub outcomes: Vec<Option<CancelOutcome>>,
    /// The generation of the store.
    pub generation: u64,
    /// The numbers of the last changes of orders before and after the transaction; `None` if it
    /// cancelled none, or did so in an earlier attempt.
    pub change_numbers: Option<(i64, i64)>,
}

/// Reads [`OrderCounts`], on every engine. GROUP BY would sort, and take twice as long.
pub const COUNT_ORDERS: &str = "
    SELECT count(*) FILTER (WHERE status = 'pending'),
           count(*) FILTER (WHERE status = 'shipped'),
           count(*) FILTER (WHERE status = 'cancelled')
    FROM orders";

/// The number of orders in each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OrderCounts {
    /// Pending.
    pub pending: i64,
    /// Shipped.
    pub shipped: i64,
    /// Cancelled.
    pub cancelled: i64,
}

/// An order to be imported; its fields have been checked.
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
    /// Whether the order has been fulfilled.
    pub complete: bool,
    /// Whether it has shipped, and so cannot be cancelled.
    pub shipped: bool,
}

/// What to change of an order that is pending or has shipped; its fields have been checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderUpdate {
    /// The order.
    pub id: i64,
    /// Its new ship date; none leaves it as it is.
    #[serde(serialize_with = "as_stored")]
    pub ship_date: Option<DateTime<Utc>>,
    /// Whether it has been fulfilled; none leaves it as it is.
    pub complete: Option<bool>,
}

/// A date as the store has it.
fn as_stored<S: Serializer>(date: &Option<DateTime<Utc>>, to: S) -> Result<S::Ok, S::Error> {
    date.as_ref().map(utc_text).serialize(to)
}

#[cfg(test)]
impl NewOrder {
    /// A pending order of this id, for unit tests.
    pub fn pending(id: i64) -> NewOrder {
        let (ship_date, complete, shipped) = (None, false, false);
        NewOrder { id, pet_id: 7, quantity: 1, ship_date, complete, shipped }
    }
}

/// A type of record that is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// An order.
    Order,
    /// A pet.
    Pet,
}

impl RecordKind {
    /// What messages call one.
    pub const fn noun(self) -> &'static str {
        match self {
            RecordKind::Order => "order",
            RecordKind::Pet => "pet",
        }
    }

    /// Their table.
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
    /// Their type.
    pub const fn kind(&self) -> RecordKind {
        match self {
            Records::Orders(_) => RecordKind::Order,
            Records::Pets(_) => RecordKind::Pet,
        }
    }

    /// Those of a step.
    pub fn step(self, range: Range<usize>) -> Self {
        match self {
            Records::Orders(orders) => Records::Orders(orders.get(range).unwrap_or_default()),
            Records::Pets(pets) => Records::Pets(pets.get(range).unwrap_or_default()),
        }
    }

    /// How many there are.
    pub const fn count(&self) -> usize {
        match self {
            Records::Orders(orders) => orders.len(),
            Records::Pets(pets) => pets.len(),
        }
    }

    /// Their ids, in their order.
    pub fn ids(&self) -> Vec<i64> {
        match self {
            Records::Orders(orders) => orders.iter().map(|order| order.id).collect(),
            Records::Pets(pets) => pets.iter().map(|pet| pet.id).collect(),
        }
    }
}

/// What an import did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportOutcome {
    /// Records stored.
    pub imported: usize,
    /// Records skipped because their id was in the store already.
    pub skipped: usize,
}

/// An order with everything that the store knows of it.
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
    /// Whether the order has been fulfilled.
    pub complete: bool,
    /// Its status.
    pub status: Status,
    /// When it was cancelled, RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled_at: Option<String>,
    /// `key_…` of the key that cancelled it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<String>,
}
