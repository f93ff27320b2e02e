//! The errors that each operation's handler may return.

use super::{Code, Error, invalid_parameter, service_unavailable};

/// The errors that an operation may answer by itself, as its handler returns
/// them. What the front door answers before any handler is not among them.
pub trait OperationError: Copy + 'static {
    /// One of each, which is what the document lists and shows as examples.
    const EACH: &'static [Self];

    /// The error as it goes over the wire.
    fn into_error(self) -> Error;
}

/// What listOrders may answer besides the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListOrdersError {
    /// The store cannot be read.
    Unavailable,
}

impl OperationError for ListOrdersError {
    const EACH: &'static [Self] = &[ListOrdersError::Unavailable];

    fn into_error(self) -> Error {
        match self {
            ListOrdersError::Unavailable => service_unavailable(),
        }
    }
}

/// What cancelOrder may answer besides 204.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelOrderError {
    /// `orderId` is of the wrong form.
    InvalidId,
    /// There is no order of this id, or it is cancelled already.
    NotFound(i64),
    /// The order of this id has shipped and is unchanged.
    AlreadyShipped(i64),
    /// The store cannot be written; nothing was changed.
    Unavailable,
}

impl OperationError for CancelOrderError {
    const EACH: &'static [Self] = &[
        CancelOrderError::InvalidId,
        CancelOrderError::NotFound(1042),
        CancelOrderError::AlreadyShipped(1042),
        CancelOrderError::Unavailable,
    ];

    fn into_error(self) -> Error {
        match self {
            CancelOrderError::InvalidId => invalid_parameter("orderId"),
            CancelOrderError::NotFound(id) => Code::OrderNotFound.with_message(format!(
                "There is no order {id}: it never was, or it is already cancelled."
            )),
            CancelOrderError::AlreadyShipped(id) => Code::OrderAlreadyShipped.with_message(
                format!("Order {id} has already shipped and cannot be cancelled. It is unchanged."),
            ),
            CancelOrderError::Unavailable => service_unavailable(),
        }
    }
}

/// What getPet may answer besides the pet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GetPetError {
    /// `petId` is of the wrong form.
    InvalidId,
    /// There is no pet of this id.
    NotFound(i64),
    /// The store cannot be read.
    Unavailable,
}

impl OperationError for GetPetError {
    const EACH: &'static [Self] =
        &[GetPetError::InvalidId, GetPetError::NotFound(7), GetPetError::Unavailable];

    fn into_error(self) -> Error {
        match self {
            GetPetError::InvalidId => invalid_parameter("petId"),
            GetPetError::NotFound(id) => {
                Code::PetNotFound.with_message(format!("There is no pet {id}."))
            }
            GetPetError::Unavailable => service_unavailable(),
        }
    }
}
