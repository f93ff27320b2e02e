//! The contract of Store Orders in Rust: a trait with one method per operation.
//! It does not depend on the server that implements it.
//!
//! The document in `spec/openapi.json` is the source of truth. This crate
//! repeats it as types ([`types`], [`errors`], [`headers`], [`plans`],
//! [`limits`], [`key_form`]) and emits a document from them ([`document`]); `cargo xtask check` compares the two.

pub mod answer;
pub mod caller;
pub mod document;
pub mod errors;
pub mod headers;
pub mod key_form;
pub mod limits;
pub mod plans;
pub mod types;

use answer::{Answer, Cancelled, Found, Listed};
use caller::Caller;
use dropshot::{EndpointTagPolicy, RequestContext};
use errors::{CancelOrderError, Error, GetPetError, ListOrdersError};
use types::{OrderPath, PathOf, PetPath};

/// The path prefix of the operations: the version is part of the base address
/// (specification, Versioning 1).
pub const BASE_PATH: &str = "/v1";

/// The operations of the API, with the paths of the document: relative to a
/// base address that ends in [`BASE_PATH`]. The document fills in dates for the
/// names in braces.
///
/// A method returns its success or one of its documented errors as an
/// [`Answer`]. Dropshot's error type is [`Error`].
#[dropshot::api_description {
    tag_config = {
        allow_other_tags = false,
        policy = EndpointTagPolicy::ExactlyOne,
        tags = {
            "orders" = { description = "The orders placed in the store." },
            "pets" = { description = "The pets that orders refer to. Deprecated." },
        },
    },
}]
pub trait StoreOrdersApi {
    /// The state that handlers can reach.
    type Context;

    /// List orders
    ///
    /// Returns all orders of the store in ascending order of `id`. There are no
    /// parameters: filtering and pagination are planned for v2. A list that is
    /// requested after a cancellation was answered does not contain the order.
    #[endpoint {
        operation_id = "listOrders",
        method = GET,
        path = "/store/orders",
        tags = ["orders"],
    }]
    async fn list_orders(
        context: RequestContext<Self::Context>,
        caller: Caller,
    ) -> Result<Answer<Listed, ListOrdersError>, Error>;

    /// Cancel an order
    ///
    /// Cancels a pending order: it is removed from the list at once, and its
    /// identifier is never used again. An order that has already shipped cannot
    /// be cancelled and is unchanged. Cancelling the same order a second time is
    /// answered with 404; of several concurrent requests exactly one is answered
    /// with 204. After a 502, 503 or 504, or if no response arrives, the order may
    /// have been cancelled nevertheless: repeat the request. A 404 then means that
    /// the order is not there, possibly cancelled by an earlier attempt: take it as
    /// success.
    #[endpoint {
        operation_id = "cancelOrder",
        method = DELETE,
        path = "/store/orders/{orderId}",
        tags = ["orders"],
    }]
    async fn cancel_order(
        context: RequestContext<Self::Context>,
        path: PathOf<OrderPath>,
        caller: Caller,
    ) -> Result<Answer<Cancelled, CancelOrderError>, Error>;

    /// Look up a pet
    ///
    /// Deprecated from {deprecated_since}: do not use it in new code. It may be
    /// removed at any time after {sunset}. Every response of this path
    /// carries both dates in its `Deprecation` and `Sunset` headers.
    #[endpoint {
        operation_id = "getPet",
        method = GET,
        path = "/pets/{petId}",
        tags = ["pets"],
        deprecated = true,
    }]
    async fn get_pet(
        context: RequestContext<Self::Context>,
        path: PathOf<PetPath>,
    ) -> Result<Answer<Found, GetPetError>, Error>;
}
