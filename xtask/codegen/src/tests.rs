//! Checks that the generator ignores no part of a document. If the test changes a value, the
//! generated code must change, or the generator must refuse the document. [`crate::unemitted`]
//! lists the exceptions.

use crate::node::Node;
use crate::pointer::{pointer_to, put, take};
use crate::unemitted::kind_of;
use crate::{parse, read, write};
use quote::ToTokens;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A document that uses the whole supported subset of OpenAPI, and the documents of this
/// repository.
const DOCUMENTS: [(&str, &str); 3] = [
    ("subset.json", include_str!("../tests/subset/subset.json")),
    ("openapi.json", include_str!("../../../spec/openapi.json")),
    ("openapi-v2.json", include_str!("../../../spec/openapi-v2.json")),
];

/// Returns the generated code without formatting, or `None` if the document is refused.
fn code(document: &Value) -> Option<String> {
    let contract = read::contract(document).ok()?;
    Some(write::items(&contract).to_string())
}

/// Returns the pointers to all values of a document. Leaves out examples and `x-` fields, because
/// they may contain anything.
fn pointers(node: &Node<'_>) -> Vec<String> {
    let is_free = |key: &str| ["example", "value"].contains(&key) || key.starts_with("x-");
    let members = node.members().filter(|(key, _)| !is_free(key));
    let inner = members.map(|(_, member)| member).chain(node.elements());
    std::iter::once(node.pointer.clone()).chain(inner.flat_map(|inner| pointers(&inner))).collect()
}

/// Keys that a test adds to objects of a document, one at a time. OpenAPI defines each key except
/// `zz`.
const ADDITIONS: &str = r#"{
    "nullable": true, "discriminator": { "propertyName": "kind" }, "not": {}, "anyOf": [],
    "allOf": [], "oneOf": [], "multipleOf": 2, "minimum": 1, "maximum": 9,
    "exclusiveMinimum": true, "exclusiveMaximum": true, "minLength": 1, "maxLength": 9,
    "pattern": "^a$", "minItems": 1, "maxItems": 9, "uniqueItems": true, "minProperties": 1,
    "maxProperties": 9, "required": true, "enum": ["a"], "default": 1, "format": "HH:mm",
    "properties": { "zz": { "type": "string" } }, "items": { "type": "string" },
    "additionalProperties": false, "readOnly": true, "writeOnly": true, "title": "T",
    "description": "D", "deprecated": true, "example": 1, "examples": {}, "xml": {},
    "externalDocs": { "url": "https://x" }, "style": "simple", "explode": true,
    "allowReserved": true, "allowEmptyValue": true, "content": {}, "callbacks": {},
    "servers": [], "security": [{}], "summary": "S", "tags": ["zz"], "parameters": [],
    "requestBody": { "content": {} }, "links": {}, "encoding": {}, "zz": 1,
    "headers": { "X-Z": { "schema": { "type": "string" } } }
}"#;

/// Replacements for each string of a document: two formats for which there is no Rust type, and an
/// empty string.
const ODD_TEXTS: [&str; 3] = ["HH:mm", "double", ""];

