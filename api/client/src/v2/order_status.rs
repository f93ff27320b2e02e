//! The status of an order as text, in JSON and in queries.

use super::generated::order_status::{KNOWN, OrderStatus};
use crate::extensible_enum::extensible_enum;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

extensible_enum!(OrderStatus, KNOWN);

impl Serialize for OrderStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for OrderStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::from(text.as_str()))
    }
}
