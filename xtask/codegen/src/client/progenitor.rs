//! Runs progenitor on a document.

use super::for_rust::ForRust;
use crate::refusal::{Refusal, Refusals};
use openapiv3::OpenAPI;
use progenitor::{GenerationSettings, Generator, HooksMode, InterfaceStyle, TypeImpl, TypePatch};
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use syn::{Attribute, Expr, ExprLit, Ident, ImplItem, Item, Lit};

/// Generates the code of the client. `shared` maps the types that it takes from the client of
/// another version to their paths.
pub fn core(rust: &ForRust, shared: &BTreeMap<String, String>) -> Result<String, Refusals> {
    let refused = |found: String| Refusals(vec![Refusal::new("", found, "write it another way")]);
    let api: OpenAPI = serde_json::from_value(rust.document.clone())
        .map_err(|error| refused(format!("progenitor cannot read it: {error}")))?;
    let generate = || generator(&api, rust, shared).generate_tokens(&api);
    let tokens = catch_unwind(AssertUnwindSafe(generate))
        .map_err(|panic| refused(panicked(panic.as_ref())))?
        .map_err(|error| refused(format!("progenitor cannot make a client of it: {error}")))?;
    let mut file: syn::File = syn::parse2(tokens)
        .map_err(|error| refused(format!("what progenitor makes of it is not Rust: {error}")))?;
    file.items.iter_mut().for_each(tidy);
    Ok(prettyplease::unparse(&file))
}

/// The generator, told which types are identifiers, extensible enums, or those of another
/// version. The other schemas are records.
fn generator(api: &OpenAPI, rust: &ForRust, shared: &BTreeMap<String, String>) -> Generator {
    let mut settings = GenerationSettings::new();
    settings
        .with_interface(InterfaceStyle::Positional)
        .with_inner_type(quote::quote!(crate::call::Call))
        .with_derive("PartialEq")
        .with_hooks(HooksMode::Expected);
    for of in &rust.enums {
        settings.with_replacement(
            of,
            format!("crate::values::{of}"),
            [TypeImpl::Display].into_iter(),
        );
    }
    for (name, path) in shared {
        settings.with_replacement(name, path, [TypeImpl::Display].into_iter());
    }
    for name in api.components.iter().flat_map(|components| components.schemas.keys()) {
        let mut patch = TypePatch::default();
        if rust.identifiers.contains(name) {
            for derive in ["Copy", "Eq", "Hash", "Ord", "PartialOrd"] {
                patch.with_derive(derive);
            }
        } else {
            // The API may add fields.
            patch.with_attr("#[non_exhaustive]");
        }
        settings.with_patch(name, &patch);
    }
    Generator::new(&settings)
}

/// Progenitor panics on some of what it does not support, mostly with a bare assertion.
fn panicked(panic: &(dyn Any + Send)) -> String {
    let formatted = panic.downcast_ref::<String>().map(String::as_str);
    let panic = formatted.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    format!("progenitor cannot make a client of it; it panicked with: {panic}")
}

/// Leaves out the comments of methods, which nobody outside reads, and writes those of types as
/// lines, so that rustdoc does not take what is indented in them for code.
fn tidy(item: &mut Item) {
    match item {
        Item::Mod(of) => {
            of.content.iter_mut().for_each(|(_, items)| items.iter_mut().for_each(tidy))
        }
        Item::Impl(of) => {
            for item in &mut of.items {
                if let ImplItem::Fn(method) = item {
                    method.attrs.retain(|of| !of.path().is_ident("doc"));
                }
            }
        }
        Item::Struct(of) => {
            of.attrs = in_lines(&of.attrs, Some(&of.ident));
            let each = of.fields.iter_mut();
            each.for_each(|field| field.attrs = in_lines(&field.attrs, field.ident.as_ref()));
        }
        Item::Enum(of) => {
            of.attrs = in_lines(&of.attrs, Some(&of.ident));
            let each = of.variants.iter_mut();
            each.for_each(|variant| variant.attrs = in_lines(&variant.attrs, Some(&variant.ident)));
        }
        _ => {}
    }
}

/// With a comment, which is the name where the document says nothing.
fn in_lines(attributes: &[Attribute], name: Option<&Ident>) -> Vec<Attribute> {
    if let (None, Some(name)) = (attributes.iter().find_map(text_of), name) {
        let about = format!(" `{name}`.");
        let own: Attribute = syn::parse_quote!(#[doc = #about]);
        return std::iter::once(own).chain(attributes.iter().cloned()).collect();
    }
    let lines = attributes.iter().flat_map(|attribute| match text_of(attribute) {
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

/// The text of a comment.
fn text_of(attribute: &Attribute) -> Option<String> {
    let value = attribute.meta.require_name_value().ok().filter(|of| of.path.is_ident("doc"))?;
    match &value.value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}
