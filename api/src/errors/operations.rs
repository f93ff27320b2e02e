//! The errors that each operation's handler may return.

use super::{Code, Error, invalid_parameter, service_unavailable};

/// The errors of an operation that its handler returns, without those that the
/// middleware sends before any handler.
pub trait OperationError: Copy + 'static {
    /// One of each: the examples of the document.
    const EACH: &'static [Self];

    /// The error as sent over the wire.
    fn into_error(self) -> Error;
}

/// The errors of listOrders.
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

/// The errors of cancelOrder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelOrderError {
    /// `orderId` is malformed.
    InvalidId,
    /// There is no order with this id, or it is already cancelled.
    NotFound(i64),
    /// The order with this id has shipped and is unchanged.
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
            CancelOrderError::NotFound(id) => Code::OrderNotFound
                .with_message(format!("There is no order {id}, or it is already cancelled.")),
            CancelOrderError::AlreadyShipped(id) => Code::OrderAlreadyShipped.with_message(
                format!("Order {id} has already shipped and cannot be cancelled. It is unchanged."),
            ),
            CancelOrderError::Unavailable => service_unavailable(),
        }
    }
}

/// The errors of getPet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GetPetError {
    /// `petId` is malformed.
    InvalidId,
    /// There is no pet with this id.
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
