//! The orders and pets that the test server keeps.

use crate::document::{Order, OrderId, Pet, PetId};
use chrono::{DateTime, Utc};
use std::collections::{BTreeMap, BTreeSet};

/// The key that a [`Server`](super::Server) takes. It answers any other with 401 `unauthorized`.
pub const KEY: &str = "sto_test_0123456789abcdefghijklmnopqrstuvwxyz";

#[derive(Debug, Default)]
pub(crate) struct Store {
    pub(super) orders: BTreeMap<OrderId, Order>,
    pub(super) shipped: BTreeSet<OrderId>,
    /// Cancelled orders, and when.
    pub(super) cancelled: BTreeMap<OrderId, (Order, DateTime<Utc>)>,
    pub(super) pets: BTreeMap<PetId, Pet>,
}
