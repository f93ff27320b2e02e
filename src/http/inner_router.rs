//! Finds and calls the operations of the API traits. Dropshot has no middleware, so the dropshot
//! server registers only a catch-all route for each method. The catch-all routes call this server's
//! own middleware, which finds and calls the operation through this module.
//!
//! Only this file uses dropshot's internals. Dropshot 0.18 leaves these items public by accident:
//! `ApiDescription::into_router`, `HttpRouter::lookup_route` and `endpoints`,
//! `RouteHandler::handle_request`, and the field `RequestContext::endpoint`. So dropshot's minor
//! version is pinned, and tests check how the items behave.

use super::handlers::{Handlers, reads_list};
use crate::context::ServerContext;
use crate::metrics::RouteId;
use dropshot::{
    ApiDescription, ApiDescriptionRegisterError, ApiEndpoint, ApiEndpointBodyContentType,
    ApiEndpointVersions, Body, ExtractorMetadata, HttpError, Path, RawRequest, RequestContext,
    RequestEndpointMetadata, SharedExtractor,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, Request, Response, StatusCode, header};
use percent_encoding::percent_decode_str;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use store_orders_api::documents::{DOCUMENTS, Document, V1, api_descriptions};
use store_orders_api::emission::DocumentError;
use store_orders_api::errors;

/// The methods that have a catch-all route (RFC 9110 and RFC 5789). Dropshot itself responds to
/// other methods, with a 405.
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

pub type DropshotContext = RequestContext<Arc<ServerContext>>;

type Lookup =
    Box<dyn Fn(&Method, &str) -> Result<RequestEndpointMetadata, HttpError> + Send + Sync>;
type Call =
    Box<dyn Fn(DropshotContext, Request<Body>) -> BoxFuture<'static, Response<Body>> + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("dropshot refuses the API trait")]
    Trait(#[from] DocumentError),
    #[error("dropshot refuses the catch-all route: {0}")]
    CatchAll(#[from] ApiDescriptionRegisterError),
}

pub struct InnerRouter {
    versions: Vec<ApiVersion>,
}

struct ApiVersion {
    document: &'static Document,
    operations: Vec<Operation>,
    lookup: Lookup,
}

pub struct Operation {
    /// The `operationId` in the API document.
    id: String,
    /// The name in metrics, such as `listOrders` for the first version and `v2/listOrders` for the
    /// second.
    route_name: String,
    /// The operation in messages, such as `listOrders, GET /v1/store/orders`.
    title: String,
    /// The id under which metrics count the operation's requests.
    pub route: RouteId,
    pub is_deprecated: bool,
    reads_list: bool,
    /// `None` if the path has parameters.
    static_route: Option<StaticRoute>,
    call: Call,
}

/// A route without parameters. Requests are compared with these routes first, because dropshot's
/// lookup is slow. The lookup's allocations alone cost as much as the rate limiter.
struct StaticRoute {
    method: Method,
    path: String,
    body_content_type: ApiEndpointBodyContentType,
    request_body_max_bytes: Option<usize>,
}

pub enum Route<'a> {
    /// An operation, and the metadata that dropshot's extractors need.
    Found(&'a Operation, RequestEndpointMetadata),
    NotFound,
    /// The path is unknown in its API version, but exists without the slash at its end.
    SlashAtEnd,
    OutsideVersions,
    /// The path has operations, but for other methods.
    OtherMethod {
        allow: String,
        /// True if any operation of the path is deprecated. The response then has the headers of a
        /// deprecated operation.
        is_deprecated: bool,
        /// The title of the operation that has this path and method in a later version.
        later: Option<String>,
    },
}

impl Route<'_> {
    pub fn reads_list(&self) -> bool {
        matches!(self, Route::Found(operation, _) if operation.reads_list)
    }
}

impl InnerRouter {
    pub fn new() -> Result<InnerRouter, BuildError> {
        let mut routes = (0..).map(RouteId::for_operation);
        Ok(InnerRouter {
            versions: DOCUMENTS
                .into_iter()
                .zip(api_descriptions::<Handlers, _>()?)
                .map(|(document, api)| ApiVersion::new(document, api, &mut routes))
                .collect(),
        })
    }

    /// Returns the names that operations have in metrics, in the order of their route ids.
    pub fn route_names(&self) -> impl Iterator<Item = &str> {
        let operations = self.versions.iter().flat_map(|version| &version.operations);
        operations.map(|operation| operation.route_name.as_str())
    }

    /// Routes a request, HEAD as GET (RFC 9110, 9.3.2). A path outside all versions gets the
    /// document of version 1.
    pub fn route(&self, method: &Method, path: &str) -> (&'static Document, Route<'_>) {
        let mut versions = self.versions.iter();
        let version =
            versions.find_map(|version| Some((relative_path(version.document, path)?, version)));
        let Some((path, version)) = version else { return (&V1, Route::OutsideVersions) };
        let mut route = version.route(method, path);
        if let Route::OtherMethod { later, .. } = &mut route {
            // `find_map` has taken the versions up to the requested one from `versions`, so only
            // later versions are left.
            *later = versions.find_map(|version| match version.route(method, path) {
                Route::Found(operation, _) => Some(operation.title.clone()),
                _ => None,
            });
        }
        (version.document, route)
    }
}

