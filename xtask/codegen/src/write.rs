//! Writes the code: its parts from top to bottom.

mod constants;
mod dropshot;
mod errors;
mod operations;
mod types;

use crate::model::{Contract, EnumUse, IntegerFormat, Type};
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{format_ident, quote};
use std::collections::BTreeSet;

/// Columns of a line of a comment, beside `/// `.
const COMMENT_COLUMNS: usize = 96;

/// The items of the file, in order.
pub fn items(contract: &Contract) -> TokenStream {
    let constants = constants::constants(&contract.constants);
    let tables = contract.tables.iter().map(constants::table);
    let types = types::items(contract);
    let operations = contract.operations.iter().map(|of| operations::types(contract, of));
    let error_body = errors::body(contract);
    let shared = contract.shared_errors.iter().map(|of| errors::shared(contract, of));
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

/// Imports what the code uses. A schema cannot have one of these names: see
/// [`crate::read::NAMES_IN_USE`].
fn imports(body: &TokenStream) -> TokenStream {
    let mut used = BTreeSet::new();
    identifiers(body.clone(), &mut used);
    let mut imports = TokenStream::new();
    for (path, names) in [
        (
            quote!(crate::answer),
            &[
                "Answer",
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
                "check_length",
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
                "Day",
                "Integer",
                "Invalid",
                "List",
                "Location",
                "OneOf",
                "Parameters",
                "Pattern",
                "SentParameters",
                "Strict",
                "Text",
                "Time",
                "Uuid",
            ],
        ),
        (quote!(crate::schemas), &["Inline", "ListOf", "PlainInteger", "UuidSchema", "not_null"]),
        (quote!(chrono), &["DateTime", "NaiveDate", "Utc"]),
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

fn identifiers(tokens: TokenStream, found: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => drop(found.insert(name.to_string())),
            TokenTree::Group(group) => identifiers(group.stream(), found),
            // Types in attributes are texts, such as `with = "DateTime<Utc>"`.
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                if let Some(text) = text.filter(|text| !text.contains(' '))
                    && let Ok(ty) = syn::parse_str::<syn::Type>(text)
                {
                    identifiers(quote!(#ty), found);
                }
            }
            TokenTree::Punct(_) => {}
        }
    }
}

/// A comment, in lines that fit when they are indented by so many columns.
fn comment(text: &str, indent: usize) -> TokenStream {
    let mut lines = TokenStream::new();
    for line in text.lines() {
        let mut current = String::new();
        for word in line.split(' ') {
            let columns = current.chars().count() + 1 + word.chars().count();
            if !current.is_empty() && columns > COMMENT_COLUMNS + 1 - indent {
                lines.extend(quote!(#[doc = #current]));
                current.clear();
            }
            current = format!("{current} {word}");
        }
        let current = current.trim_end();
        lines.extend(quote!(#[doc = #current]));
    }
    lines
}

/// The comment of a description, if there is one.
fn description(text: Option<&String>, indent: usize) -> TokenStream {
    text.map(|text| comment(text, indent)).unwrap_or_default()
}

/// The type in Rust.
fn rust_type(ty: &Type) -> TokenStream {
    match ty {
        Type::Boolean => quote!(bool),
        Type::Integer { format: IntegerFormat::Bits32, .. } => quote!(i32),
        Type::Integer { .. } => quote!(i64),
        Type::Text { .. } | Type::Uuid => quote!(String),
        Type::Date => quote!(NaiveDate),
        Type::DateTime => quote!(DateTime<Utc>),
        Type::Enum(EnumUse { name, .. }) | Type::Record(name) => quote!(#name),
        Type::List { item, .. } => {
            let item = rust_type(item);
            quote!(Vec<#item>)
        }
    }
}

/// The type that has the schema.
fn schema_type(ty: &Type) -> TokenStream {
    match ty {
        Type::Integer { format: IntegerFormat::Plain, .. } => quote!(PlainInteger),
        Type::Uuid => quote!(UuidSchema),
        Type::Enum(of) if of.is_extensible => quote!(String),
        Type::Enum(of) if !of.is_component => {
            let name = &of.name;
            quote!(Inline<#name>)
        }
        Type::List { item, .. } => {
            let item = schema_type(item);
            quote!(Vec<#item>)
        }
        other => rust_type(other),
    }
}
