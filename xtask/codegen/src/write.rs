//! Writes the generated code of a contract. Each submodule writes one kind of item. [`items`] puts
//! the items in the order of the generated file.

mod constants;
mod dropshot;
mod errors;
mod operations;
mod types;

use crate::model::{Contract, EnumUse, IntegerFormat, Type};
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{format_ident, quote};
use std::collections::BTreeSet;

/// The maximum number of columns of a comment line, without `/// `.
const COMMENT_COLUMNS: usize = 96;

pub fn items(contract: &Contract) -> TokenStream {
    let constants = constants::constants(&contract.constants);
    let tables = contract.tables.iter().map(constants::table);
    let types = types::items(contract);
    let operations =
        contract.operations.iter().map(|operation| operations::types(contract, operation));
    let error_body = errors::body(contract);
    let shared = contract.shared_errors.iter().map(|response| errors::shared(contract, response));
    let handlers = operations::handlers(contract);
    let served = dropshot::served(contract);
    let body = quote! {
        #constants
        #(#tables)*
        #types
        #error_body
        #(#shared)*
        #(#operations)*
        #handlers
        #served
    };
    let imports = imports(&body);
    quote! { #imports #body }
}

/// Returns `use` declarations for the names that `body` uses. [`crate::read::NAMES_IN_USE`]
/// reserves these names, so no generated type conflicts with them.
fn imports(body: &TokenStream) -> TokenStream {
    let mut used = BTreeSet::new();
    collect_identifiers(body.clone(), &mut used);
    let mut imports = TokenStream::new();
    for (path, names) in [
        (
            quote!(crate::operation),
            &[
                "HandlerResponse",
                "CheckedBody",
                "DocumentedError",
                "ErrorBody",
                "Failure",
                "Json",
                "JsonBody",
                "NoBody",
                "NoContent",
                "Request",
                "Sent",
                "Success",
                "check_member",
                "empty_response",
                "with_headers",
            ][..],
        ),
        (quote!(crate::emission), &["DocumentError"]),
        (
            quote!(crate::parameters),
            &[
                "Boolean",
                "Integer",
                "Invalid",
                "Location",
                "OneOf",
                "Parameters",
                "Pattern",
                "SentParameters",
                "Strict",
                "Text",
                "Time",
            ],
        ),
        (quote!(crate::schemas), &["Inline", "PlainInteger", "not_null"]),
        (quote!(chrono), &["DateTime", "Utc"]),
        (quote!(dropshot), &["ApiDescription", "Body", "RequestContext", "ServerContext"]),
        (quote!(http), &["HeaderMap", "HeaderValue", "Response", "StatusCode"]),
        (quote!(schemars), &["JsonSchema"]),
        (quote!(schemars::r#gen), &["SchemaGenerator"]),
        (quote!(serde), &["Deserialize", "Serialize"]),
        (quote!(serde_json), &["Value"]),
        (quote!(std::marker), &["PhantomData"]),
    ] {
        let is_used = |name: &&&str| used.contains(**name);
        let names: Vec<Ident> =
            names.iter().filter(is_used).map(|name| format_ident!("{name}")).collect();
        if !names.is_empty() {
            imports.extend(quote! { use #path::{#(#names),*}; });
        }
    }
    imports
}

fn collect_identifiers(tokens: TokenStream, names: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => drop(names.insert(name.to_string())),
            TokenTree::Group(group) => collect_identifiers(group.stream(), names),
            // Attributes contain types as strings, such as `with = "DateTime<Utc>"`. The names in
            // these strings also count as used.
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                if let Some(text) = text.filter(|text| !text.contains(' '))
                    && let Ok(ty) = syn::parse_str::<syn::Type>(text)
                {
                    collect_identifiers(quote!(#ty), names);
                }
            }
            TokenTree::Punct(_) => {}
        }
    }
}

/// Returns a doc comment, wrapped for lines that are indented by `indent` columns.
fn comment(text: &str, indent: usize) -> TokenStream {
    let mut lines = TokenStream::new();
    for line in text.lines() {
        let mut current = String::new();
        // The Clippy lint `doc_lazy_continuation` requires the continuation lines of a list item to
        // be indented.
        let item_indent = if line.starts_with("- ") { "  " } else { "" };
        for word in line.split(' ') {
            let columns = current.chars().count() + 1 + word.chars().count();
            if !current.is_empty() && columns > COMMENT_COLUMNS + 1 - indent {
                lines.extend(quote!(#[doc = #current]));
                current = item_indent.to_string();
            }
            current = format!("{current} {word}");
        }
        let current = current.trim_end();
        lines.extend(quote!(#[doc = #current]));
    }
    lines
}

fn description(text: Option<&String>, indent: usize) -> TokenStream {
    text.map(|text| comment(text, indent)).unwrap_or_default()
}

fn rust_type(ty: &Type) -> TokenStream {
    match ty {
        Type::Boolean => quote!(bool),
        Type::Integer { format: IntegerFormat::Bits32, .. } => quote!(i32),
        Type::Integer { .. } => quote!(i64),
        Type::Text { .. } => quote!(String),
        Type::DateTime => quote!(DateTime<Utc>),
        Type::Enum(EnumUse { name, .. }) | Type::Record(name) => quote!(#name),
        Type::List(item) => {
            let item = rust_type(item);
            quote!(Vec<#item>)
        }
    }
}

/// Returns the Rust type from which dropshot emits the JSON schema.
fn schema_type(ty: &Type) -> TokenStream {
    match ty {
        Type::Integer { format: IntegerFormat::Plain, .. } => quote!(PlainInteger),
        Type::Enum(of) if of.is_extensible => quote!(String),
        Type::Enum(of) => {
            let name = &of.name;
            quote!(Inline<#name>)
        }
        Type::List(item) => {
            let item = schema_type(item);
            quote!(Vec<#item>)
        }
        other => rust_type(other),
    }
}
