//! The contract of Store Orders in Rust: a trait with one method per operation.
//! It does not depend on the server that implements it.
//!
//! The documents in `spec/` are the source of truth, one for each version of the API. This crate
//! repeats them as types ([`types`], [`order_query`], [`operations`], [`errors`], [`headers`],
//! [`plans`], [`limits`], [`key_form`]) and emits documents from them ([`document`]);
//! `cargo xtask check` compares the two.

pub mod answer;
pub mod caller;
pub mod document;
pub mod documents;
pub mod errors;
pub mod headers;
pub mod key_form;
pub mod limits;
pub mod operations;
pub mod order_query;
pub mod plans;
pub mod types;

use answer::Answer;
use caller::Caller;
use dropshot::{EndpointTagPolicy, RequestContext};
use errors::Error;
use operations::{
    CancelOrderError, Cancelled, Found, GetPetError, ListOrderPageError, ListOrdersError, Listed,
    ListedPage,
};
use order_query::OrderQueryOf;
use types::{OrderPath, PathOf, PetPath};

/// The stable version of the API: `info.version` of its document.
pub const API_VERSION: &str = "1.2.0";

/// The next version, in beta: `info.version` of its document.
pub const BETA_VERSION: &str = "2.0.0-beta.1";

/// The path prefix of the stable version's operations: the version is part of the base address
/// (specification, Versioning 1).
pub const BASE_PATH: &str = documents::V1.base_path;

/// The operations of all versions of the API, with the paths of the documents: relative to a
/// base address that ends in the document's `base_path`. The documents fill in dates for the
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
    /// parameters: filtering and pagination are in v2, which is in beta. A list that is
    /// requested after a cancellation was answered does not contain the order.
    #[endpoint {
        operation_id = "listOrders",
        method = GET,
        path = "/store/orders",
        tags = ["orders"],
        versions = .."2.0.0",
    }]
    async fn list_orders(
        context: RequestContext<Self::Context>,
        caller: Caller,
    ) -> Result<Answer<Listed, ListOrdersError>, Error>;

    /// List orders
    ///
    /// Returns the orders of the store in ascending order of `id`, in pages, and of
    /// them those that match all filters. To read on, send `nextCursor` as `cursor`
    /// with the filters unchanged, until a page has none. A page may hold fewer
    /// orders than `limit`, even none, and have a `nextCursor` nevertheless, because the
    /// work for one page is bounded. A page that is requested after a cancellation
    /// was answered does not contain the order. Over all pages no order comes twice,
    /// and every order that matched from the first page to the last is in exactly
    /// one. A parameter that is unknown, repeated, empty or malformed is answered
    /// with 400.
    #[endpoint {
        operation_id = "listOrders",
        method = GET,
        path = "/store/orders",
        tags = ["orders"],
        versions = "2.0.0"..,
    }]
    async fn list_order_page(
        context: RequestContext<Self::Context>,
        query: OrderQueryOf,
        caller: Caller,
    ) -> Result<Answer<ListedPage, ListOrderPageError>, Error>;

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
        versions = .."2.0.0",
        deprecated = true,
    }]
    async fn get_pet(
        context: RequestContext<Self::Context>,
        path: PathOf<PetPath>,
    ) -> Result<Answer<Found, GetPetError>, Error>;
}
