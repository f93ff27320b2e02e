//! What of an operation the client has: its method, its parameters, its successes and errors.

use serde_json::Value;

/// An operation.
pub struct Operation {
    /// The name of its method.
    pub method_name: String,
    /// What the names of its types begin with.
    pub type_name: String,
    /// The method of HTTP, and the path.
    pub method: String,
    pub path: String,
    /// Its summary and its description.
    pub about: Vec<String>,
    /// Why not to use it, if it is deprecated.
    pub deprecated: Option<String>,
    /// Its parameters, in the order of progenitor's method.
    pub parameters: Vec<Parameter>,
    /// The value of its success; `()` if it has none.
    pub success: String,
    /// Statuses of successes without the value.
    pub empty: Vec<u16>,
    /// Whether it takes `If-None-Match`, and answers 304.
    pub is_conditional: bool,
    /// What a success means, where a repetition of the request may be answered otherwise.
    pub outcome: Option<Outcome>,
    /// If it answers a page of a list.
    pub pages: Option<Pages>,
    /// Status, code and meaning of each error.
    pub errors: Vec<Failure>,
    /// The responses of the test server.
    pub responses: Vec<TestResponse>,
    /// The success that the test server answers: its status, and the JSON.
    pub example: (u16, Option<Value>),
}

/// A parameter of progenitor's method.
#[derive(Clone, Debug)]
pub struct Argument {
    pub name: String,
    /// The type, as a caller has it.
    pub ty: String,
    pub held: Held,
    pub is_optional: bool,
}

/// How progenitor takes a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// As a `&str`.
    Text,
    /// By reference.
    Reference,
    /// As it is.
    Value,
}

/// A parameter, or the body.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub argument: Argument,
    /// The name in Rust.
    pub name: String,
    /// The name in the document.
    pub key: String,
    /// `path`, `query`, `header` or `body`.
    pub place: String,
    pub about: String,
    /// Its schema, without references.
    pub schema: Value,
    /// Whether its type is an identifier.
    pub is_identifier: bool,
    /// A value, as JSON.
    pub sample: Value,
}

/// What a success means, and what an error means that follows an attempt which may have been
/// carried out. Each has a name and a meaning.
pub struct Outcome {
    pub done: (String, String),
    pub after_retry: (String, String),
    /// The variants of the codes of the error.
    pub codes: Vec<String>,
}

/// Where an operation has its pages.
pub struct Pages {
    /// The parameter that says which page.
    pub cursor: String,
    /// The member of the page with the records, and the one with the cursor of the next page.
    pub items: String,
    pub next: String,
    /// The type of a record.
    pub item: String,
    /// The name of the list.
    pub name: String,
}

/// An error.
pub struct Failure {
    pub status: String,
    /// The variant and the text of its code, unless it has none.
    pub code: Option<(String, String)>,
    pub about: String,
}

/// A response, as the test server answers it.
pub struct TestResponse {
    pub status: String,
    /// The headers that it always has, or has where the server says so, with examples.
    pub headers: Vec<(String, String)>,
}

impl Operation {
    /// The parameters of its method: those without which there is no request.
    pub fn required(&self) -> impl Iterator<Item = &Parameter> {
        self.shown().filter(|of| !of.argument.is_optional)
    }

    /// The parameters that may be left out.
    pub fn optional(&self) -> impl Iterator<Item = &Parameter> {
        self.shown().filter(|of| of.argument.is_optional)
    }

    /// All that a caller sets.
    pub fn shown(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|of| !(self.is_conditional && of.is_if_none_match()))
    }

    /// Whether it is a request with options, which is sent by a method of its own.
    pub fn is_request(&self) -> bool {
        self.optional().next().is_some()
    }
}

impl Parameter {
    /// Whether it is what makes a request conditional.
    pub fn is_if_none_match(&self) -> bool {
        self.place == "header" && self.key.eq_ignore_ascii_case("if-none-match")
    }
}
