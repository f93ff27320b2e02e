//! The subset of OpenAPI 3.0 that a document may use. The generator refuses everything else, except
//! `x-` fields. The tests that compare responses with schemas support the same subset.
//!
//! A test checks that the table in `xtask/README.md` lists the same constructs.

use serde_json::Value;

#[derive(Debug)]
pub struct Construct {
    /// The construct's name in messages and in the table of `xtask/README.md`.
    pub name: &'static str,
    pub keys: &'static [&'static str],
}

macro_rules! constructs {
    ($($id:ident: $name:literal [$($key:literal)*])*) => {
        $(#[doc = $name]
        pub const $id: Construct = Construct { name: $name, keys: &[$($key),*] };)*

        pub const CONSTRUCTS: &[&Construct] = &[$(&$id),*];
    };
}

constructs! {
    DOCUMENT: "a document"
        ["openapi" "info" "externalDocs" "servers" "security" "tags" "paths" "components"]
    INFO: "`info`" ["title" "description" "version" "contact" "license"]
    EXTERNAL_DOCS: "`externalDocs`" ["description" "url"]
    COMPONENTS: "`components`" ["schemas" "responses" "headers" "securitySchemes"]
    SECURITY_SCHEME: "a security scheme" ["type" "scheme" "bearerFormat" "description"]
    PATH: "a path" ["get" "put" "post" "delete" "patch"]
    OPERATION: "an operation"
        ["tags" "summary" "description" "operationId" "parameters" "requestBody" "responses"
         "deprecated"]
    PARAMETER: "a parameter" ["in" "name" "description" "required" "schema" "example"]
    BODY: "a request body" ["required" "content"]
    SUCCESS: "a success" ["description" "headers" "content"]
    ERROR: "an error" ["description" "headers" "content"]
    HEADER: "a header" ["description" "required" "schema" "example"]
    MEDIA_TYPE: "`application/json`" ["schema" "example" "examples"]
    EXAMPLE: "an example" ["summary" "value"]
    BOOLEAN: "a boolean" ["type" "description" "default"]
    INTEGER: "an integer" ["type" "description" "default" "format" "minimum" "maximum"]
    STRING: "a string" ["type" "description" "format" "enum" "pattern"]
    ARRAY: "an array" ["type" "description" "items"]
    ARRAY_AS_BODY: "an array as the body of a response" ["type" "title" "items"]
    OBJECT: "an object of `components`" ["type" "description" "required" "properties"]
    REFERENCE: "a reference" ["$ref"]
}

/// The formats of values, each with its type. A `uuid` is allowed only in headers.
pub const FORMATS: [(&str, &str); 4] =
    [("integer", "int32"), ("integer", "int64"), ("string", "date-time"), ("string", "uuid")];

/// Describes something in the schema that is outside the subset, or returns `None`. Does not
/// descend into properties and items.
pub fn outside_of_schema(schema: &Value) -> Option<String> {
    let kind = schema["type"].as_str().unwrap_or_default();
    let constructs: &[&Construct] = match kind {
        "boolean" => &[&BOOLEAN],
        "integer" => &[&INTEGER],
        "string" => &[&STRING],
        "array" => &[&ARRAY, &ARRAY_AS_BODY],
        "object" => &[&OBJECT],
        _ => return Some(format!("the type {}", schema["type"])),
    };
    let is_allowed = |key: &str| {
        key.starts_with("x-") || constructs.iter().any(|construct| construct.keys.contains(&key))
    };
    let mut keys = schema.as_object().into_iter().flatten().map(|(key, _)| key);
    if let Some(key) = keys.find(|key| !is_allowed(key)) {
        return Some(format!("`{key}` with the type {kind}"));
    }
    let format = schema.get("format")?;
    let is_known = FORMATS.iter().any(|(owner, known)| *owner == kind && format == known);
    (!is_known).then(|| format!("the format {format}"))
}
