//! The layer between dropshot and handlers: the requests that handlers get, and the responses that
//! dropshot sends.
//!
//! Handlers' errors become responses here, because dropshot cannot add headers to an error of a
//! custom type.

use crate::parameters::{Invalid, Rule};
use crate::schemas::Documented;
use async_trait::async_trait;
use dropshot::{
    ApiEndpointBodyContentType, ApiEndpointResponse, Body, ErrorStatusCode, ExclusiveExtractor,
    ExtensionMode, ExtractorMetadata, HttpCodedResponse, HttpError, HttpResponse,
    HttpResponseError, RequestContext, ServerContext, TypedBody,
};
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use schemars::JsonSchema;
use schemars::r#gen::SchemaGenerator;
use schemars::schema::Schema;
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// What a handler gets of a request in addition to the parameters and the body.
#[derive(Debug)]
pub struct Request<'a, C, K = ()> {
    pub context: &'a C,
    /// The caller, as authenticated by the middleware.
    pub caller: &'a K,
    /// All request headers, including those that are not parameters.
    pub headers: &'a HeaderMap,
    /// The request id, as in the log.
    pub id: &'a str,
}

impl<'a, C, K> Request<'a, C, K> {
    /// Takes the headers and the request id from dropshot's `context`. `caller` is the caller that
    /// the middleware authenticated.
    pub fn new(context: &'a RequestContext<C>, caller: &'a K) -> Request<'a, C, K>
    where
        C: ServerContext,
    {
        let headers = context.request.headers();
        Request { context: context.context(), caller, headers, id: &context.request_id }
    }
}

/// The possible successes of an operation. The API document that the code emits describes only one
/// of them: the success with `STATUS` and `Body`.
pub trait Success: Send + Sync + 'static {
    /// The body of the documented success. [`NoContent`] if the success has no body.
    type Body: JsonSchema + 'static;
    const STATUS: StatusCode;
    /// The `description` of the success response in the OpenAPI document.
    const DESCRIPTION: &'static str;

    /// Converts the success to a response. Fails if the body cannot be serialized.
    fn into_response(self) -> Result<Response<Body>, Failure>;
}

/// The JSON body of every error response in a document.
pub trait ErrorBody: Serialize {
    /// Returns the documented error code, such as `not_found`.
    fn code(&self) -> &'static str;

    /// The status of the response. The body repeats the status.
    fn status(&self) -> StatusCode;
}

/// The documented errors of an operation, or of a response that several operations share, such as
/// the 429.
pub trait DocumentedError {
    /// The type of the body into which each error is converted.
    type Body: ErrorBody;

    /// Converts the error to a body, which has the error's code and status.
    fn into_body(self) -> Self::Body;
}

/// The type of an absent body. It has no values; dropshot only needs its schema, which says that
/// there is no content.
#[derive(Debug)]
pub enum NoContent {}

impl JsonSchema for NoContent {
    fn schema_name() -> String {
        "NoContent".to_string()
    }

    fn is_referenceable() -> bool {
        false
    }

    /// Returns the schema that tells dropshot that there is no content.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::Bool(false)
    }
}

/// A JSON body, either as a value of the type `T` or as JSON that is already encoded.
#[derive(Debug)]
pub struct Json<T>(Content<T>);

#[derive(Debug)]
enum Content<T> {
    Value(T),
    Encoded { json: Body, is_gzip: bool },
}

impl<T> From<T> for Json<T> {
    fn from(value: T) -> Json<T> {
        Json(Content::Value(value))
    }
}

impl<T: Serialize> Json<T> {
    /// Creates a body from `json`, which must be the JSON of a `T`. If `is_gzip` is true, `json`
    /// must be compressed with gzip.
    pub fn encoded(json: Body, is_gzip: bool) -> Json<T> {
        Json(Content::Encoded { json, is_gzip })
    }

    pub fn into_response(self, status: StatusCode) -> Result<Response<Body>, Failure> {
        match self.0 {
            Content::Value(value) => json_response(status, &value),
            Content::Encoded { json, is_gzip } => {
                let mut response = encoded_response(status, json);
                if is_gzip {
                    let gzip = HeaderValue::from_static("gzip");
                    response.headers_mut().insert(header::CONTENT_ENCODING, gzip);
                }
                Ok(response)
            }
        }
    }
}

