//! Where a request goes: the operation behind its path, looked up without any
//! effect yet.

use dropshot::{Body, HttpError, RequestInfo};
use http::{HeaderValue, Method, Response, StatusCode, header};
use store_orders_api::BASE_PATH;
use store_orders_api::answer::error_response;
use store_orders_api::errors;

/// What stands behind a method and a path. `T` is dropshot's look-up result,
/// which cannot be named.
pub enum Route<T> {
    /// An operation.
    Found(T),
    /// No such path.
    NotFound,
    /// The path, relative to the base, takes these other methods.
    OtherMethod {
        /// The value of the `Allow` header.
        allow: String,
        /// The path, to tell what it belongs to.
        path: String,
    },
}

/// Looks the request up. HEAD goes where GET goes (RFC 9110, 9.3.2).
pub fn find<T>(
    request: &RequestInfo,
    lookup: impl Fn(&Method, &str) -> Result<T, HttpError>,
) -> Route<T> {
    let Some(path) = relative_path(request.uri().path()) else { return Route::NotFound };
    let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
    // Dropshot looks methods up in any letter case; they have one (RFC 9110, 9.1).
    let known = super::METHODS.contains(method);
    match lookup(if known { method } else { &Method::TRACE }, path) {
        Ok(found) => Route::Found(found),
        Err(error) if error.status_code.as_status() == StatusCode::METHOD_NOT_ALLOWED => {
            Route::OtherMethod { allow: allowed(&error), path: path.to_string() }
        }
        Err(_) => Route::NotFound,
    }
}

impl<T> Route<T> {
    /// Whether this holds for an operation of the path, whatever the method.
    pub fn is_any(
        &self,
        lookup: impl Fn(&Method, &str) -> Result<T, HttpError>,
        holds: impl Fn(&T) -> bool,
    ) -> bool {
        match self {
            Route::Found(found) => holds(found),
            Route::NotFound => false,
            Route::OtherMethod { path, .. } => super::METHODS
                .iter()
                .filter_map(|method| lookup(method, path).ok())
                .any(|found| holds(&found)),
        }
    }
}

/// 405 with its one `Allow` header (RFC 9110, 15.5.6).
pub fn method_not_allowed(allow: String) -> Response<Body> {
    let mut response = error_response(&errors::method_not_allowed(&allow));
    if let Ok(allow) = HeaderValue::try_from(allow) {
        response.headers_mut().insert(header::ALLOW, allow);
    }
    response
}

/// The path relative to the base address. Dropshot would take `//` and a
/// trailing slash for what they are not.
fn relative_path(path: &str) -> Option<&str> {
    let relative = path.strip_prefix(BASE_PATH)?;
    let ours = relative.starts_with('/') && !relative.ends_with('/') && !relative.contains("//");
    ours.then_some(relative)
}

/// Dropshot names each method in a header of its own; HEAD comes with GET.
fn allowed(error: &HttpError) -> String {
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
    use super::relative_path;

    #[test]
    fn only_plain_paths_below_the_base_are_ours() {
        assert_eq!(relative_path("/v1/store/orders"), Some("/store/orders"));
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
            assert_eq!(relative_path(path), None, "{path}");
        }
    }
}
