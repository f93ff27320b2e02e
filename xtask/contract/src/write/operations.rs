//! The operations: the types of each, and the trait of their handlers.

use super::types::{container_rename, default_function, fields};
use crate::Contract;
use crate::errors::{ErrorBody, ErrorStatus, ErrorVariant, SharedErrors};
use crate::names::shouty;
use crate::operations::{Operation, ParameterSet, RequestBody, SuccessBody, SuccessVariant};
use crate::schemas::Field;
use crate::text::{comment, literal};

/// The parameters, successes and errors of an operation.
pub fn types(operation: &Operation, shared: &[SharedErrors]) -> String {
    let sets: String = operation.parameters.iter().map(|set| parameters(operation, set)).collect();
    sets + &successes(operation) + &errors(operation, shared)
}

fn parameters(operation: &Operation, set: &ParameterSet) -> String {
    let ParameterSet { place, record } = set;
    let name = &record.name;
    let keys: Vec<_> = record.fields.iter().map(|field| format!("{:?}", field.key)).collect();
    let reads: String = record.fields.iter().map(read).collect();
    let rename = container_rename(record);
    let serde = if rename.is_empty() {
        String::new()
    } else {
        format!("#[serde({})]\n", rename.join(", "))
    };
    let defaults: String =
        record.fields.iter().map(|field| default_function(&record.name, field)).collect();
    format!(
        "/// The {} parameters of {}.\n#[derive(Clone, Debug, PartialEq, JsonSchema)]\n{serde}\
         pub struct {name} {{\n{}}}\n\n\
         impl Parameters for {name} {{\n    const PLACE: Place = Place::{place};\n    \
         const NAMES: &'static [&'static str] = &[{}];\n\n    \
         fn read(sent: &SentParameters<'_>) -> Result<Self, Invalid> {{\n        Ok({name} {{\n{reads}        }})\n    }}\n}}\n\n{defaults}",
        place.to_lowercase(),
        operation.id,
        fields(record, false),
        keys.join(", "),
    )
}

fn read(field: &Field) -> String {
    let rule = field.shape.rule.clone().unwrap_or_default();
    let (name, key) = (&field.name, &field.key);
    let how = if field.is_required { "required" } else { "optional" };
    let default = match &field.shape.default {
        Some(default) if !field.is_required => format!(".unwrap_or({default})"),
        _ => String::new(),
    };
    format!("            {name}: sent.{how}({key:?}, &{rule})?{default},\n")
}

fn successes(operation: &Operation) -> String {
    let name = format!("{}Success", operation.type_name);
    let Some(first) = operation.successes.first() else { return String::new() };
    let body = match &first.body {
        SuccessBody::Json(ty) => ty.schema.as_str(),
        _ => "NoContent",
    };
    let arm = |of: &SuccessVariant| success_arm(&name, of);
    format!(
        "/// The successes of {}.\n#[derive(Debug)]\npub enum {name} {{\n{}}}\n\n\
         impl Success for {name} {{\n    type Body = {body};\n    \
         const STATUS: Option<StatusCode> = {};\n    \
         const DESCRIPTION: &'static str = {};\n\n    \
         fn into_response(self) -> Result<Response<Body>, Failure> {{\n        match self {{\n{}        }}\n    }}\n}}\n\n",
        operation.id,
        operation.successes.iter().map(success_variant).collect::<String>(),
        first
            .status
            .as_ref()
            .map_or("None".to_string(), |status| format!("Some(StatusCode::{status})")),
        literal(&first.description),
        operation.successes.iter().map(arm).collect::<String>(),
    )
}

fn success_variant(of: &SuccessVariant) -> String {
    let body = match &of.body {
        SuccessBody::None => None,
        SuccessBody::Json(ty) => Some(format!("Json<{}>", ty.rust)),
        SuccessBody::Other => Some("Response<Body>".to_string()),
    };
    let held = if of.headers.is_empty() {
        body.map_or(String::new(), |body| format!("({body})"))
    } else {
        let body = body.map(|body| format!("        /// The body.\n        body: {body},\n"));
        let headers = of.headers.iter().map(|header| {
            let about = match &header.description {
                Some(description) => format!("`{}`: {description}", header.key),
                None => format!("`{}`.", header.key),
            };
            let ty = if header.is_required { "HeaderValue" } else { "Option<HeaderValue>" };
            format!("{}        {}: {ty},\n", comment(8, &about), header.name)
        });
        format!(" {{\n{}    }}", body.into_iter().chain(headers).collect::<String>())
    };
    format!("{}    {}{held},\n", comment(4, &of.description), of.name)
}