impl ApiVersion {
    /// Finds the route. `path` is the path below the base path.
    fn route(&self, method: &Method, path: &str) -> Route<'_> {
        if !is_plain(path) {
            let without_slash =
                path.strip_suffix('/').filter(|path| !path.is_empty() && is_plain(path));
            let route = without_slash.map(|path| self.route(method, path));
            return match route {
                Some(Route::Found(..) | Route::OtherMethod { .. }) => Route::SlashAtEnd,
                _ => Route::NotFound,
            };
        }
        let method = if method == Method::HEAD { &Method::GET } else { method };
        if let Some(route) = self.static_route(method, path) {
            return route;
        }
        // Dropshot ignores the letter case of methods, so a method such as `get` would find an
        // operation. Look up TRACE instead, which no operation has (RFC 9110, 9.1).
        let method = if METHODS.contains(method) { method } else { &Method::TRACE };
        match self.look_up(method, path) {
            Ok((operation, endpoint)) => Route::Found(operation, endpoint),
            Err(error) if error.status_code.as_status() == StatusCode::METHOD_NOT_ALLOWED => {
                Route::OtherMethod {
                    allow: allow_value(&error),
                    is_deprecated: self.deprecates(path),
                    later: None,
                }
            }
            Err(_) => Route::NotFound,
        }
    }
}

impl ApiVersion {
    fn new(
        document: &'static Document,
        api: ApiDescription<Arc<ServerContext>>,
        routes: &mut impl Iterator<Item = RouteId>,
    ) -> ApiVersion {
        let router = api.into_router();
        let operations = router
            .endpoints(None)
            .zip(routes)
            .map(|((path, _, endpoint), route)| Operation::new(document, path, endpoint, route))
            .collect();
        let lookup = move |method: &Method, path: &str| {
            router.lookup_route(method, path.into(), None).map(|result| result.endpoint)
        };
        ApiVersion { document, operations, lookup: Box::new(lookup) }
    }

    fn look_up(
        &self,
        method: &Method,
        path: &str,
    ) -> Result<(&Operation, RequestEndpointMetadata), HttpError> {
        let endpoint = (self.lookup)(method, path)?;
        let operation =
            self.operations.iter().find(|operation| operation.id == endpoint.operation_id);
        let unknown = || HttpError::for_internal_error("an operation of no known id".to_string());
        Ok((operation.ok_or_else(unknown)?, endpoint))
    }

    fn deprecates(&self, path: &str) -> bool {
        let mut operations = METHODS.iter().filter_map(|method| self.look_up(method, path).ok());
        operations.any(|(operation, _)| operation.is_deprecated)
    }

    fn static_route(&self, method: &Method, path: &str) -> Option<Route<'_>> {
        self.operations.iter().find_map(|operation| {
            let route = operation.static_route.as_ref()?;
            let matches = route.path == path && route.method == method;
            matches.then(|| Route::Found(operation, route.metadata(&operation.id)))
        })
    }
}

impl Operation {
    fn new(
        document: &'static Document,
        path: String,
        endpoint: &ApiEndpoint<Arc<ServerContext>>,
        route: RouteId,
    ) -> Operation {
        let id = endpoint.operation_id.clone();
        let route_name = match document.base_path.strip_prefix('/') {
            Some(version) if !document.is_first() => format!("{version}/{id}"),
            _ => id.clone(),
        };
        let title = format!("{id}, {} {}{path}", endpoint.method, document.base_path);
        let handler = Arc::clone(&endpoint.handler);
        let call = move |context: DropshotContext, request| {
            let handler = Arc::clone(&handler);
            async move {
                let handled = handler.handle_request(context, request).await;
                // Handlers return their errors as `Ok`, so an `Err` is a bug in the server. The
                // `Err` is dropped, because its type is private to dropshot.
                handled.unwrap_or_else(|_| errors::internal_error(document))
            }
            .boxed()
        };
        let (is_deprecated, reads_list) = (endpoint.deprecated, reads_list(&id));
        let (static_route, call) = (StaticRoute::for_endpoint(path, endpoint), Box::new(call));
        Operation { id, route_name, title, route, is_deprecated, reads_list, static_route, call }
    }

    pub fn call(
        &self,
        mut context: DropshotContext,
        endpoint: RequestEndpointMetadata,
        request: Request<Body>,
    ) -> BoxFuture<'static, Response<Body>> {
        context.endpoint = endpoint;
        (self.call)(context, request)
    }
}

impl StaticRoute {
    fn for_endpoint(
        path: String,
        endpoint: &ApiEndpoint<Arc<ServerContext>>,
    ) -> Option<StaticRoute> {
        (!path.contains('{')).then(|| StaticRoute {
            method: endpoint.method.clone(),
            path,
            body_content_type: endpoint.body_content_type.clone(),
            request_body_max_bytes: endpoint.request_body_max_bytes,
        })
    }