/// Returns a response without a body, such as a 204 or a 304. The caller adds the headers of a 304.
pub fn empty_response(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Adds the headers that have a value. Panics if one of their names is not in lower case.
pub fn with_headers<const N: usize>(
    response: Result<Response<Body>, Failure>,
    headers: [(&'static str, Option<HeaderValue>); N],
) -> Result<Response<Body>, Failure> {
    let mut response = response?;
    for (name, value) in headers {
        if let Some(value) = value {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
    Ok(response)
}

pub fn json_response(status: StatusCode, body: &impl Serialize) -> Result<Response<Body>, Failure> {
    let body = serde_json::to_vec(body).map_err(|error| Failure::internal(&error))?;
    Ok(encoded_response(status, Body::from(body)))
}

fn encoded_response(status: StatusCode, json: Body) -> Response<Body> {
    let mut response = Response::new(json);
    *response.status_mut() = status;
    // Reserve room for all headers of a response, so that the map never grows.
    response.headers_mut().reserve(12);
    let content_type = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

/// The response that dropshot sends for a handler's result: the success `S`, or an error.
#[derive(Debug)]
pub struct HandlerResponse<S>(Response<Body>, PhantomData<fn() -> S>);

impl<S: Success> HandlerResponse<S> {
    /// Converts the result of a handler to a response. For an error, `complete` gets the status,
    /// the error code and the headers of the response, and adds headers. Fails if the body cannot
    /// be serialized.
    pub fn from_result<E: DocumentedError>(
        result: Result<S, E>,
        complete: fn(StatusCode, &str, &mut HeaderMap),
    ) -> Result<HandlerResponse<S>, Failure> {
        let response = match result {
            Ok(success) => success.into_response()?,
            Err(error) => {
                let body = error.into_body();
                let mut response = json_response(body.status(), &body)?;
                complete(body.status(), body.code(), response.headers_mut());
                response
            }
        };
        Ok(HandlerResponse(response, PhantomData))
    }
}

impl<S: Success> HttpResponse for HandlerResponse<S> {
    fn to_result(self) -> Result<Response<Body>, HttpError> {
        Ok(self.0)
    }

    fn response_metadata() -> ApiEndpointResponse {
        DocumentedSuccess::<S>::response_metadata()
    }

    fn status_code(&self) -> StatusCode {
        self.0.status()
    }
}

/// Describes the success `S` for dropshot. No value of this type is ever created.
struct DocumentedSuccess<S>(PhantomData<fn() -> S>);

impl<S> From<DocumentedSuccess<S>> for Result<Response<Body>, HttpError> {
    fn from(_: DocumentedSuccess<S>) -> Self {
        Err(HttpError::for_internal_error("it only documents a success".to_string()))
    }
}

impl<S: Success> HttpCodedResponse for DocumentedSuccess<S> {
    type Body = Documented<S::Body>;
    const STATUS_CODE: StatusCode = S::STATUS;
    const DESCRIPTION: &'static str = S::DESCRIPTION;
}

/// An undocumented error, which only a bug causes. The server sends a documented 500 instead.
#[derive(Debug)]
pub struct Failure(HttpError);

impl Failure {
    fn internal(cause: &dyn fmt::Display) -> Failure {
        Failure(HttpError::for_internal_error(cause.to_string()))
    }
}

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Failure {
        Failure(error)
    }
}

/// An operation that documents no 400 turns an invalid parameter into a `Failure`.
impl From<Invalid> for Failure {
    fn from(invalid: Invalid) -> Failure {
        Failure(HttpError::for_bad_request(None, invalid.to_string()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl HttpResponseError for Failure {
    fn status_code(&self) -> ErrorStatusCode {
        self.0.status_code
    }
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            message: &'a str,
        }
        Shown { message: &self.0.external_message }.serialize(serializer)
    }
}

/// Required by a trait bound of dropshot. No document contains the schema.
impl JsonSchema for Failure {
    fn schema_name() -> String {
        "Failure".to_string()
    }

    fn is_referenceable() -> bool {
        false
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::Bool(true)
    }
}

/// Extracts the sender and the body together. Both need an exclusive extractor, and dropshot allows
/// only one per handler. Extraction never fails, because `body` holds the reason for an invalid
/// body.
#[derive(Debug)]
pub struct Sent<B = NoBody> {
    /// The sender of the request. After authentication, [`Sender::caller`] returns the caller.
    pub sender: Sender,
    /// The body, or the reason why it is invalid.
    pub body: Result<B, Invalid>,
}

/// The sender of a request, as the middleware recorded it in the request's extensions.
#[derive(Debug)]
pub struct Sender(Extensions);

impl Sender {
    /// Returns the caller that the middleware stored in the request's extensions. Fails if no `K`
    /// is stored.
    pub fn caller<K: Send + Sync + 'static>(&self) -> Result<&K, Failure> {
        self.0.get().ok_or_else(|| Failure::internal(&"the request was not authenticated"))
    }
}

#[async_trait]
impl<B: RequestBody> ExclusiveExtractor for Sent<B> {
    async fn from_request<Context: ServerContext>(
        context: &RequestContext<Context>,
        mut request: http::Request<Body>,
    ) -> Result<Self, HttpError> {
        let sender = Sender(std::mem::take(request.extensions_mut()));
        Ok(Sent { sender, body: B::read(context, request).await })
    }

    fn metadata(body: ApiEndpointBodyContentType) -> ExtractorMetadata {
        B::metadata(body)
    }
}

#[async_trait]
pub trait RequestBody: Send + Sync + Sized + 'static {
    /// Reads the body of a request. Fails if the body cannot be parsed or does not match its
    /// schema.
    async fn read<C: ServerContext>(
        context: &RequestContext<C>,
        request: http::Request<Body>,
    ) -> Result<Self, Invalid>;

    /// Returns the metadata from which dropshot documents the body.
    fn metadata(body: ApiEndpointBodyContentType) -> ExtractorMetadata;
}

/// The body type of an operation without a body. If a client sends a body anyway, the server does
/// not read it.
#[derive(Debug)]
pub struct NoBody;

#[async_trait]
impl RequestBody for NoBody {
    async fn read<C: ServerContext>(
        _: &RequestContext<C>,
        _: http::Request<Body>,
    ) -> Result<Self, Invalid> {
        Ok(NoBody)
    }

    fn metadata(_: ApiEndpointBodyContentType) -> ExtractorMetadata {
        ExtractorMetadata { parameters: Vec::new(), extension_mode: ExtensionMode::None }
    }
}

#[derive(Debug)]
pub struct JsonBody<T>(pub T);

#[async_trait]
impl<T> RequestBody for JsonBody<T>
where
    T: CheckedBody + DeserializeOwned + JsonSchema + Send + Sync + 'static,
{
    async fn read<C: ServerContext>(
        context: &RequestContext<C>,
        request: http::Request<Body>,
    ) -> Result<Self, Invalid> {
        let body = <TypedBody<T> as ExclusiveExtractor>::from_request(context, request).await;
        let body = body.map_err(|error| Invalid::Body(error.external_message))?.into_inner();
        body.check()?;
        Ok(JsonBody(body))
    }

    fn metadata(body: ApiEndpointBodyContentType) -> ExtractorMetadata {
        <TypedBody<T> as ExclusiveExtractor>::metadata(body)
    }
}

/// A type that occurs in request bodies. This trait checks the bounds of the type's members,
/// because serde does not check them.
pub trait CheckedBody {
    /// Fails if a member is out of bounds or does not match its pattern.
    fn check(&self) -> Result<(), Invalid>;
}

impl<T: CheckedBody> CheckedBody for Option<T> {
    fn check(&self) -> Result<(), Invalid> {
        self.as_ref().map_or(Ok(()), T::check)
    }
}

impl<T: CheckedBody> CheckedBody for Vec<T> {
    fn check(&self) -> Result<(), Invalid> {
        self.iter().try_for_each(T::check)
    }
}

/// Checks a member of a body, because serde checks only its type. The error names the member and
/// the valid values.
pub fn check_member<R: Rule>(
    name: &'static str,
    value: &R::Value,
    rule: &R,
) -> Result<(), Invalid> {
    match rule.holds(value) {
        true => Ok(()),
        false => Err(Invalid::Member(name, rule.expected())),
    }
}