fn success_arm(name: &str, of: &SuccessVariant) -> String {
    let variant = &of.name;
    let response = match (&of.body, &of.status) {
        (SuccessBody::None, status) => {
            let status = status.as_deref().unwrap_or_default();
            format!("Ok(empty_response(StatusCode::{status}))")
        }
        (_, None) => "Ok(body)".to_string(),
        (SuccessBody::Json(_), Some(status)) => {
            format!("body.into_response(StatusCode::{status})")
        }
        (SuccessBody::Other, Some(status)) => {
            format!("Ok(with_status(body, StatusCode::{status}))")
        }
    };
    let has_body = of.body != SuccessBody::None;
    if of.headers.is_empty() {
        let held = if has_body { "(body)" } else { "" };
        return format!("{name}::{variant}{held} => {response},\n");
    }
    let names = of.headers.iter().map(|header| header.name.as_str());
    let held: Vec<_> = has_body.then_some("body").into_iter().chain(names).collect();
    let headers = of.headers.iter().map(|header| {
        let value =
            if header.is_required { format!("Some({})", header.name) } else { header.name.clone() };
        format!("({:?}, {value})", header.key.to_lowercase())
    });
    format!(
        "{name}::{variant} {{ {} }} => with_headers({response}, [{}]),\n",
        held.join(", "),
        headers.collect::<Vec<_>>().join(", "),
    )
}

/// The texts of the examples of an operation's own errors.
fn examples(name: &str, operation: &Operation, shared: &[SharedErrors]) -> String {
    let is_shared = |error: &ErrorVariant| {
        shared.iter().flat_map(|of| &of.variants).any(|other| is_same(other, error))
    };
    let own = operation.errors.iter().filter(|error| !is_shared(error));
    let constant = |error: &ErrorVariant| {
        let ErrorBody::Record(_, fields) = &error.body else { return None };
        let field = lone(fields)?;
        let text = literal(error.example.get(&field.key)?.as_str()?);
        let (code, constant) = (&error.code, shouty(&error.code)?);
        Some(format!(
            "    /// The `{}` of the example of `{code}`.\n    \
             pub const {constant}_EXAMPLE: &'static str = {text};\n",
            field.key
        ))
    };
    let constants: String = own.filter_map(constant).collect();
    if constants.is_empty() { String::new() } else { format!("impl {name} {{\n{constants}}}\n\n") }
}

fn errors(operation: &Operation, shared: &[SharedErrors]) -> String {
    let name = format!("{}Error", operation.type_name);
    let variants: String = operation.errors.iter().map(variant).collect();
    let arms: String = operation.errors.iter().map(|error| arm(&name, error)).collect();
    format!(
        "/// The errors of {}{}.\n#[derive(Clone, Debug, PartialEq)]\npub enum {name} {{\n{variants}}}\n\n\
         impl DocumentedError for {name} {{\n    \
         fn into_response(self) -> Result<(&'static str, Response<Body>), Failure> {{\n        match self {{\n{arms}        }}\n    }}\n}}\n\n{}",
        operation.id,
        message_of(&operation.errors),
        examples(&name, operation, shared) + &from_invalid(&name, operation),
    )
}

/// What a variant holds, if all hold the same one member.
fn message_of(errors: &[ErrorVariant]) -> String {
    let key = |error: &ErrorVariant| match &error.body {
        ErrorBody::Record(_, fields) => lone(fields).map(|field| field.key.clone()),
        _ => None,
    };
    let first = errors.first().and_then(key);
    match first.filter(|first| errors.iter().all(|of| key(of).as_ref() == Some(first))) {
        Some(key) => format!(", each with its `{key}`"),
        None => String::new(),
    }
}

