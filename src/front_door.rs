//! The front door: EVERY request passes here. Who is it, is there room, where
//! does it go, and what do the headers of its answer say.
//!
//! It is the middleware that dropshot does not have. The outer server registers
//! one unpublished catch-all for each standard method; behind it stands the
//! router of the contract's own trait. That leans on what dropshot 0.18 leaves
//! public by accident: `ApiDescription::into_router`, `HttpRouter::lookup_route`
//! and `endpoints`, `RouterLookupResult`, `RouteHandler::handle_request`, and
//! that `RequestContext::endpoint` may be replaced. All of it is in this file,
//! the version of dropshot is pinned, and the tests hold it.

mod admission;
mod proxies;
mod route;
mod visit;

pub use proxies::TrustedProxies;
pub(crate) use route::method_not_allowed;

use crate::handlers::Handlers;
use crate::metrics::RouteId;
use crate::server::App;
use admission::{Admission, Caller, admit};
use dropshot::{
    ApiDescription, ApiDescriptionRegisterError, ApiEndpoint, ApiEndpointBodyContentType,
    ApiEndpointVersions, Body, ExtractorMetadata, HttpError, Path, RawRequest, RequestContext,
    RequestEndpointMetadata, ServerContext, SharedExtractor,
};
use futures::FutureExt;
use http::{Method, Response};
use route::Route;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use store_orders_api::answer::error_response;
use store_orders_api::errors;
use visit::Visit;

/// The methods of RFC 9110 and PATCH (RFC 5789): dropshot routes no others.
const METHODS: [Method; 9] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::DELETE,
    Method::CONNECT,
    Method::OPTIONS,
    Method::TRACE,
    Method::PATCH,
];

tokio::task_local! {
    /// The id of the key of the request under way. Dropshot's context is the
    /// same for all requests, so the handler finds its caller here.
    static CALLER: Arc<str>;
}

/// The id of the key that the request under way was sent with.
pub fn caller() -> Arc<str> {
    CALLER.try_with(Arc::clone).unwrap_or_else(|_| Arc::from("unknown"))
}

/// Why the front door could not be built: the trait and dropshot disagree.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Dropshot refuses the trait.
    #[error("dropshot refuses the API trait: {0}")]
    Trait(String),
    /// Dropshot refuses a catch-all.
    #[error("dropshot refuses the front door: {0}")]
    CatchAll(#[from] ApiDescriptionRegisterError),
}

/// The outer API: nothing but the front door, with the trait's router behind it;
/// and the ids of the trait's operations.
pub fn build() -> Result<(ApiDescription<Arc<App>>, Vec<String>), BuildError> {
    let router = store_orders_api::store_orders_api_mod::api_description::<Handlers>()
        .map_err(|error| BuildError::Trait(error.to_string()))?
        .into_router();
    let operations: Vec<String> =
        router.endpoints(None).map(|(_, _, endpoint)| endpoint.operation_id.clone()).collect();
    let deprecated: HashSet<String> = router
        .endpoints(None)
        .filter(|(_, _, endpoint)| endpoint.deprecated)
        .map(|(_, _, endpoint)| endpoint.operation_id.clone())
        .collect();
    // A path without parameters needs no look-up, which costs as much as all of
    // the admission: dropshot takes the path apart and allocates each part.
    let plain: Vec<_> = router
        .endpoints(None)
        .filter(|(path, _, _)| !path.contains('{'))
        .map(|(path, _, endpoint)| {
            let metadata = {
                let (id, body) =
                    (endpoint.operation_id.clone(), endpoint.body_content_type.clone());
                let request_body_max_bytes = endpoint.request_body_max_bytes;
                move || RequestEndpointMetadata {
                    operation_id: id.clone(),
                    variables: BTreeMap::new(),
                    body_content_type: body.clone(),
                    request_body_max_bytes,
                }
            };
            (path, endpoint.method.clone(), Arc::clone(&endpoint.handler), metadata)
        })
        .collect();
    let inner = Arc::new((router, plain, deprecated));
    let door = move |mut context: RequestContext<Arc<App>>, _: AnyPath, request: RawRequest| {
        let inner = Arc::clone(&inner);
        async move {
            let (router, plain, deprecated) = &*inner;
            let app = Arc::clone(context.context());
            let mut visit = Visit::begin(&app, &context);
            if let Some(page) = app.pages.find(&context.request) {
                visit.route = RouteId::PUBLIC;
                return Ok(visit.end_uncounted(page));
            }
            let lookup = |method: &Method, path: &str| {
                let mut known = plain.iter();
                match known.find(|(own, takes, ..)| own == path && takes == method) {
                    Some((_, _, handler, metadata)) => Ok((Arc::clone(handler), metadata())),
                    None => router
                        .lookup_route(method, path.into(), None)
                        .map(|found| (found.handler, found.endpoint)),
                }
            };
            let route = route::find(&context.request, lookup);
            if let Route::Found((_, endpoint)) = &route {
                visit.route = app.metrics.requests.route(&endpoint.operation_id);
            }
            visit.deprecated =
                route.is_any(lookup, |(_, endpoint)| deprecated.contains(&endpoint.operation_id));
            let response = match (admit(&app, &mut visit, &context.request).await, route) {
                (Admission::Refused(response), _) => response,
                (Admission::Admitted(Caller { key_id }), Route::Found((handler, endpoint))) => {
                    context.endpoint = endpoint;
                    let handled = handler.handle_request(context, request.into_inner());
                    match AssertUnwindSafe(CALLER.scope(key_id, handled)).catch_unwind().await {
                        Ok(Ok(response)) => response,
                        Ok(Err(_)) => error_response(&errors::internal_error()),
                        Err(_) => visit.panicked(),
                    }
                }
                (Admission::Admitted(_), Route::NotFound) => error_response(&errors::not_found()),
                (Admission::Admitted(_), Route::OtherMethod { allow, .. }) => {
                    method_not_allowed(allow)
                }
            };
            Ok::<Response<Body>, HttpError>(visit.end(response))
        }
    };
    let mut api = ApiDescription::new();
    for method in METHODS {
        let endpoint = ApiEndpoint::new(
            format!("front_door_{}", method.as_str().to_lowercase()),
            door.clone(),
            method,
            "application/json",
            "/{path:.*}",
            ApiEndpointVersions::All,
        );
        api.register(endpoint.visible(false))?;
    }
    Ok((api, operations))
}

/// Declares the catch-all's path parameter, as dropshot demands, without taking
/// the path apart once more.
struct AnyPath;

#[derive(Deserialize, JsonSchema)]
struct AnyPathParameter {
    #[expect(dead_code, reason = "declared for dropshot, read by nobody")]
    path: Vec<String>,
}

#[async_trait::async_trait]
impl SharedExtractor for AnyPath {
    async fn from_request<Context: ServerContext>(
        _: &RequestContext<Context>,
    ) -> Result<Self, HttpError> {
        Ok(AnyPath)
    }

    fn metadata(body: ApiEndpointBodyContentType) -> ExtractorMetadata {
        <Path<AnyPathParameter> as SharedExtractor>::metadata(body)
    }
}
