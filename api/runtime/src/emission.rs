//! The document as the server emits it: what dropshot makes of the types, and the facts that it
//! cannot hold.
//!
//! A fact never replaces what dropshot emits, so that types and document cannot disagree
//! unnoticed: where both have a value, the values must be equal.

use crate::answer::Failure;
use dropshot::{
    ApiDescription, ApiEndpoint, ApiEndpointVersions, HttpResponseOk, Method, StubContext, semver,
};
use schemars::JsonSchema;
use schemars::r#gen::SchemaGenerator;
use schemars::schema::Schema;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::marker::PhantomData;

/// Where dropshot is told to meet every schema. It is in no document.
const SCHEMAS_PATH: &str = "/-schemas";

/// Where the body of a request or a response has its schema.
const BODY_SCHEMA: &str = "/content/application~1json/schema";

/// Why a document could not be emitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError(String);

impl std::fmt::Display for DocumentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DocumentError {}

impl DocumentError {
    /// An error for this reason.
    pub fn new(reason: impl std::fmt::Display) -> DocumentError {
        DocumentError(reason.to_string())
    }
}

/// The schemas of a document.
pub trait Schemas: Send + Sync + 'static {
    /// Has the generator meet each of them.
    fn add_to(generator: &mut SchemaGenerator);
}

/// The document of this API, with this title, of these schemas and these facts, which are JSON of
/// the document's own shape.
pub fn document<S: Schemas>(
    mut api: ApiDescription<StubContext>,
    title: &str,
    facts: &str,
) -> Result<Value, DocumentError> {
    let schemas = ApiEndpoint::new_for_types::<(), Result<HttpResponseOk<AllSchemas<S>>, Failure>>(
        "schemas".to_string(),
        Method::GET,
        "application/json",
        SCHEMAS_PATH,
        ApiEndpointVersions::All,
    );
    api.register(schemas).map_err(|error| DocumentError(format!("{error}")))?;
    let mut document = api
        .openapi(title, semver::Version::new(0, 0, 0))
        .json()
        .map_err(|error| DocumentError(format!("dropshot emits no JSON: {error}")))?;
    drop_what_facts_say(&mut document);
    let mut facts: Value = serde_json::from_str(facts)
        .map_err(|error| DocumentError(format!("the facts are not JSON: {error}")))?;
    let root = facts.clone();
    add_parameters(&mut document, &mut facts, &root)?;
    add(&mut document, facts, "", &root)?;
    in_reading_order(&mut document);
    Ok(document)
}

/// A document as text, for people and as it is served.
pub fn text(document: &Value) -> Result<String, DocumentError> {
    serde_json::to_string_pretty(document)
        .map(|text| text + "\n")
        .map_err(|error| DocumentError(error.to_string()))
}

/// Drops what dropshot emits and means otherwise: its version, tags without texts, one response
/// for all errors, titles that are names of Rust types, that each body is required, and
/// [`SCHEMAS_PATH`].
fn drop_what_facts_say(document: &mut Value) {
    drop_member(document, "", "openapi");
    drop_member(document, "", "tags");
    drop_member(document, "/info", "version");
    drop_member(document, "/paths", SCHEMAS_PATH);
    drop_member(document, "/components", "responses");
    for operation in operations(document) {
        drop_member(operation, "/responses", "4XX");
        drop_member(operation, "/responses", "5XX");
        drop_member(operation, "/requestBody", "required");
        for message in messages(operation) {
            drop_member(message, BODY_SCHEMA, "title");
        }
    }
}

fn operations(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    let paths = document.get_mut("paths").and_then(Value::as_object_mut).into_iter();
    let paths = paths.flat_map(|paths| paths.values_mut()).filter_map(Value::as_object_mut);
    paths.flat_map(|path| path.values_mut()).filter(|operation| operation.is_object())
}

/// The body of the request and the responses.
fn messages(operation: &mut Value) -> impl Iterator<Item = &mut Value> {
    let members = operation.as_object_mut().into_iter().flatten();
    members.flat_map(|(key, member)| -> Vec<&mut Value> {
        match (key.as_str(), member) {
            ("requestBody", body) => vec![body],
            ("responses", Value::Object(responses)) => responses.values_mut().collect(),
            _ => Vec::new(),
        }
    })
}

fn drop_member(document: &mut Value, pointer: &str, key: &str) {
    if let Some(members) = document.pointer_mut(pointer).and_then(Value::as_object_mut) {
        members.shift_remove(key);
    }
}

