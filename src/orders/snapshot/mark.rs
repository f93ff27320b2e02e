//! Two bytes per order that a search reads first: the status, the `complete` flag and a hash of the
//! pet's id.

use crate::store::ListedOrder;
use store_orders_api::v2::OrderStatus;

const SHIPPED: u16 = 1 << 15;
const COMPLETE: u16 = 1 << 14;
const PET: u16 = COMPLETE - 1;

/// The mark of an order: two flags and a hash of the pet's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u16);

/// Selects the marks of orders that may match a filter.
#[derive(Clone, Copy, Debug)]
pub struct MarkFilter {
    mask: u16,
    value: u16,
}

impl Mark {
    /// Computes the mark of an order.
    pub fn new(order: &ListedOrder<'_>) -> Mark {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let flags = flag(order.is_shipped, SHIPPED) | flag(order.complete, COMPLETE);
        Mark(flags | pet_hash(order.pet_id))
    }

    /// The status of the order.
    pub fn status(self) -> OrderStatus {
        if self.0 & SHIPPED == 0 { OrderStatus::Pending } else { OrderStatus::Shipped }
    }
}

impl MarkFilter {
    /// Creates a filter for the values that are set.
    pub fn new(
        is_shipped: Option<bool>,
        complete: Option<bool>,
        pet_id: Option<i64>,
    ) -> MarkFilter {
        let mut marks = MarkFilter { mask: 0, value: 0 };
        let mut require = |mask, value| {
            marks.mask |= mask;
            marks.value |= value & mask;
        };
        if let Some(is_shipped) = is_shipped {
            require(SHIPPED, if is_shipped { SHIPPED } else { 0 });
        }
        if let Some(complete) = complete {
            require(COMPLETE, if complete { COMPLETE } else { 0 });
        }
        if let Some(pet_id) = pet_id {
            require(PET, pet_hash(pet_id));
        }
        marks
    }

    /// True if an order with this mark may match.
    pub fn allows(self, mark: Mark) -> bool {
        mark.0 & self.mask == self.value
    }
}

/// Hashes a pet's id to 14 bits: two pets collide with a probability of 1 in 16,384.
fn pet_hash(pet_id: i64) -> u16 {
    // Fibonacci hashing: 2^64 divided by the golden ratio.
    let hash = pet_id.cast_unsigned().wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (hash >> (u64::BITS - PET.count_ones())) as u16
}
