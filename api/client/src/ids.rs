//! Converts integers of smaller types than `i64` to identifiers of orders and pets.

use crate::generated::v1::types::{OrderId, PetId};

macro_rules! from_smaller {
    ($($id:ty: $integer:ty),*) => {$(
        impl From<$integer> for $id {
            fn from(value: $integer) -> Self {
                Self(value.into())
            }
        }
    )*};
}

from_smaller!(OrderId: i32, OrderId: u32, PetId: i32, PetId: u32);