/// The errors of a response that operations share, and each such operation's of them.
pub fn shared(errors: &SharedErrors, operations: &[Operation]) -> String {
    let SharedErrors { name, key, variants } = errors;
    let has_all = |operation: &&Operation| {
        let is_had = |of: &ErrorVariant| operation.errors.iter().any(|own| is_same(own, of));
        variants.iter().all(is_had)
    };
    let conversions = operations.iter().filter(has_all).map(|operation| {
        let own = format!("{}Error", operation.type_name);
        let arm = |of: &ErrorVariant| {
            let (variant, held) = (&of.name, held(of));
            format!("            {name}::{variant}{held} => {own}::{variant}{held},\n")
        };
        let arms: String = variants.iter().map(arm).collect();
        format!(
            "impl From<{name}> for {own} {{\n    fn from(error: {name}) -> {own} {{\n        match error {{\n{arms}        }}\n    }}\n}}\n\n"
        )
    });
    format!(
        "/// The errors of the response {key}{}.\n#[derive(Clone, Debug, PartialEq)]\npub enum {name} {{\n{}}}\n\n{}",
        message_of(variants),
        variants.iter().map(variant).collect::<String>(),
        conversions.collect::<String>(),
    )
}

fn is_same(one: &ErrorVariant, other: &ErrorVariant) -> bool {
    let record = |error: &ErrorVariant| match &error.body {
        ErrorBody::Record(record, _) => Some(record.clone()),
        _ => None,
    };
    (&one.name, &one.status, &one.code) == (&other.name, &other.status, &other.code)
        && record(one) == record(other)
}

/// What a variant holds, as a pattern and as an expression.
fn held(error: &ErrorVariant) -> String {
    let ErrorBody::Record(_, fields) = &error.body else { return String::new() };
    let own = fields.iter().filter(|(_, fixed)| fixed.is_none());
    let own: Vec<_> = own.map(|(field, _)| field.name.as_str()).collect();
    match own.as_slice() {
        [] => String::new(),
        [one] => format!("({one})"),
        several => format!(" {{ {} }}", several.join(", ")),
    }
}

fn variant(error: &ErrorVariant) -> String {
    let mut held: Vec<String> = Vec::new();
    if error.status == ErrorStatus::Any {
        held.push("StatusCode".to_string());
    }
    let about = comment(4, error.about.as_deref().unwrap_or(&error.code));
    match &error.body {
        ErrorBody::Record(_, fields) if lone(fields).is_some() => {
            let ty = lone(fields).map(held_type).unwrap_or_default();
            format!("{about}    {}({ty}),\n", error.name)
        }
        ErrorBody::Record(_, fields) => {
            let own = fields.iter().filter(|(_, fixed)| fixed.is_none());
            let own: String = own
                .map(|(field, _)| {
                    let about = field.shape.description.as_deref().unwrap_or_default();
                    format!("{}        {}: {},\n", comment(8, about), field.name, held_type(field))
                })
                .collect();
            let own = if own.is_empty() { String::new() } else { format!(" {{\n{own}    }}") };
            format!("{about}    {}{own},\n", error.name)
        }
        ErrorBody::Whole(ty) => {
            held.push(ty.clone());
            format!("{about}    {}({}),\n", error.name, held.join(", "))
        }
        ErrorBody::None if held.is_empty() => format!("{about}    {},\n", error.name),
        ErrorBody::None => format!("{about}    {}({}),\n", error.name, held.join(", ")),
    }
}

/// The one member that an error holds.
fn lone(fields: &[(Field, Option<String>)]) -> Option<&Field> {
    let own: Vec<_> = fields.iter().filter(|(_, fixed)| fixed.is_none()).collect();
    match own.as_slice() {
        [(field, _)] => Some(field),
        _ => None,
    }
}

/// The type of a member that an error holds.
fn held_type(field: &Field) -> String {
    let is_optional =
        !field.is_required && field.shape.default.is_none() || field.shape.is_nullable;
    if is_optional {
        format!("Option<{}>", field.shape.ty.rust)
    } else {
        field.shape.ty.rust.clone()
    }
}

