//! Emits a document with dropshot from the types of a contract. `cargo xtask check` compares the
//! emitted document with the checked-in document.

use crate::operation::Failure;
use dropshot::{
    ApiDescription, ApiEndpoint, ApiEndpointVersions, HttpResponseOk, Method, StubContext, semver,
};
use schemars::JsonSchema;
use schemars::r#gen::SchemaGenerator;
use schemars::schema::Schema;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::fmt;
use std::marker::PhantomData;

/// The reason why an API could not be described, or why a document could not be emitted, parsed or
/// formatted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError(String);

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DocumentError {}

impl DocumentError {
    pub fn new(reason: impl fmt::Display) -> DocumentError {
        DocumentError(reason.to_string())
    }
}

/// All schemas of a document, including those that dropshot's operations do not refer to.
pub trait Schemas: Send + Sync + 'static {
    fn add_to(generator: &mut SchemaGenerator);
}

/// Returns the document that dropshot emits for an API, with all schemas of `S`. Leaves out the
/// tags and error responses, which dropshot emits differently from the checked-in document.
pub fn emitted<S: Schemas>(
    api: ApiDescription<StubContext>,
    title: &str,
    version: &str,
) -> Result<Value, DocumentError> {
    let mut document = openapi(&api, title, version)?;
    // Remove the parts that differ from the checked-in document. Dropshot emits tags without
    // descriptions, and a single response for all errors.
    remove(&mut document, "", "tags");
    remove(&mut document, "/components", "responses");
    remove_generic_errors(&mut document);
    let all_schemas = openapi(&schemas_api::<S>()?, title, version)?;
    if let Some(schemas) = all_schemas.pointer("/components/schemas") {
        let components = json!({ "schemas": schemas });
        document.as_object_mut().map(|members| members.insert("components".into(), components));
    }
    tidy(&mut document);
    Ok(document)
}

fn openapi(
    api: &ApiDescription<StubContext>,
    title: &str,
    version: &str,
) -> Result<Value, DocumentError> {
    let version: semver::Version = version.parse().map_err(DocumentError::new)?;
    api.openapi(title, version).json().map_err(DocumentError::new)
}

/// Returns an API with one made-up operation, whose response refers to every schema. Real
/// operations are not enough, because dropshot emits no schemas for their errors.
fn schemas_api<S: Schemas>() -> Result<ApiDescription<StubContext>, DocumentError> {
    let mut api = ApiDescription::new();
    api.register(ApiEndpoint::new_for_types::<(), Result<HttpResponseOk<AllSchemas<S>>, Failure>>(
        "schemas".to_string(),
        Method::GET,
        "application/json",
        "/schemas",
        ApiEndpointVersions::All,
    ))
    .map_err(DocumentError::new)?;
    Ok(api)
}

fn remove(document: &mut Value, pointer: &str, key: &str) {
    if let Some(members) = document.pointer_mut(pointer).and_then(Value::as_object_mut) {
        members.shift_remove(key);
    }
}

fn remove_generic_errors(document: &mut Value) {
    let paths = document.get_mut("paths").and_then(Value::as_object_mut).into_iter();
    let operations = paths.flat_map(|paths| paths.values_mut()).filter_map(Value::as_object_mut);
    for operation in operations.flat_map(|path| path.values_mut()) {
        remove(operation, "/responses", "4XX");
        remove(operation, "/responses", "5XX");
    }
}

/// Adapts the emitted document to the checked-in one. Writes 1 instead of 1.0, and removes the
/// titles that schemars derives from Rust names.
fn tidy(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let whole = number.as_f64().filter(|float| float.fract() == 0.0);
            if let (None, Some(whole)) = (number.as_i64(), whole) {
                // `f64` is exact up to 2^53, and the generator rejects bounds beyond that.
                #[expect(clippy::cast_possible_truncation, reason = "the value is whole and exact")]
                let whole = whole as i64;
                *number = whole.into();
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(tidy),
        Value::Object(members) => {
            let is_schema_of_body = members.get("title").is_some_and(Value::is_string)
                && ["type", "$ref"].iter().any(|key| members.contains_key(*key));
            if is_schema_of_body {
                members.shift_remove("title");
            }
            members.values_mut().for_each(tidy);
        }
        _ => {}
    }
}

/// A type of body that adds all schemas of `S` to the emitted document. No value of this type is
/// ever created.
struct AllSchemas<S>(PhantomData<fn() -> S>);

impl<S: Schemas> JsonSchema for AllSchemas<S> {
    fn schema_name() -> String {
        "Schemas".to_string()
    }

    fn is_referenceable() -> bool {
        false
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        S::add_to(generator);
        Schema::Bool(true)
    }
}

impl<S> Serialize for AllSchemas<S> {
    fn serialize<R: Serializer>(&self, serializer: R) -> Result<R::Ok, R::Error> {
        serializer.serialize_unit()
    }
}
