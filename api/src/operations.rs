//! What each operation answers: its success and its errors, with the examples of the document.

use crate::errors::{Code, Error, invalid_parameter, service_unavailable};
use crate::types::{Order, Pet};
use chrono::{TimeZone, Utc};
use dropshot::{Body, HttpCodedResponse, HttpError, HttpResponseDeleted, HttpResponseOk};
use http::{Response, StatusCode};
use serde_json::{Value, json};

/// What the document says of an operation, and dropshot cannot.
pub(crate) struct Operation {
    /// Its `operationId`.
    pub id: &'static str,
    /// An example of each of its own errors.
    pub errors: Vec<Error>,
    /// An example of the body of its success.
    pub success_example: Option<Value>,
}

/// Every operation of the trait.
pub(crate) fn operations() -> Vec<Operation> {
    let operation = |id, errors, success_example| Operation { id, errors, success_example };
    let orders = json!([
        Order {
            id: 1041,
            pet_id: 7,
            quantity: 2,
            ship_date: Utc.with_ymd_and_hms(2026, 12, 24, 9, 30, 0).single(),
            complete: true,
        },
        Order { id: 1042, pet_id: 9, quantity: 1, ship_date: None, complete: false },
    ]);
    let pet = json!(Pet { id: 7, name: "Rex".to_string() });
    vec![
        operation("listOrders", each::<ListOrdersError>(), Some(orders)),
        operation("cancelOrder", each::<CancelOrderError>(), None),
        operation("getPet", each::<GetPetError>(), Some(pet)),
    ]
}

fn each<E: OperationError>() -> Vec<Error> {
    E::EACH.iter().map(|error| error.into_error()).collect()
}

/// The errors of an operation that its handler returns, without those that the
/// middleware sends before any handler.
pub trait OperationError: Copy + 'static {
    /// One of each: the examples of the document.
    const EACH: &'static [Self];

    /// The error as sent over the wire.
    fn into_error(self) -> Error;
}

/// 200 of listOrders: the list, encoded in advance. In the document it is an
/// array of `Order`.
#[derive(Debug)]
pub struct Listed(pub Response<Body>);

impl From<Listed> for Result<Response<Body>, HttpError> {
    fn from(listed: Listed) -> Self {
        Ok(listed.0)
    }
}

impl HttpCodedResponse for Listed {
    type Body = Vec<Order>;
    const STATUS_CODE: StatusCode = StatusCode::OK;
    const DESCRIPTION: &'static str = "Orders returned";
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

/// 204 of cancelOrder.
pub struct Cancelled;

impl From<Cancelled> for Result<Response<Body>, HttpError> {
    fn from(_: Cancelled) -> Self {
        HttpResponseDeleted().into()
    }
}

impl HttpCodedResponse for Cancelled {
    type Body = <HttpResponseDeleted as HttpCodedResponse>::Body;
    const STATUS_CODE: StatusCode = StatusCode::NO_CONTENT;
    const DESCRIPTION: &'static str = "Order cancelled";
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

/// 200 of getPet.
pub struct Found(pub Pet);

impl From<Found> for Result<Response<Body>, HttpError> {
    fn from(found: Found) -> Self {
        HttpResponseOk(found.0).into()
    }
}

impl HttpCodedResponse for Found {
    type Body = Pet;
    const STATUS_CODE: StatusCode = StatusCode::OK;
    const DESCRIPTION: &'static str = "Pet found";
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
