//! The client and its operations: a public method for each generated one,
//! without progenitor's types in its signature.

use crate::error::{Error, ErrorKind};
use crate::generated::{self, types};
use crate::response::{Head, Response};
use progenitor_client::ResponseValue;
use std::fmt;

type Generated<T> = Result<ResponseValue<T>, progenitor_client::Error<types::Error>>;

/// A client of one Store Orders service. Cloning is cheap and shares the
/// connections.
#[derive(Clone)]
pub struct Client {
    pub(crate) generated: generated::Client,
}

impl Client {
    /// Lists all orders of the store in ascending order of `id`.
    ///
    /// An order is in no list that begins after its cancellation was answered.
    pub async fn list_orders(&self) -> Result<Response<Vec<types::Order>>, Error> {
        converted(self.generated.list_orders().await).await
    }

    /// Cancels a pending order: it leaves the list at once and for good.
    ///
    /// The error's code is [`OrderNotFound`](crate::ErrorCode::OrderNotFound)
    /// if there is no such order or it is already cancelled, and
    /// [`OrderAlreadyShipped`](crate::ErrorCode::OrderAlreadyShipped) if it is
    /// too late. After a lost connection the first may mean that this call
    /// cancelled it: see the crate's documentation.
    pub async fn cancel_order(&self, order_id: i64) -> Result<Response<()>, Error> {
        converted(self.generated.cancel_order(order_id).await).await
    }

    /// Looks up a pet.
    ///
    /// The error's code is [`PetNotFound`](crate::ErrorCode::PetNotFound) if
    /// there is no such pet.
    #[deprecated(
        note = "deprecated by the API since 1 December 2026; it may go after 1 December 2027"
    )]
    pub async fn get_pet(&self, pet_id: i64) -> Result<Response<types::Pet>, Error> {
        converted(self.generated.get_pet(pet_id).await).await
    }
}

/// Shows no key: it is a header of the HTTP client, which is left out.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base_url", &self.generated.baseurl)
            .field("retry", &self.generated.inner)
            .finish_non_exhaustive()
    }
}

async fn converted<T>(result: Generated<T>) -> Result<Response<T>, Error> {
    match result {
        Ok(response) => {
            let head = head_of(&response);
            Ok(Response::new(response.into_inner(), head))
        }
        Err(error) => Err(converted_error(error).await),
    }
}

async fn converted_error(error: progenitor_client::Error<types::Error>) -> Error {
    use progenitor_client::Error as Failed;
    match error {
        Failed::ErrorResponse(response) => {
            let head = head_of(&response);
            Error::response(head, Some(response.into_inner()))
        }
        // A status that the document does not list for the operation: a wrong
        // base URL, for example, is answered with 404 `not_found`.
        Failed::UnexpectedResponse(response) => {
            let head = Head { status: response.status(), headers: response.headers().clone() };
            Error::response(head, response.json().await.ok())
        }
        Failed::CommunicationError(error) | Failed::InvalidUpgrade(error) => {
            Error::without_response(kind_of(&error, ErrorKind::Connection), error)
        }
        Failed::ResponseBodyError(error) => {
            Error::without_response(kind_of(&error, ErrorKind::IncompleteBody), error)
        }
        Failed::InvalidResponsePayload(_, error) => {
            Error::without_response(ErrorKind::InvalidBody, error)
        }
        Failed::InvalidRequest(message) | Failed::Custom(message) => {
            Error::without_response(ErrorKind::Request, message)
        }
    }
}

fn kind_of(error: &reqwest::Error, otherwise: ErrorKind) -> ErrorKind {
    match error {
        error if error.is_timeout() => ErrorKind::Timeout,
        error if error.is_builder() => ErrorKind::Request,
        _ => otherwise,
    }
}

fn head_of<T>(response: &ResponseValue<T>) -> Head {
    Head { status: response.status(), headers: response.headers().clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_methods_are_the_operations_of_the_document() {
        let document: serde_json::Value =
            serde_json::from_str(include_str!("../../../spec/openapi.json")).unwrap();
        let paths = document["paths"].as_object().unwrap().values();
        let found: BTreeMap<_, _> = paths
            .flat_map(|path| path.as_object().unwrap().values())
            .map(|of| (of["operationId"].as_str().unwrap(), of["deprecated"] == true))
            .collect();
        let methods = [("cancelOrder", false), ("getPet", true), ("listOrders", false)];
        assert_eq!(found, BTreeMap::from(methods));

        // The compiler holds that these methods, and no others, are deprecated.
        let client = Client::connect("https://orders.example.com/v1", "sto_test_x").unwrap();
        drop((client.cancel_order(1), client.list_orders()));
        #[expect(deprecated, reason = "the document deprecates it")]
        drop(client.get_pet(1));
    }
}
