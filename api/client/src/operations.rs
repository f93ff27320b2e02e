//! The client and its operations: for each generated method a public one without progenitor's
//! types in its signature, and one that blocks.

use crate::call::{Call, Sent};
use crate::error::Error;
use crate::error_kind::ErrorKind;
use crate::generated::{self, types};
use crate::response::{Head, Response};
use crate::span::in_span;
use progenitor_client::{ClientInfo, ResponseValue};
use std::fmt;

// The records of the operations.
pub use types::{Order, OrderId, Pet, PetId};

pub(crate) type Generated<T> = Result<ResponseValue<T>, progenitor_client::Error<types::Error>>;

/// A client of one Store Orders service. Cloning is cheap and shares the
/// connections.
#[derive(Clone)]
pub struct Client {
    /// Sends nothing itself: each call is made by a copy with a [`Call`] of its own.
    pub(crate) generated: generated::Client,
}

impl Client {
    /// Lists all orders of the store in ascending order of `id`.
    ///
    /// An order is in no list that begins after its cancellation was answered.
    pub async fn list_orders(&self) -> Result<Response<Vec<types::Order>>, Error> {
        let client = self.for_one_call();
        let call = async { converted(client.list_orders(None).await, &client.inner).await };
        in_span("list_orders", None, None, call).await
    }

    /// Cancels a pending order: it leaves the list at once and for good.
    ///
    /// The error's code is [`OrderNotFound`](crate::ErrorCode::OrderNotFound)
    /// if there is no such order or it is already cancelled, and
    /// [`OrderAlreadyShipped`](crate::ErrorCode::OrderAlreadyShipped) if it is
    /// too late. If the request was sent again after a lost response, the first
    /// may mean that this call cancelled it: see
    /// [`Error::earlier_attempt_may_have_cancelled`].
    pub async fn cancel_order(
        &self,
        order_id: impl Into<types::OrderId>,
    ) -> Result<Response<()>, Error> {
        let (client, id) = (self.for_one_call(), order_id.into());
        let call = async { converted(client.cancel_order(&id).await, &client.inner).await };
        in_span("cancel_order", Some(id), None, call).await
    }

    /// Looks up a pet.
    ///
    /// The error's code is [`PetNotFound`](crate::ErrorCode::PetNotFound) if
    /// there is no such pet.
    #[deprecated(
        note = "deprecated by the API from 1 December 2026; it may go after 1 December 2027"
    )]
    pub async fn get_pet(
        &self,
        pet_id: impl Into<types::PetId>,
    ) -> Result<Response<types::Pet>, Error> {
        let (client, id) = (self.for_one_call(), pet_id.into());
        let call = async { converted(client.get_pet(&id).await, &client.inner).await };
        in_span("get_pet", None, Some(id), call).await
    }
}

#[cfg(feature = "blocking")]
impl crate::blocking::Client {
    /// Lists all orders: see [`crate::Client::list_orders`].
    pub fn list_orders(&self) -> Result<Response<Vec<types::Order>>, Error> {
        self.runtime.block_on(self.client.list_orders())
    }

    /// Cancels a pending order: see [`crate::Client::cancel_order`].
    pub fn cancel_order(&self, order_id: impl Into<types::OrderId>) -> Result<Response<()>, Error> {
        self.runtime.block_on(self.client.cancel_order(order_id))
    }

    /// Looks up a pet: see [`crate::Client::get_pet`].
    #[deprecated(
        note = "deprecated by the API from 1 December 2026; it may go after 1 December 2027"
    )]
    #[expect(deprecated, reason = "both are")]
    pub fn get_pet(&self, pet_id: impl Into<types::PetId>) -> Result<Response<types::Pet>, Error> {
        self.runtime.block_on(self.client.get_pet(pet_id))
    }
}

impl Client {
    fn for_one_call(&self) -> generated::Client {
        let mut client = self.generated.clone();
        client.inner = client.inner.next();
        client
    }
}

/// Shows no key: it is a header of the HTTP client, which is left out.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug(&self.generated, f)
    }
}

pub(crate) fn debug(client: &impl ClientInfo<Call>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.debug_struct("Client")
        .field("base_url", &client.baseurl())
        .field("retry", &client.inner().policy)
        .finish_non_exhaustive()
}

pub(crate) async fn converted<T>(result: Generated<T>, call: &Call) -> Result<Response<T>, Error> {
    let sent = call.sent();
    match result {
        Ok(response) => {
            let head = Head { status: response.status(), headers: response.headers().clone() };
            Ok(Response::new(response.into_inner(), head, sent.attempts))
        }
        Err(error) => Err(converted_error(error, sent).await),
    }
}

async fn converted_error(error: progenitor_client::Error<types::Error>, sent: Sent) -> Error {
    use progenitor_client::Error as Failed;
    match error {
        Failed::ErrorResponse(response) => Error::response(sent, response.into_inner()),
        // A status that the document does not list for the operation: a wrong
        // base URL, for example, is answered with 404 `not_found`.
        Failed::UnexpectedResponse(response) => match response.bytes().await {
            Ok(body) => match serde_json::from_slice(&body) {
                Ok(body) => Error::response(sent, body),
                Err(error) => Error::undocumented(sent, error),
            },
            Err(error) => Error::new(ErrorKind::of_body(&error), sent, error),
        },
        Failed::InvalidResponsePayload(_, error) => Error::undocumented(sent, error),
        Failed::ResponseBodyError(error) => Error::new(ErrorKind::of_body(&error), sent, error),
        Failed::CommunicationError(error) | Failed::InvalidUpgrade(error) => {
            Error::new(ErrorKind::of_sending(&error), sent, error)
        }
        Failed::InvalidRequest(message) | Failed::Custom(message) => {
            Error::new(ErrorKind::Request, sent, message)
        }
    }
}
