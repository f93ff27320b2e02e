//! The operations for programs without async code.

use super::{Parts, deprecation, file, requests, taken, value};
use crate::client::model::Operation;
use crate::text::comment;

pub fn blocking(parts: &Parts<'_>) -> String {
    let methods: String = parts.operations.iter().map(method).collect();
    let sends: String = parts.operations.iter().filter(|of| of.is_request()).map(send).collect();
    let own = if parts.is_main {
        String::new()
    } else {
        "/// A client whose calls block until the response is there: see [`Blocking`].\npub type Client = Blocking<super::Client>;\n\n".to_string()
    };
    let lists: String = parts.operations.iter().filter_map(|of| Some((of, of.pages.as_ref()?))).map(|(of, pages)| {
        format!(
            "/// What all pages hold, up to the first error: see [`super::{0}`].\npub type {0} = BlockingPages<{1}>;\n\n\
             /// What all pages hold.\nimpl IntoIterator for {1}<Blocking<super::Client>> {{\n    type Item = <{0} as Iterator>::Item;\n    type IntoIter = {0};\n\n    \
             fn into_iter(self) -> {0} {{\n        let Blocking {{ client, runtime }} = self.client;\n        BlockingPages::new({1} {{ client, parameters: self.parameters }}.stream(), runtime)\n    }}\n}}\n\n",
            pages.name, of.type_name,
        )
    }).collect();
    let others: String = parts.others.iter().map(|other| {
        let feature = other.feature.map_or(String::new(), |name| format!("    #[cfg(feature = {name:?})]\n"));
        let module = other.module;
        format!("    /// The client of another version: see [`Client::{module}`](super::Client::{module}).\n{feature}    \
                 pub fn {module}(&self) -> Blocking<crate::{module}::Client> {{\n        Blocking {{ client: self.client.{module}(), runtime: self.runtime.clone() }}\n    }}\n\n")
    }).collect();
    let body =
        format!("{own}impl Blocking<super::Client> {{\n{others}{methods}}}\n\n{sends}{lists}");
    let requests: Vec<_> = parts
        .operations
        .iter()
        .filter(|of| of.is_request())
        .flat_map(|of| [of.type_name.clone(), format!("{}Parameters", of.type_name)])
        .collect();
    let outcomes = parts
        .operations
        .iter()
        .filter(|of| of.outcome.is_some())
        .map(|of| format!("{}Outcome", of.type_name));
    let own: Vec<(String, String)> = requests
        .into_iter()
        .chain(outcomes)
        .map(|name| {
            let path = format!("super::operations::{name}");
            (name, path)
        })
        .collect();
    let mut uses: Vec<(&str, &str)> = vec![
        ("types", "super::http::types"),
        ("Blocking", "crate::blocking::Blocking"),
        ("Error", "crate::error::Error"),
        ("BlockingPages", "crate::pages::BlockingPages"),
        ("Response", "crate::response::Response"),
        ("DateTime", "chrono::DateTime"),
        ("Utc", "chrono::Utc"),
    ];
    uses.extend(own.iter().map(|(name, path)| (name.as_str(), path.as_str())));
    file("The operations of the client whose calls block: the feature `blocking`.", &body, &uses)
}

fn method(operation: &Operation) -> String {
    let (name, value) = (&operation.method_name, value(operation));
    let parameters: String = operation.required().map(|of| format!(", {}", taken(of))).collect();
    let see = comment(
        4,
        &format!(
            "{} See [`Client::{name}`](super::Client::{name}).",
            operation.about.first().cloned().unwrap_or_default()
        ),
    );
    let deprecated = match operation.deprecated {
        Some(_) => deprecation(operation) + "#[expect(deprecated, reason = \"both are\")]\n",
        None => String::new(),
    };
    if operation.is_request() {
        let request = &operation.type_name;
        return format!(
            "{see}{deprecated}pub fn {name}(&self{parameters}) -> {request}<Self> {{\n{}}}\n\n",
            requests::begun(operation)
        );
    }
    let given: Vec<_> = operation.required().map(|of| of.name.clone()).collect();
    let direct = format!(
        "{see}{deprecated}pub fn {name}(&self{parameters}) -> Result<Response<{value}>, Error> {{\n        self.runtime.block_on(self.client.{name}({}))\n    }}\n\n",
        given.join(", "),
    );
    if !operation.is_conditional {
        return direct;
    }
    let etag: Vec<_> = given.into_iter().chain(["etag".to_string()]).collect();
    let see = comment(
        4,
        &format!("See [`Client::{name}_if_changed`](super::Client::{name}_if_changed)."),
    );
    direct
        + &format!(
            "{see}{deprecated}pub fn {name}_if_changed(&self{parameters}, etag: impl Into<String>) -> Result<Response<Option<{}>>, Error> {{\n        self.runtime.block_on(self.client.{name}_if_changed({}))\n    }}\n\n",
            operation.success,
            etag.join(", "),
        )
}

fn send(operation: &Operation) -> String {
    let (name, method, value) = (&operation.type_name, &operation.method_name, value(operation));
    let conditional = if operation.is_conditional {
        format!(
            "\n    /// Like `send`, unless the answer is still the one with this `ETag`.\n    pub fn send_if_changed(self, etag: impl Into<String>) -> Result<Response<Option<{}>>, Error> {{\n        \
             let Blocking {{ client, runtime }} = &self.client;\n        runtime.block_on(client.send_{method}_if_changed(&self.parameters, etag.into()))\n    }}\n",
            operation.success
        )
    } else {
        String::new()
    };
    format!(
        "impl {name}<Blocking<super::Client>> {{\n    /// Sends the request.{}\n    pub fn send(self) -> Result<Response<{value}>, Error> {{\n        \
         let Blocking {{ client, runtime }} = &self.client;\n        runtime.block_on(client.send_{method}(&self.parameters))\n    }}\n{conditional}}}\n\n",
        if operation.pages.is_some() { " The value is one page." } else { "" },
    )
}
