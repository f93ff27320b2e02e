//! Runs progenitor on a prepared document, and adapts the code that it generates.

use super::for_rust::ProgenitorInput;
use super::requests::request_types;
use crate::refusal::{Refusal, Refusals};
use openapiv3::OpenAPI;
use progenitor::{GenerationSettings, Generator, HooksMode, InterfaceStyle, TypeImpl, TypePatch};
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use syn::{Attribute, Expr, ExprLit, Ident, ImplItem, Item, Lit, Visibility};

/// Generates the client's code. `shared` maps types that this code does not define to their paths
/// in another version's client.
pub fn generate_client(
    input: &ProgenitorInput,
    shared: &BTreeMap<String, String>,
) -> Result<String, Refusals> {
    let refusal =
        |problem: String| Refusals(vec![Refusal::new("", problem, "write it another way")]);
    let api: OpenAPI = serde_json::from_value(input.document.clone())
        .map_err(|error| refusal(format!("progenitor cannot read it: {error}")))?;
    let generate = || generator(&api, input, shared).generate_tokens(&api);
    let tokens = catch_unwind(AssertUnwindSafe(generate))
        .map_err(|panic| refusal(panic_message(panic.as_ref())))?
        .map_err(|error| refusal(format!("progenitor cannot make a client of it: {error}")))?;
    let mut file: syn::File = syn::parse2(tokens)
        .map_err(|error| refusal(format!("what progenitor makes of it is not Rust: {error}")))?;
    file.items.iter_mut().for_each(rewrite_comments);
    file.items.iter_mut().for_each(remove_debug_of_client);
    let requests = syn::parse2::<syn::File>(request_types(&file, input))
        .map_err(|error| refusal(format!("the requests are not Rust: {error}")))?;
    file.items.extend(requests.items);
    Ok(prettyplease::unparse(&file))
}

/// Configures progenitor. Progenitor does not generate the extensible enums and the types in
/// `shared`, because existing types replace them.
fn generator(
    api: &OpenAPI,
    input: &ProgenitorInput,
    shared: &BTreeMap<String, String>,
) -> Generator {
    let mut settings = GenerationSettings::new();
    settings
        .with_interface(InterfaceStyle::Positional)
        .with_inner_type(quote::quote!(crate::call::Call))
        .with_derive("PartialEq")
        .with_hooks(HooksMode::Expected);
    for name in &input.enums {
        settings.with_replacement(
            name,
            format!("crate::generated::values::{name}"),
            [TypeImpl::Display].into_iter(),
        );
    }
    for (name, path) in shared {
        settings.with_replacement(name, path, [TypeImpl::Display].into_iter());
    }
    for name in api.components.iter().flat_map(|components| components.schemas.keys()) {
        let mut patch = TypePatch::default();
        if input.identifiers.contains(name) {
            for derive in ["Copy", "Eq", "Hash", "Ord", "PartialOrd"] {
                patch.with_derive(derive);
            }
        } else {
            // Without this attribute, a new field in the API breaks programs that name all fields
            // of a type.
            patch.with_attr("#[non_exhaustive]");
        }
        settings.with_patch(name, &patch);
    }
    Generator::new(&settings)
}

/// Describes a panic. Progenitor panics on some unsupported documents, often with a bare assertion.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    let formatted = panic.downcast_ref::<String>().map(String::as_str);
    let panic = formatted.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    format!("progenitor cannot make a client of it; it panicked with: {panic}")
}

/// Removes the derived `Debug` from progenitor's client. The derived code would print the key,
/// which is in the default headers. A handwritten `Debug` takes its place.
fn remove_debug_of_client(item: &mut Item) {
    if let Item::Struct(client) = item {
        client.attrs.retain(|attribute| !attribute.path().is_ident("derive"));
        client.attrs.push(syn::parse_quote!(#[derive(Clone)]));
    }
}

/// Removes comments of methods and modules, because these items are not public in the client.
/// Removes indentation in types' comments, because rustdoc takes indented text for code.
fn rewrite_comments(item: &mut Item) {
    match item {
        Item::Mod(module) => {
            module.attrs.retain(|attribute| !attribute.path().is_ident("doc"));
            let items = module.content.iter_mut().flat_map(|(_, items)| items);
            items.for_each(rewrite_comments);
        }
        Item::Impl(implementation) => {
            for item in &mut implementation.items {
                if let ImplItem::Fn(method) = item {
                    method.attrs.retain(|attribute| !attribute.path().is_ident("doc"));
                }
            }
        }
        Item::Struct(of) => {
            of.attrs = split_doc_lines(&of.attrs, Some(&of.ident));
            of.fields.iter_mut().for_each(|field| {
                let is_public = matches!(field.vis, Visibility::Public(_));
                let name = field.ident.as_ref().filter(|_| is_public);
                field.attrs = split_doc_lines(&field.attrs, name);
            });
        }
        Item::Enum(of) => {
            of.attrs = split_doc_lines(&of.attrs, Some(&of.ident));
            let each = of.variants.iter_mut();
            each.for_each(|variant| {
                variant.attrs = split_doc_lines(&variant.attrs, Some(&variant.ident))
            });
        }
        _ => {}
    }
}

/// Splits a doc comment into lines without indentation. An item without a doc comment gets `name`
/// as its doc comment, because `missing_docs` requires one.
fn split_doc_lines(attributes: &[Attribute], name: Option<&Ident>) -> Vec<Attribute> {
    if let (None, Some(name)) = (attributes.iter().find_map(doc_text), name) {
        let about = format!(" `{name}`.");
        let doc: Attribute = syn::parse_quote!(#[doc = #about]);
        return std::iter::once(doc).chain(attributes.iter().cloned()).collect();
    }
    let lines = attributes.iter().flat_map(|attribute| match doc_text(attribute) {
        Some(text) => text
            .lines()
            .map(|line| {
                let line =
                    if line.is_empty() { String::new() } else { format!(" {}", line.trim()) };
                syn::parse_quote!(#[doc = #line])
            })
            .collect(),
        None => vec![attribute.clone()],
    });
    lines.collect()
}

fn doc_text(attribute: &Attribute) -> Option<String> {
    let value =
        attribute.meta.require_name_value().ok().filter(|meta| meta.path.is_ident("doc"))?;
    match &value.value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}
