//! What stands between dropshot and a handler: the request that a handler sees, its success or
//! documented error, and the response that dropshot sends for it.
//!
//! A handler never fails with dropshot's error, which cannot carry headers and cannot be
//! inspected by the middleware: its errors are responses, too.

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

/// A request as a handler sees it, besides its parameters and its body.
#[derive(Debug)]
pub struct Request<'a, C, K = ()> {
    /// What handlers can reach.
    pub context: &'a C,
    /// What the middleware found out about who sent it.
    pub caller: &'a K,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Its id, as the log has it.
    pub id: &'a str,
}

impl<'a, C, K> Request<'a, C, K> {
    /// The request that dropshot has, from this caller.
    pub fn new(context: &'a RequestContext<C>, caller: &'a K) -> Request<'a, C, K>
    where
        C: ServerContext,
    {
        let headers = context.request.headers();
        Request { context: context.context(), caller, headers, id: &context.request_id }
    }
}

/// The successes of an operation. Dropshot documents the one of this status and this body.
pub trait Success: Send + Sync + 'static {
    /// Body of the documented success.
    type Body: JsonSchema + 'static;
    /// Status of the documented success.
    const STATUS: StatusCode;
    /// Description of the documented success.
    const DESCRIPTION: &'static str;

    /// Makes the response.
    fn into_response(self) -> Result<Response<Body>, Failure>;
}

/// The body of every error of a document.
pub trait ErrorBody: Serialize {
    /// Code, as the document writes it.
    fn code(&self) -> &'static str;

    /// Status of the response.
    fn status(&self) -> StatusCode;
}

/// The errors of an operation that its document names.
pub trait DocumentedError {
    /// Body of each.
    type Body: ErrorBody;

    /// Makes the body.
    fn into_body(self) -> Self::Body;
}

/// The body of a response without one.
#[derive(Debug)]
pub enum NoContent {}

impl JsonSchema for NoContent {
    fn schema_name() -> String {
        "NoContent".to_string()
    }

    fn is_referenceable() -> bool {
        false
    }

    /// By it dropshot knows that there is no content.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::Bool(false)
    }
}

/// A body of this type: the value, or its encoding.
#[derive(Debug)]
pub struct Json<T>(Content<T>);

#[derive(Debug)]
enum Content<T> {
    Value(T),
    Encoded(Response<Body>),
}

impl<T> From<T> for Json<T> {
    fn from(value: T) -> Json<T> {
        Json(Content::Value(value))
    }
}

impl<T: Serialize> Json<T> {
    /// A body that is encoded already, in a response with its headers. Whether it encodes a `T`
    /// no compiler can tell.
    pub fn encoded(response: Response<Body>) -> Json<T> {
        Json(Content::Encoded(response))
    }

    /// The response of this status with the body.
    pub fn into_response(self, status: StatusCode) -> Result<Response<Body>, Failure> {
        match self.0 {
            Content::Value(value) => json_response(status, &value),
            Content::Encoded(response) => Ok(with_status(response, status)),
        }
    }
}

/// The response of this status without a body.
pub fn empty_response(status: StatusCode) -> Response<Body> {
    with_status(Response::new(Body::empty()), status)
}

/// The response with this status instead of its own.
pub fn with_status(mut response: Response<Body>, status: StatusCode) -> Response<Body> {
    *response.status_mut() = status;
    response
}

/// The response with these headers, of which some may be absent. Their names are in lower case.
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

/// The response of this status with this body.
pub fn json_response(status: StatusCode, body: &impl Serialize) -> Result<Response<Body>, Failure> {
    let body = serde_json::to_vec(body).map_err(|error| Failure::internal(&error))?;
    let mut response = with_status(Response::new(Body::from(body)), status);
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    Ok(response)
}

/// What a handler returned, as dropshot sends it: a success of `S`, or an error.
#[derive(Debug)]
pub struct Answer<S>(Response<Body>, PhantomData<fn() -> S>);

impl<S: Success> Answer<S> {
    /// The response for the result of a handler. `complete` adds the headers that depend on an
    /// error's status and code.
    pub fn of<E: DocumentedError>(
        result: Result<S, E>,
        complete: fn(StatusCode, &str, &mut HeaderMap),
    ) -> Result<Answer<S>, Failure> {
        let response = match result {
            Ok(success) => success.into_response()?,
            Err(error) => {
                let body = error.into_body();
                let mut response = json_response(body.status(), &body)?;
                complete(body.status(), body.code(), response.headers_mut());
                response
            }
        };
        Ok(Answer(response, PhantomData))
    }
}

impl<S: Success> HttpResponse for Answer<S> {
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

/// The success that dropshot documents. There is no value of it.
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

/// Why a request has no documented response. Dropshot sends it in a form of its own.
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

/// Of an operation whose document names no 400.
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

/// It is in no document.
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

/// Who sent a request, and its body: dropshot reads a request with one exclusive extractor, so
/// this one wraps that of the body. Extraction itself never fails.
#[derive(Debug)]
pub struct Sent<B = NoBody> {
    /// Who sent it.
    pub sender: Sender,
    /// The body, or why it is invalid.
    pub body: Result<B, Invalid>,
}

/// Who sent a request.
#[derive(Debug)]
pub struct Sender(Extensions);

impl Sender {
    /// What the middleware put into the request's extensions.
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

/// What an operation takes as its body.
#[async_trait]
pub trait RequestBody: Send + Sync + Sized + 'static {
    /// Reads the body of a request.
    async fn read<C: ServerContext>(
        context: &RequestContext<C>,
        request: http::Request<Body>,
    ) -> Result<Self, Invalid>;

    /// What dropshot documents.
    fn metadata(body: ApiEndpointBodyContentType) -> ExtractorMetadata;
}

/// An operation takes no body. What is sent nevertheless is not read.
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

/// An operation takes a body of this type, in JSON.
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

/// A record of a request, whose members have bounds that serde does not check.
pub trait CheckedBody {
    /// Fails if a member is outside of its bounds.
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

/// Fails if a member of a body breaks its rule.
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

/// Fails if a list of records in a body is too short or too long.
pub fn check_length(
    name: &'static str,
    length: usize,
    min: usize,
    max: usize,
) -> Result<(), Invalid> {
    match (min..=max).contains(&length) {
        true => Ok(()),
        false => Err(Invalid::Member(name, format!("a list of {min} to {max}"))),
    }
}