/// Adds the facts of parameters, puts them in the document's order, and leaves those of a path to
/// the path.
fn add_parameters(
    document: &mut Value,
    facts: &mut Value,
    root: &Value,
) -> Result<(), DocumentError> {
    let paths = facts.get_mut("paths").and_then(Value::as_object_mut).into_iter().flatten();
    for (path, facts) in paths {
        let shared = facts.get("parameters").and_then(Value::as_array).cloned().unwrap_or_default();
        let methods = document.get_mut("paths").and_then(|paths| paths.get_mut(path));
        for (method, operation) in methods.and_then(Value::as_object_mut).into_iter().flatten() {
            let own = facts.get_mut(method).and_then(Value::as_object_mut);
            let own = own.and_then(|own| own.shift_remove("parameters"));
            let Some(operation) = operation.as_object_mut() else { continue };
            if own.is_none() && shared.is_empty() {
                continue;
            }
            let emitted = operation.shift_remove("parameters");
            let [emitted, own_facts] = [emitted, own.clone()].map(|list| match list {
                Some(Value::Array(list)) => list,
                _ => Vec::new(),
            });
            let place = format!("/paths/{}/{method}/parameters", escape(path));
            let merged = parameters(emitted, own_facts, &shared, &place, root)?;
            if own.is_some() || !merged.is_empty() {
                operation.insert("parameters".to_string(), merged.into());
            }
        }
    }
    Ok(())
}

/// The parameters of an operation without those of its path.
fn parameters(
    mut emitted: Vec<Value>,
    own: Vec<Value>,
    shared: &[Value],
    place: &str,
    root: &Value,
) -> Result<Vec<Value>, DocumentError> {
    // A parameter is known by these two.
    let identity = |fact: &Value| {
        let parameter = referred(fact, root).unwrap_or(fact);
        ["in", "name"].map(|key| parameter.get(key).cloned())
    };
    let mut take = |fact: &Value| {
        let found = emitted.iter().position(|parameter| identity(parameter) == identity(fact));
        let found = found.map(|index| emitted.remove(index));
        found.ok_or_else(|| DocumentError(format!("{place}: dropshot emits no {fact}")))
    };
    let is_own = |fact: &Value| own.iter().any(|own| identity(own) == identity(fact));
    for fact in shared.iter().filter(|fact| !is_own(fact)) {
        prove(&mut take(fact)?, referred(fact, root).unwrap_or(fact), place, root)?;
    }
    let mut merged = Vec::new();
    for fact in &own {
        let mut parameter = take(fact)?;
        add(&mut parameter, fact.clone(), place, root)?;
        merged.push(parameter);
    }
    merged.append(&mut emitted);
    Ok(merged)
}

/// What a reference leads to: facts have `components` whole, but for schemas.
fn referred<'f>(fact: &Value, root: &'f Value) -> Option<&'f Value> {
    root.pointer(fact.get("$ref")?.as_str()?.strip_prefix('#')?)
}

/// Adds facts to what is emitted, after which it must say the same as the facts.
fn prove(
    emitted: &mut Value,
    facts: &Value,
    place: &str,
    root: &Value,
) -> Result<(), DocumentError> {
    add(emitted, facts.clone(), place, root)?;
    if emitted == facts {
        return Ok(());
    }
    Err(DocumentError(format!("{place}: dropshot emits {emitted}, and the facts are {facts}")))
}

/// Adds facts to what is at this place of the document. A reference takes the place of what it
/// leads to.
fn add(document: &mut Value, facts: Value, place: &str, root: &Value) -> Result<(), DocumentError> {
    if let Some(target) = referred(&facts, root).filter(|_| *document != facts) {
        prove(document, target, place, root)?;
        *document = facts;
        return Ok(());
    }
    match (document, facts) {
        (Value::Object(members), Value::Object(facts)) => {
            for (key, fact) in facts {
                let place = format!("{place}/{}", escape(&key));
                match members.get_mut(&key) {
                    Some(member) => add(member, fact, &place, root)?,
                    None => drop(members.insert(key, fact)),
                }
            }
            Ok(())
        }
        (Value::Array(elements), Value::Array(facts)) if elements.len() == facts.len() => {
            elements.iter_mut().zip(facts).enumerate().try_for_each(|(index, (element, fact))| {
                add(element, fact, &format!("{place}/{index}"), root)
            })
        }
        // Dropshot writes the bounds of numbers with a point.
        (emitted @ Value::Number(_), fact) if emitted.as_f64() == fact.as_f64() => {
            *emitted = fact;
            Ok(())
        }
        (emitted, fact) if *emitted == fact => Ok(()),
        (emitted, fact) => {
            Err(DocumentError(format!("{place}: dropshot emits {emitted}, and a fact is {fact}")))
        }
    }
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Puts what facts have added between what dropshot has, where people look for it.
fn in_reading_order(document: &mut Value) {
    put_first(document, &["openapi", "info", "servers", "security", "tags", "paths", "components"]);
    for operation in operations(document) {
        put_first(operation, &["tags", "summary", "description"]);
        for schema in messages(operation).filter_map(|message| message.pointer_mut(BODY_SCHEMA)) {
            put_first(schema, &["title"]);
        }
    }
}

fn put_first(value: &mut Value, keys: &[&str]) {
    let Some(members) = value.as_object_mut() else { return };
    let first = keys.iter().filter_map(|key| Some((key.to_string(), members.shift_remove(*key)?)));
    let mut ordered: Map<_, _> = first.collect();
    ordered.append(members);
    *members = ordered;
}

/// A body that has every schema. There is no value of it.
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
