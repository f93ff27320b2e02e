//! The requests of operations with optional parameters, and the lists that come in pages.

use super::calls::{about, call, result};
use super::{converted, deprecation, is_small, paragraphs, taken, value};
use crate::client::model::{Held, Operation, Pages, Parameter};
use crate::text::comment;

/// The method that begins a request.
pub fn method(operation: &Operation) -> String {
    let (name, request) = (&operation.method_name, &operation.type_name);
    let taken: String = operation.required().map(|of| format!(", {}", taken(of))).collect();
    format!(
        "{}{}pub fn {name}(&self{taken}) -> {request} {{\n{}}}\n\n",
        about(operation),
        deprecation(operation),
        begun(operation),
    )
}

/// A request with what it cannot be without.
pub fn begun(operation: &Operation) -> String {
    let request = &operation.type_name;
    let mut required = operation.required().peekable();
    if required.peek().is_none() {
        return format!(
            "{request} {{ client: self.clone(), parameters: {request}Parameters::default() }}\n"
        );
    }
    let required: String = required.map(|of| format!("{}: {}, ", of.name, converted(of))).collect();
    let optional: String = operation.optional().map(|of| format!("{}: None, ", of.name)).collect();
    format!(
        "let parameters = {request}Parameters {{ {required}{optional} }};\n{request} {{ client: self.clone(), parameters }}\n"
    )
}

/// The type of the request, if the operation has one.
pub fn request(operation: &Operation) -> String {
    if !operation.is_request() {
        return String::new();
    }
    let (name, method, value) = (&operation.type_name, &operation.method_name, value(operation));
    let default = if operation.required().next().is_none() { ", Default" } else { "" };
    let fields: String = operation.shown().map(kept).collect();
    let setters: String = operation.optional().map(setter).collect();
    let stream = operation.pages.as_ref().map_or(String::new(), stream);
    let conditional = if operation.is_conditional { if_changed(operation) } else { String::new() };
    let sends = call(operation, "parameters.", &(result(operation, false) + &at_cursor(operation)));
    let of_pages = operation.pages.as_ref().map_or(String::new(), |of| paged(operation, of));
    let or_stream = if operation.pages.is_some() { " or `stream`" } else { "" };
    format!(
        "/// A request of [`{method}`](Client::{method}): parameters that are not set are not sent.\n\
         #[derive(Clone, Debug)]\n#[must_use = \"nothing is sent before `send`{or_stream}\"]\n\
         pub struct {name}<C = Client> {{\n    pub(super) client: C,\n    pub(super) parameters: {name}Parameters,\n}}\n\n\
         #[derive(Clone, Debug{default})]\npub(crate) struct {name}Parameters {{\n{fields}}}\n\n\
         impl<C> {name}<C> {{\n{setters}}}\n\n\
         impl {name} {{\n    /// Sends the request.{}\n    pub async fn send(self) -> Result<Response<{value}>, Error> {{\n        self.client.send_{method}(&self.parameters).await\n    }}\n\n{conditional}{stream}}}\n\n\
         impl Client {{\n    pub(super) async fn send_{method}(&self, parameters: &{name}Parameters) -> Result<Response<{value}>, Error> {{\n{sends}}}\n{}}}\n\n{of_pages}",
        if operation.pages.is_some() { " The value is one page." } else { "" },
        sends_if_changed(operation),
    )
}

fn kept(parameter: &Parameter) -> String {
    let (name, ty) = (&parameter.name, &parameter.argument.ty);
    match parameter.argument.is_optional {
        true => format!("    pub(super) {name}: Option<{ty}>,\n"),
        false => format!("    pub(super) {name}: {ty},\n"),
    }
}

fn setter(parameter: &Parameter) -> String {
    let (name, ty) = (&parameter.name, &parameter.argument.ty);
    let (taken, value) = match parameter.argument.held {
        Held::Value if is_small(parameter) => ("u32".to_string(), format!("{name}.into()")),
        Held::Value => (ty.clone(), name.clone()),
        _ => (format!("impl Into<{ty}>"), format!("{name}.into()")),
    };
    let about = if parameter.about.is_empty() {
        format!("Sets `{}`.", parameter.key)
    } else {
        parameter.about.clone()
    };
    format!(
        "{}    pub fn {name}(mut self, {name}: {taken}) -> Self {{\n        self.parameters.{name} = Some({value});\n        self\n    }}\n\n",
        paragraphs(4, &[about]),
    )
}

fn stream(pages: &Pages) -> String {
    format!(
        "    /// What all pages hold, from the one of [`{0}`](Self::{0}) if it is set. Each page is\n    /// requested when what came before it has been taken.\n    \
         pub fn stream(self) -> {1} {{\n        Pages::new(self)\n    }}\n",
        pages.cursor, pages.name,
    )
}

fn if_changed(operation: &Operation) -> String {
    format!(
        "{}pub async fn send_if_changed(self, etag: impl Into<String>) -> Result<Response<Option<{}>>, Error> {{\n        \
         self.client.send_{}_if_changed(&self.parameters, etag.into()).await\n    }}\n\n",
        comment(
            4,
            "Sends the request, unless the answer is still the one with this `ETag`: the value is then `None`, and nothing is transferred."
        ),
        operation.success,
        operation.method_name,
    )
}

/// An error of a page says which.
fn at_cursor(operation: &Operation) -> String {
    operation.pages.as_ref().map_or(String::new(), |pages| {
        format!(".map_err(|error| error.at_cursor(parameters.{}.clone()))", pages.cursor)
    })
}

fn sends_if_changed(operation: &Operation) -> String {
    if !operation.is_conditional {
        return String::new();
    }
    let (name, method) = (&operation.type_name, &operation.method_name);
    format!(
        "\n    pub(super) async fn send_{method}_if_changed(&self, parameters: &{name}Parameters, etag: String) -> Result<Response<Option<{}>>, Error> {{\n\
         let if_none_match = Some(etag);\n{}}}\n",
        operation.success,
        call(operation, "parameters.", &(result(operation, true) + &at_cursor(operation))),
    )
}

/// The pages, as the stream reads them.
fn paged(operation: &Operation, pages: &Pages) -> String {
    let (name, list) = (&operation.type_name, &pages.name);
    format!(
        "/// What all pages of [`{0}`](Client::{0}) hold.\npub type {list} = Pages<{name}>;\n\n\
         impl PagedRequest for {name} {{\n    type Page = {1};\n    type Item = {2};\n\n    \
         fn at_cursor(self, cursor: String) -> Self {{\n        self.{3}(cursor)\n    }}\n\n    \
         async fn page(self) -> Result<Response<Self::Page>, Error> {{\n        self.send().await\n    }}\n\n    \
         fn parts(page: Self::Page) -> (Vec<Self::Item>, Option<String>) {{\n        (page.{4}, page.{5})\n    }}\n}}\n\n",
        operation.method_name, operation.success, pages.item, pages.cursor, pages.items, pages.next,
    )
}
