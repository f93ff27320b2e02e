//! The contract of Store Orders, said in Rust: one trait, one method an
//! operation. It knows nothing of the server that keeps it.
//!
//! The document in `spec/openapi.json` is the source of truth. This crate says
//! the same in types ([`types`], [`errors`], [`headers`], [`plans`]) and emits
//! it ([`document`]), and `cargo xtask check` proves that both agree.

pub mod answer;
pub mod caller;
pub mod document;
pub mod errors;
pub mod headers;
pub mod plans;
pub mod types;

use answer::{Answer, Cancelled, Found, Listed};
use caller::Caller;
use dropshot::{EndpointTagPolicy, RequestContext};
use errors::{CancelOrderError, Error, GetPetError, ListOrdersError};
use types::{OrderPath, PathOf, PetPath};

/// Under what path prefix the operations are served: the version is part of
/// the base address (specification, Versioning 1).
pub const BASE_PATH: &str = "/v1";

/// The operations of the API, with the paths of the document: relative to a
/// base address that ends in [`BASE_PATH`].
///
/// A method never fails: it answers its success or one of its documented
/// errors. [`Error`] stands where dropshot asks for an error type.
#[dropshot::api_description {
    tag_config = {
        allow_other_tags = false,
        policy = EndpointTagPolicy::ExactlyOne,
        tags = {
            "orders" = { description = "The orders placed in the store." },
            "pets" = { description = "The pets that orders name. Deprecated." },
        },
    },
}]
pub trait StoreOrdersApi {
    /// What the handlers reach: the state of the running server.
    type Context;

    /// List orders
    ///
    /// Returns all orders of the store in ascending order of `id`. There are no
    /// parameters: filtering and pagination are planned for v2. A cancelled
    /// order is in no list that begins after its cancellation was answered.
    #[endpoint {
        operation_id = "listOrders",
        method = GET,
        path = "/store/orders",
        tags = ["orders"],
    }]
    async fn list_orders(
        context: RequestContext<Self::Context>,
    ) -> Result<Answer<Listed, ListOrdersError>, Error>;

    /// Cancel an order
    ///
    /// Cancels a pending order: it leaves the list at once and for good, and
    /// its identifier is never used again. An order that has already shipped
    /// cannot be cancelled and stays as it is. Cancelling the same order a
    /// second time answers 404; of several requests at once exactly one is
    /// answered with 204.
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

    /// Look a pet up
    ///
    /// Deprecated since 1 December 2026: do not build on it. It can go at any
    /// time after 1 December 2027. Every response of this path says both dates
    /// in its `Deprecation` and `Sunset` headers.
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