    fn metadata(&self, operation_id: &str) -> RequestEndpointMetadata {
        RequestEndpointMetadata {
            operation_id: operation_id.to_string(),
            variables: BTreeMap::new(),
            body_content_type: self.body_content_type.clone(),
            request_body_max_bytes: self.request_body_max_bytes,
        }
    }
}

/// Builds the API of the outer server, with one catch-all route for each method. `handle` responds
/// to the requests.
pub fn catch_all<H, F>(handle: H) -> Result<ApiDescription<Arc<ServerContext>>, BuildError>
where
    H: Fn(DropshotContext, Request<Body>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<Response<Body>, HttpError>> + Send + 'static,
{
    let handler = move |context: DropshotContext, _: AnyPath, request: RawRequest| {
        handle(context, request.into_inner())
    };
    let mut api = ApiDescription::new();
    for method in METHODS {
        let endpoint = ApiEndpoint::new(
            format!("any_{}", method.as_str().to_lowercase()),
            handler.clone(),
            method,
            "application/json",
            "/{path:.*}",
            ApiEndpointVersions::All,
        );
        api.register(endpoint.visible(false))?;
    }
    Ok(api)
}

/// Declares the catch-all's path parameter, because dropshot requires a declaration. Extracts
/// nothing, because extraction takes 5 % of the time of a small request.
struct AnyPath;

#[derive(Deserialize, JsonSchema)]
struct AnyPathParameter {
    #[expect(dead_code, reason = "declared for dropshot, never read")]
    path: Vec<String>,
}

#[async_trait::async_trait]
impl SharedExtractor for AnyPath {
    async fn from_request<C: dropshot::ServerContext>(
        _: &RequestContext<C>,
    ) -> Result<Self, HttpError> {
        Ok(AnyPath)
    }

    fn metadata(body: ApiEndpointBodyContentType) -> ExtractorMetadata {
        <Path<AnyPathParameter> as SharedExtractor>::metadata(body)
    }
}

/// Returns the part of a path after the document's base path, or `None` if the path has another
/// base. Clients may percent-encode the base path (RFC 3986, 6.2.2.2).
fn relative_path<'a>(document: &Document, path: &'a str) -> Option<&'a str> {
    let (first, _) = path.strip_prefix('/')?.split_once('/')?;
    let (base, relative) = path.split_at(1 + first.len());
    percent_decode_str(base).eq(document.base_path.bytes()).then_some(relative)
}

/// True for a path without `//` and without a trailing slash. Dropshot would also accept paths with
/// either.
fn is_plain(path: &str) -> bool {
    !path.ends_with('/') && !path.contains("//")
}

/// Merges the `Allow` headers that dropshot sets, one per method. Adds HEAD to GET, because HEAD is
/// routed as GET.
fn allow_value(error: &HttpError) -> String {
    let mut methods: Vec<&str> = error
        .headers
        .iter()
        .flat_map(|headers| headers.get_all(header::ALLOW))
        .filter_map(|method| method.to_str().ok())
        .collect();
    if methods.contains(&"GET") {
        methods.push("HEAD");
    }
    methods.join(", ")
}

#[cfg(test)]
mod tests {
    use super::{InnerRouter, is_plain, relative_path};
    use store_orders_api::documents::{DOCUMENTS, Document, V1};

    fn plain_relative_path<'a>(document: &Document, path: &'a str) -> Option<&'a str> {
        relative_path(document, path).filter(|path| is_plain(path))
    }

    /// Caches may store and revalidate the responses of operations with `reads_list`. So exactly
    /// these operations must document an `ETag`.
    #[test]
    fn operations_that_read_the_list_are_those_with_an_entity_tag() {
        let router = InnerRouter::new().unwrap();
        for version in &router.versions {
            let json = version.document.json().unwrap();
            let paths = json["paths"].as_object().unwrap().values();
            let documented = paths.flat_map(|path| path.as_object().unwrap().values());
            for documented in documented.filter(|operation| operation.is_object()) {
                let id = &documented["operationId"];
                let operation = version.operations.iter().find(|operation| *id == operation.id);
                let has_tag = documented.pointer("/responses/200/headers/ETag").is_some();
                assert_eq!(operation.unwrap().reads_list, has_tag, "{id}");
            }
        }
    }

    #[test]
    fn only_plain_paths_below_the_base_are_routed() {
        for document in DOCUMENTS {
            let path = format!("{}/store/orders", document.base_path);
            assert_eq!(plain_relative_path(document, &path), Some("/store/orders"));
        }
        for path in [
            "/",
            "/v1",
            "/v1/",
            "/v10/store",
            "/v1/store/",
            "/v1//store",
            "/v2/store",
            "//v1/x",
            "",
        ] {
            assert_eq!(plain_relative_path(&V1, path), None, "{path}");
        }
    }
}
