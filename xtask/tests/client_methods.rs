//! Checks that the client has a handwritten method for each operation. The method's comment must
//! begin with the operation's summary and description.

use crate::checkout::document;
use heck::ToSnakeCase;
use serde_json::Value;
use std::collections::BTreeMap;
use syn::{Attribute, Expr, ExprLit, ImplItem, Item, Lit, Type, Visibility};
use xtask::documents::DOCUMENTS;
use xtask::repository::Repository;

/// Returns the doc comment of each public method in a file. The keys have the form `Type::method`.
fn methods(file: &str) -> BTreeMap<String, String> {
    let code = syn::parse_file(&Repository::here().read(file).unwrap()).unwrap();
    let mut methods = BTreeMap::new();
    for item in code.items {
        let Item::Impl(block) = item else { continue };
        let Type::Path(path) = *block.self_ty else { continue };
        let name = path.path.segments.last().unwrap().ident.to_string();
        for item in block.items {
            if let ImplItem::Fn(method) = item
                && matches!(method.vis, Visibility::Public(_))
            {
                methods.insert(format!("{name}::{}", method.sig.ident), doc_text(&method.attrs));
            }
        }
    }
    methods
}

/// Returns the words of a doc comment, separated by single spaces.
fn doc_text(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| {
        let line = attribute.meta.require_name_value().ok()?;
        match &line.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if line.path.is_ident("doc") => {
                Some(text.value())
            }
            _ => None,
        }
    });
    words(&lines.collect::<Vec<_>>().join("\n"))
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn operations(document: &Value) -> Vec<&Value> {
    let paths = document["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|path| path.as_object().unwrap().values());
    operations.filter(|operation| operation["operationId"].is_string()).collect()
}

#[test]
fn each_operation_has_a_method_with_the_text_of_the_document() {
    for source in DOCUMENTS {
        let document = document(source);
        let file = format!("api/client/src{}.rs", source.base_path);
        let methods = methods(&file);
        let client = match source.module {
            "v1" => "Client".to_string(),
            later => format!("Client{}", later.to_uppercase()),
        };
        for operation in operations(&document) {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
            let id = text(&operation["operationId"]);
            let name = format!("{client}::{}", id.to_snake_case());
            let method = methods.get(&name).unwrap_or_else(|| panic!("{file} lacks {name}"));
            let summary = text(&operation["summary"]);
            let expected = words(&format!("{summary}. {}", text(&operation["description"])));
            assert!(
                method.starts_with(&expected),
                "{file}: the comment of {name} must begin with: {expected}"
            );
        }
    }
}
