//! The client of a version, and a method for each operation.

use super::calls::{about, call, result};
use super::root::about_client;
use super::{Parts, deprecation, file, paragraphs, requests, taken, value};
use crate::client::model::Operation;
use crate::text::comment;

pub fn operations(parts: &Parts<'_>) -> String {
    let methods: String = parts.operations.iter().map(method).collect();
    let requests: String = parts.operations.iter().map(requests::request).collect();
    let outcomes: String = parts.operations.iter().map(outcome).collect();
    let body = format!(
        "{}{}impl Client {{\n{methods}}}\n\n{requests}{outcomes}",
        client(parts),
        hooks(parts)
    );
    let error_code = format!("crate::{}::ErrorCode", parts.main_module);
    let uses = [
        ("ErrorCode", error_code.as_str()),
        ("Blocking", "crate::blocking::Blocking"),
        ("BuildError", "crate::builder::BuildError"),
        ("ClientBuilder", "crate::builder::ClientBuilder"),
        ("Versioned", "crate::builder::Versioned"),
        ("Call", "crate::call::Call"),
        ("debug", "crate::answer::debug"),
        ("converted", "crate::answer::converted"),
        ("or_empty", "crate::answer::or_empty"),
        ("with_outcome", "crate::answer::with_outcome"),
        ("Error", "crate::error::Error"),
        ("PagedRequest", "crate::pages::PagedRequest"),
        ("Pages", "crate::pages::Pages"),
        ("Response", "crate::response::Response"),
        ("send", "crate::send::send"),
        ("call_span", "crate::span::call_span"),
        ("in_span", "crate::span::in_span"),
        ("types", "super::http::types"),
        ("http", "super::http"),
        ("DateTime", "chrono::DateTime"),
        ("Utc", "chrono::Utc"),
        ("ClientHooks", "progenitor_client::ClientHooks"),
        ("OperationInfo", "progenitor_client::OperationInfo"),
        ("fmt", "std::fmt"),
    ];
    file("The client and its operations.", &body, &uses)
}

fn client(parts: &Parts<'_>) -> String {
    let path = parts.base_path();
    let schemes = parts.source.root.at(&["components", "securitySchemes"]);
    let key = schemes
        .and_then(|of| of.members().next())
        .and_then(|(_, of)| of.text("description").map(str::to_string));
    let new = [
        "A client with the default time-outs and [`RetryPolicy`](crate::RetryPolicy).".to_string(),
        format!("`base_url` may end in `{path}`, which is appended unless it does. The path before it may be any."),
        key.map_or(String::new(), |key| format!("`key`: {key}")),
        "An error says what is wrong with the base URL or the key. Neither is tried: the first request opens the first connection.".to_string(),
    ];
    let new = new.iter().filter(|text| !text.is_empty()).map(|text| comment(4, text));
    let others: String = parts.others.iter().map(other).collect();
    format!(
        "{}#[derive(Clone)]\npub struct Client {{\n    /// Sends nothing itself: each call is made by a copy with a [`Call`] of its own.\n    \
         pub(crate) generated: http::Client,\n}}\n\n\
         impl Client {{\n{}    \
         pub fn new(base_url: impl Into<String>, key: impl Into<String>) -> Result<Self, BuildError> {{\n        Self::builder(base_url, key).build()\n    }}\n\n    \
         /// Like [`new`](Self::new), with options to set before [`build`](ClientBuilder::build).\n    \
         pub fn builder(base_url: impl Into<String>, key: impl Into<String>) -> ClientBuilder<Self> {{\n        ClientBuilder::new(base_url.into(), key.into())\n    }}\n\n{others}    \
         fn for_one_call(&self) -> http::Client {{\n        let mut client = self.generated.clone();\n        client.inner = client.inner.next();\n        client\n    }}\n}}\n\n",
        about_client(parts),
        new.collect::<Vec<_>>().join("    ///\n"),
    )
}