fn arm(name: &str, error: &ErrorVariant) -> String {
    let ErrorVariant { name: variant, code, .. } = error;
    let (any, status) = match &error.status {
        ErrorStatus::One(status) => (None, format!("StatusCode::{status}")),
        ErrorStatus::Any => (Some("status"), "status".to_string()),
    };
    match &error.body {
        ErrorBody::Record(record, fields) => {
            let own = held(error);
            let members = fields.iter().map(|(field, fixed)| match fixed {
                Some(value) if held_type(field).starts_with("Option") => {
                    format!("{}: Some({value})", field.name)
                }
                Some(value) => format!("{}: {value}", field.name),
                None => field.name.clone(),
            });
            let members = members.collect::<Vec<_>>().join(", ");
            format!(
                "{name}::{variant}{own} => documented_error({code:?}, {status}, &{record} {{ {members} }}),\n"
            )
        }
        ErrorBody::Whole(_) => {
            let held: Vec<_> = any.into_iter().chain(["body"]).collect();
            format!(
                "{name}::{variant}({}) => documented_error(\"\", {status}, &body),\n",
                held.join(", ")
            )
        }
        ErrorBody::None => {
            let held = any.map_or(String::new(), |status| format!("({status})"));
            format!("{name}::{variant}{held} => Ok((\"\", empty_response({status}))),\n")
        }
    }
}

/// The documented error for what is wrong with a request, if there is one: of status 400, with
/// one text.
fn from_invalid(name: &str, operation: &Operation) -> String {
    let Some(variant) = bad_request(operation) else { return String::new() };
    format!(
        "impl From<Invalid> for {name} {{\n    fn from(invalid: Invalid) -> {name} {{\n        \
         {name}::{variant}(invalid.to_string())\n    }}\n}}\n\n"
    )
}

/// The variant for a request that is not what the document asks for: it holds one text.
pub fn bad_request(operation: &Operation) -> Option<&str> {
    let is_read = !operation.parameters.is_empty() || operation.body.is_some();
    let holds_text = |error: &&ErrorVariant| match &error.body {
        ErrorBody::Record(_, fields) => {
            lone(fields).is_some_and(|field| held_type(field) == "String")
        }
        _ => false,
    };
    let is_400 =
        |error: &&ErrorVariant| error.status == ErrorStatus::One("BAD_REQUEST".to_string());
    let mut errors = operation.errors.iter().filter(|_| is_read);
    errors.find(|error| is_400(error) && holds_text(error)).map(|error| error.name.as_str())
}

/// The trait that handlers implement.
pub fn handlers(contract: &Contract<'_>) -> String {
    let has_callers = contract.operations.iter().any(|operation| operation.has_caller);
    let caller = if has_callers {
        "    /// What the middleware knows of who sent a request, and puts into its extensions.\n    \
         type Caller: Send + Sync + 'static;\n"
    } else {
        ""
    };
    let methods: String = contract.operations.iter().map(method).collect();
    format!(
        "/// What a server does: a method for each operation, which sees valid parameters and returns a\n\
         /// success or a documented error.\n\
         pub trait Api: Sized + Send + Sync + 'static {{\n    /// What handlers can reach.\n    \
         type Context: ServerContext;\n{caller}\n    \
         /// Adds the headers that depend on the status and the code of a documented error.\n    \
         fn error_headers(_status: StatusCode, _code: &str, _headers: &mut HeaderMap) {{}}\n{methods}}}\n\n"
    )
}

fn method(operation: &Operation) -> String {
    let Operation { id, type_name, method_name, method, path, .. } = operation;
    let summary = operation.texts.0.as_deref().unwrap_or(id);
    let mut about = format!("{summary}\n\n`{method} {path}`");
    if let Some(description) = &operation.texts.1 {
        about += &format!("\n\n{description}");
    }
    let caller = if operation.has_caller { "Self::Caller" } else { "()" };
    let mut arguments = vec![format!("request: Request<'_, Self::Context, {caller}>")];
    for set in &operation.parameters {
        arguments.push(format!("{}: {}", set.place.to_lowercase(), set.record.name));
    }
    arguments.extend(operation.body.iter().map(|body| match body {
        RequestBody::Json(ty) if operation.is_body_option() => format!("body: Option<{}>", ty.rust),
        RequestBody::Json(ty) => format!("body: {}", ty.rust),
        RequestBody::Other => "body: Vec<u8>".to_string(),
    }));
    format!(
        "\n{}    fn {method_name}({}) -> impl Future<Output = Result<{type_name}Success, {type_name}Error>> + Send;\n",
        comment(4, &about),
        arguments.join(", "),
    )
}