/// Returns the pointers of the ignored changes. A change is ignored if the generated code stays the
/// same and [`crate::unemitted`] does not list the changed value.
fn find_ignored(document: &Value, changes: &[(String, Value)]) -> Vec<String> {
    let unchanged = code(document).unwrap();
    let is_ignored = |(place, changed): &&(String, Value)| {
        kind_of(place).is_none() && code(changed).is_some_and(|code| code == unchanged)
    };
    let parts = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|threads| {
        let parts = changes.chunks(changes.len().div_ceil(parts)).map(|part| {
            let ignored = part.iter().filter(is_ignored);
            threads.spawn(move || ignored.map(|(place, _)| place.clone()).collect::<Vec<_>>())
        });
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

/// Returns a name for the kind of value at `pointer`. The generator treats values of one kind
/// alike, so the tests change only the first value of each kind.
fn construct(document: &Value, pointer: &str) -> String {
    let mut tokens = pointer.rsplit('/').map(|token| match token.parse::<u32>() {
        Ok(0..100) => "N",
        Err(_) if token.starts_with("~1") => "PATH",
        _ => token,
    });
    let (last, parent) = (tokens.next(), tokens.next());
    let value = document.pointer(pointer).unwrap();
    let shape = ["$ref", "enum", "x-extensible-enum"].map(|key| value.get(key).is_some());
    // Omit the names of most objects, because a document chooses these names freely. Keep methods
    // and statuses, because OpenAPI defines those names.
    let last =
        last.filter(|_| !value.is_object() || ["PATH", "responses"].map(Some).contains(&parent));
    format!("{last:?} {parent:?} {shape:?} {} {}", value["type"], value["format"])
}

fn assert_none_ignored(changes: impl Fn(&Value, &str) -> Vec<(String, Value)>) {
    let mut constructs = BTreeSet::new();
    for (name, text) in DOCUMENTS {
        let document = parse(text).unwrap();
        let mut pointers = pointers(&Node::root(&document));
        pointers.retain(|pointer| constructs.insert(construct(&document, pointer)));
        let changes: Vec<_> = pointers.iter().flat_map(|at| changes(&document, at)).collect();
        assert!(!changes.is_empty(), "{name}: only {} changes", changes.len());
        let ignored = find_ignored(&document, &changes);
        assert!(ignored.is_empty(), "{name}, ignored:\n{}", ignored.join("\n"));
    }
}

#[test]
fn an_added_key_changes_the_code_or_is_refused() {
    assert_none_ignored(|document, pointer| {
        let members = document.pointer(pointer).and_then(Value::as_object);
        // The keys of these objects are names that the document chooses, so any added key would be
        // allowed.
        let is_list_of_names = pointer.ends_with("/properties") || pointer.ends_with("/paths");
        let Some(members) = members.filter(|_| !is_list_of_names) else { return Vec::new() };
        let additions: Value = serde_json::from_str(ADDITIONS).unwrap();
        let new = additions.as_object().into_iter().flatten();
        new.filter(|(key, _)| !members.contains_key(*key))
            .map(|(key, value)| {
                let place = pointer_to(pointer, key);
                let mut changed = document.clone();
                put(&mut changed, &place, value.clone()).unwrap();
                (place, changed)
            })
            .collect()
    });
}

#[test]
fn a_removed_value_changes_the_code_or_is_refused() {
    assert_none_ignored(|document, pointer| {
        let mut changed = document.clone();
        let removed = take(&mut changed, pointer);
        // Skip a value if `unemitted` lists the kinds of all its leaves, because such leaves need
        // not affect the code.
        let has_known_kind = removed.as_ref().is_some_and(|value| has_known_kind(pointer, value));
        removed
            .filter(|_| !has_known_kind)
            .map(|_| (pointer.to_string(), changed))
            .into_iter()
            .collect()
    });
}

fn has_known_kind(pointer: &str, value: &Value) -> bool {
    let node = Node { pointer: pointer.to_string(), value };
    let inner: Vec<_> = node.members().map(|(_, member)| member).chain(node.elements()).collect();
    match inner.is_empty() {
        true => kind_of(pointer).is_some(),
        false => inner.iter().all(|inner| has_known_kind(&inner.pointer, inner.value)),
    }
}

#[test]
fn a_replaced_leaf_changes_the_code_or_is_refused() {
    assert_none_ignored(|document, pointer| {
        let others = match document.pointer(pointer) {
            Some(Value::String(_)) => ODD_TEXTS.map(Value::from).to_vec(),
            Some(Value::Number(number)) => vec![json!(number.as_i64().unwrap_or(0) + 1)],
            Some(Value::Bool(flag)) => vec![json!(!flag)],
            _ => Vec::new(),
        };
        let change = |other: Value| {
            let mut changed = document.clone();
            *changed.pointer_mut(pointer)? = other;
            Some((pointer.to_string(), changed))
        };
        others.into_iter().filter_map(change).collect()
    });
}

/// [`read::NAMES_IN_USE`] must reserve the names of all imports, because a generated type must not
/// have the name of an import.
#[test]
fn no_schema_can_have_an_imported_name() {
    for (_, text) in DOCUMENTS {
        let contract = read::contract(&parse(text).unwrap()).unwrap();
        let file: syn::File = syn::parse2(write::items(&contract)).unwrap();
        for item in file.items {
            let syn::Item::Use(item) = item else { continue };
            let import = item.to_token_stream().to_string();
            let (_, names) = import.rsplit_once("::").unwrap();
            let names =
                names.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            for name in names.filter(|name| name.starts_with(|of: char| of.is_ascii_uppercase())) {
                assert!(read::NAMES_IN_USE.contains(&name), "{name}");
            }
        }
    }
}

/// A shared enum is named after the first operation that uses it. If a new operation comes first,
/// the old name must stay as an alias, because the server's code may use the old name.
#[test]
fn a_new_operation_renames_no_shared_enum() {
    let (_, text) = DOCUMENTS[2];
    let mut document: Value = serde_json::from_str(text).unwrap();
    let mut paths = document["paths"].take();
    let mut list = paths["/store/orders"]["get"].clone();
    list["operationId"] = json!("countOrders");
    document["paths"] = json!({ "/store/order-count": { "get": list } });
    document["paths"].as_object_mut().unwrap().append(paths.as_object_mut().unwrap());
    let code = code(&document).unwrap();
    assert!(code.contains("pub enum CountOrdersStatus"), "{code}");
    assert!(code.contains("pub type ListOrdersStatus = CountOrdersStatus ;"), "{code}");
    assert!(code.contains("pub status : Option < CountOrdersStatus >"), "{code}");
}
