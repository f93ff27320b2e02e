//! What each operation answers: its success and its errors, with the examples of the document.

use crate::errors::{Code, Error, invalid_parameter, service_unavailable};
use crate::headers::{self, Header};
use crate::order_query::InvalidQuery;
use crate::types::{Order, OrderPage, OrderStatus, OrderV2, Pet};
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
    /// A header that some of its successes have.
    pub success_header: Option<&'static Header>,
}

/// Every operation of v1.
pub(crate) fn v1() -> Vec<Operation> {
    let ship_date = Utc.with_ymd_and_hms(2026, 12, 24, 9, 30, 0).single();
    let orders = json!([
        Order { id: 1041, pet_id: 7, quantity: 2, ship_date, complete: true },
        Order { id: 1042, pet_id: 9, quantity: 1, ship_date: None, complete: false },
    ]);
    let pet = json!(Pet { id: 7, name: "Rex".to_string() });
    vec![
        operation::<ListOrdersError>("listOrders", Some(orders)),
        operation::<CancelOrderError>("cancelOrder", None),
        operation::<GetPetError>("getPet", Some(pet)),
    ]
}

/// Every operation of v2.
pub(crate) fn v2() -> Vec<Operation> {
    let ship_date = Utc.with_ymd_and_hms(2026, 12, 24, 9, 30, 0).single();
    let (shipped, pending) = (OrderStatus::Shipped, OrderStatus::Pending);
    let page = json!(OrderPage {
        orders: vec![
            OrderV2 {
                id: 1041,
                pet_id: 7,
                quantity: 2,
                ship_date,
                complete: true,
                status: shipped
            },
            OrderV2 {
                id: 1042,
                pet_id: 9,
                quantity: 1,
                ship_date: None,
                complete: false,
                status: pending,
            },
        ],
        next_cursor: Some(headers::EXAMPLE_CURSOR.to_string()),
    });
    let list = operation::<ListOrderPageError>("listOrders", Some(page));
    vec![
        Operation { success_header: Some(&headers::NEXT_PAGE), ..list },
        operation::<CancelOrderError>("cancelOrder", None),
    ]
}

fn operation<E: OperationError>(id: &'static str, success_example: Option<Value>) -> Operation {
    let errors = E::EACH.iter().cloned().map(E::into_error).collect();
    Operation { id, errors, success_example, success_header: None }
}

/// The errors of an operation that its handler returns, without those that the
/// middleware sends before any handler.
pub trait OperationError: Clone + 'static {
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

/// 200 of listOrders in v2: a page, encoded already. In the document it is an `OrderPage`.
#[derive(Debug)]
pub struct ListedPage(pub Response<Body>);

impl From<ListedPage> for Result<Response<Body>, HttpError> {
    fn from(listed: ListedPage) -> Self {
        Ok(listed.0)
    }
}

impl HttpCodedResponse for ListedPage {
    type Body = OrderPage;
    const STATUS_CODE: StatusCode = StatusCode::OK;
    const DESCRIPTION: &'static str = "A page of orders returned";
}

/// The errors of listOrders in v2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListOrderPageError {
    /// A query parameter is unknown, repeated, empty or malformed.
    Invalid(InvalidQuery),
    /// The store cannot be read.
    Unavailable,
}

impl OperationError for ListOrderPageError {
    const EACH: &'static [Self] = &[
        ListOrderPageError::Invalid(InvalidQuery::Malformed("limit")),
        ListOrderPageError::Unavailable,
    ];

    fn into_error(self) -> Error {
        match self {
            ListOrderPageError::Invalid(invalid) => invalid.into_error(),
            ListOrderPageError::Unavailable => service_unavailable(),
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