/// The client of another version beside this one.
fn other(version: &crate::client::Version<'_>) -> String {
    let module = version.module;
    let info = version.document.get("info");
    let number =
        info.and_then(|info| info.get("version")).and_then(|of| of.as_str()).unwrap_or_default();
    let feature =
        version.feature.map_or(String::new(), |name| format!("    #[cfg(feature = {name:?})]\n"));
    let needs =
        version.feature.map_or(String::new(), |name| format!(" Needs the feature `{name}`."));
    format!(
        "{}{feature}    pub fn {module}(&self) -> crate::{module}::Client {{\n        \
         let Self {{ generated }} = self;\n        \
         let root = generated.baseurl.strip_suffix(Self::BASE_PATH).unwrap_or(&generated.baseurl);\n        \
         Versioned::from_parts(root, generated.client.clone(), generated.inner.clone())\n    }}\n\n",
        comment(
            4,
            &format!(
                "The client of version {number}, which shares connections, policy and limits with this one.{needs}"
            )
        ),
    )
}

fn hooks(parts: &Parts<'_>) -> String {
    let path = parts.base_path();
    let others: Vec<_> = parts
        .others
        .iter()
        .map(|other| {
            let needs =
                other.feature.map_or(String::new(), |name| format!(" of the feature `{name}`"));
            format!("; `Client::{}`{needs} makes the client of another", other.module)
        })
        .collect();
    let wrong = format!(
        "ends in another version than {path}, which this client speaks: leave the version out, or write {path}{}",
        others.join("")
    );
    format!(
        "impl Versioned for Client {{\n    const BASE_PATH: &'static str = {path:?};\n    const OTHER_VERSION: &'static str = {wrong:?};\n\n    \
         fn from_parts(root: &str, client: reqwest::Client, call: Call) -> Self {{\n        \
         let base_url = format!(\"{{root}}{path}\");\n        Self {{ generated: http::Client::new_with_client(&base_url, client, call) }}\n    }}\n}}\n\n\
         impl ClientHooks<Call> for http::Client {{\n    \
         async fn exec(&self, request: reqwest::Request, info: &OperationInfo) -> reqwest::Result<reqwest::Response> {{\n        \
         send(&self.inner, info.operation_id, request, |request| self.client.execute(request)).await\n    }}\n}}\n\n\
         /// Shows no key: it is a header of the HTTP client, which is left out.\n\
         impl fmt::Debug for Client {{\n    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {{\n        \
         debug(&self.generated.baseurl, &self.generated.inner, f)\n    }}\n}}\n\n"
    )
}

fn method(operation: &Operation) -> String {
    if operation.is_request() {
        return requests::method(operation);
    }
    let (name, value) = (&operation.method_name, value(operation));
    let taken: String = operation.required().map(|of| format!(", {}", taken(of))).collect();
    let direct = format!(
        "{}{}pub async fn {name}(&self{taken}) -> Result<Response<{value}>, Error> {{\n{}}}\n\n",
        about(operation),
        deprecation(operation),
        call(operation, "", &result(operation, false)),
    );
    if !operation.is_conditional {
        return direct;
    }
    direct
        + &format!(
            "{}{}pub async fn {name}_if_changed(&self{taken}, etag: impl Into<String>) -> Result<Response<Option<{}>>, Error> {{\n    \
         let if_none_match = Some(etag.into());\n{}}}\n\n",
            comment(
                4,
                &format!(
                    "Like [`{name}`](Self::{name}), unless the answer is still the one with this `ETag`: the value is then `None`, and nothing is transferred."
                )
            ),
            deprecation(operation),
            operation.success,
            call(operation, "", &result(operation, true)),
        )
}

fn outcome(operation: &Operation) -> String {
    let Some(of) = &operation.outcome else { return String::new() };
    let (done, after) = (&of.done, &of.after_retry);
    format!(
        "/// What a success of `{}` means.\n#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\npub enum {}Outcome {{\n{}{},\n{}{},\n}}\n\n",
        operation.method_name,
        operation.type_name,
        paragraphs(4, std::slice::from_ref(&done.1)),
        done.0,
        paragraphs(4, std::slice::from_ref(&after.1)),
        after.0,
    )
}
