//! Adds `#[deprecated]` to the methods of deprecated operations, which progenitor
//! does not.

use anyhow::bail;
use serde_json::Value;
use syn::visit_mut::VisitMut;
use syn::{Expr, ExprLit, File, ImplItemFn, Lit, Meta, parse_quote};

/// A deprecated operation of the document.
#[derive(Debug, PartialEq)]
pub struct Deprecated {
    /// The sentence with which progenitor documents its method: method and path,
    /// so it identifies the operation.
    sentence: String,
    name: String,
    note: String,
}

impl Deprecated {
    /// The deprecated operations of a document.
    pub fn of(document: &Value) -> Vec<Self> {
        let paths = document.get("paths").and_then(Value::as_object);
        let operations = paths.into_iter().flatten().flat_map(|(path, item)| {
            let methods = item.as_object().into_iter().flatten();
            methods.map(move |(method, operation)| (path, method, operation))
        });
        operations
            .filter(|(.., operation)| operation.get("deprecated") == Some(&Value::Bool(true)))
            .map(|(path, method, operation)| Self {
                sentence: format!("Sends a `{}` request to `{path}`", method.to_uppercase()),
                name: format!("{} {path}", method.to_uppercase()),
                note: note(operation),
            })
            .collect()
    }
}

/// The first sentence of the description, which names the date.
fn note(operation: &Value) -> String {
    let description = operation.get("description").and_then(Value::as_str).unwrap_or_default();
    match description.split_once(". ").map_or(description, |(first, _)| first) {
        "" => "Deprecated by the API.".to_string(),
        sentence => format!("{}.", sentence.trim_end_matches('.')),
    }
}

/// Adds `#[deprecated]` to the methods of these operations. An operation without
/// a method is an error.
pub fn mark_deprecated(file: &mut File, operations: &[Deprecated]) -> anyhow::Result<()> {
    let mut marker = Marker { missing: operations.iter().collect() };
    marker.visit_file_mut(file);
    match marker.missing.first() {
        Some(operation) => bail!(
            "the client has no method documented with \"{}\", so {} cannot be marked as \
             deprecated: has progenitor changed?",
            operation.sentence,
            operation.name
        ),
        None => Ok(()),
    }
}

struct Marker<'a> {
    missing: Vec<&'a Deprecated>,
}

impl VisitMut for Marker<'_> {
    fn visit_impl_item_fn_mut(&mut self, function: &mut ImplItemFn) {
        let documentation = documentation(function);
        let matching = self
            .missing
            .iter()
            .position(|operation| documentation.lines().any(|line| line == operation.sentence));
        if let Some(position) = matching {
            let note = self.missing.remove(position).note.as_str();
            function.attrs.push(parse_quote!(#[deprecated(note = #note)]));
        }
    }
}

fn documentation(function: &ImplItemFn) -> String {
    let lines = function.attrs.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_operation_without_a_method_is_an_error() {
        let document = json!({"paths": {"/a": {"get": {"deprecated": true}}}});
        let mut file: File = parse_quote!(
            impl Client {
                /// Sends a `GET` request to `/a/b`
                pub fn a_b(&self) {}
            }
        );
        let error = mark_deprecated(&mut file, &Deprecated::of(&document)).unwrap_err();
        assert!(error.to_string().contains("GET /a "), "{error}");
    }

    #[test]
    fn the_note_is_the_first_sentence() {
        assert_eq!(note(&json!({"description": "Since May: go. It can."})), "Since May: go.");
        assert_eq!(note(&json!({})), "Deprecated by the API.");
    }
}
