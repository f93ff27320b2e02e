//! Progenitor's client of a document, and what it has: its types, and the methods with their
//! parameters.

use super::Version;
use super::for_rust::ForRust;
use super::model::{Argument, Held};
use crate::refusal::{Refusal, Refusals};
use openapiv3::OpenAPI;
use progenitor::{GenerationSettings, Generator, HooksMode, InterfaceStyle, TypeImpl, TypePatch};
use quote::ToTokens;
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use syn::{
    Attribute, Expr, ExprLit, Fields, FnArg, GenericArgument, Ident, ImplItem, Item, Lit,
    PathArguments, ReturnType, Type,
};

/// Progenitor's client.
pub struct Core {
    /// Its code.
    pub code: String,
    /// What is called, by the name of the method.
    pub methods: BTreeMap<String, Method>,
    /// The names of the types.
    pub types: Vec<String>,
    /// The members of each type that is a record.
    pub records: BTreeMap<String, Vec<Member>>,
}

/// A method of progenitor's client.
pub struct Method {
    /// Its parameters, in its order.
    pub arguments: Vec<Argument>,
    /// The type of the value of its success; `()` if there is none.
    pub success: String,
}

/// A member of a record.
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: String,
    /// Whether a record without it has a value: none, or its default.
    pub is_optional: bool,
}

/// Generates the client. `shared` are the types that it takes from the module of another version.
pub fn core(
    version: &Version<'_>,
    rust: &ForRust,
    shared: &BTreeMap<String, String>,
) -> Result<Core, Refusals> {
    let refused = |found: String| Refusals(vec![Refusal::new("", found, "write it another way")]);
    let api: OpenAPI = serde_json::from_value(rust.document.clone())
        .map_err(|error| refused(format!("progenitor cannot read it: {error}")))?;
    let generate = || generator(version, &api, rust, shared).generate_tokens(&api);
    let tokens = catch_unwind(AssertUnwindSafe(generate))
        .map_err(|panic| refused(panicked(panic.as_ref())))?
        .map_err(|error| refused(format!("progenitor cannot make a client of it: {error}")))?;
    let mut file: syn::File = syn::parse2(tokens)
        .map_err(|error| refused(format!("what progenitor makes of it is not Rust: {error}")))?;
    file.items.iter_mut().for_each(tidy);
    let mut core = Core {
        code: prettyplease::unparse(&file),
        methods: BTreeMap::new(),
        types: Vec::new(),
        records: BTreeMap::new(),
    };
    for item in &file.items {
        match item {
            Item::Mod(types) if types.ident == "types" => {
                let items = types.content.iter().flat_map(|(_, items)| items);
                items.for_each(|item| read_type(&mut core, item));
            }
            Item::Impl(of) if of.trait_.is_none() => {
                for item in &of.items {
                    if let ImplItem::Fn(method) = item
                        && method.sig.asyncness.is_some()
                    {
                        core.methods.insert(plain(&method.sig.ident.to_string()), read(method));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(core)
}

/// The generator, told which types are identifiers, extensible enums, or those of another
/// version. The other schemas are records.
fn generator(
    version: &Version<'_>,
    api: &OpenAPI,
    rust: &ForRust,
    shared: &BTreeMap<String, String>,
) -> Generator {
    let mut settings = GenerationSettings::new();
    settings
        .with_interface(InterfaceStyle::Positional)
        .with_inner_type(quote::quote!(crate::call::Call))
        .with_derive("PartialEq")
        .with_hooks(HooksMode::Expected);
    for of in &rust.enums {
        let path = format!("crate::{}::values::{}", version.module, of.name);
        settings.with_replacement(&of.name, path, [TypeImpl::Display].into_iter());
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

fn read_type(core: &mut Core, item: &Item) {
    let name = match item {
        Item::Struct(of) => &of.ident,
        Item::Enum(of) => &of.ident,
        Item::Type(of) => &of.ident,
        _ => return,
    };
    core.types.push(name.to_string());
    let Item::Struct(of) = item else { return };
    let Fields::Named(fields) = &of.fields else { return };
    let members = fields.named.iter().map(|field| {
        let ty = text(&field.ty);
        let is_default = field.attrs.iter().any(|of| text(of).contains("default"));
        Member {
            name: field.ident.as_ref().map(ToString::to_string).unwrap_or_default(),
            is_optional: is_default || ty.starts_with("Option<"),
            ty,
        }
    });
    core.records.insert(name.to_string(), members.collect());
}

fn read(method: &syn::ImplItemFn) -> Method {
    let inputs = method.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(of) => Some((text(&of.pat), &*of.ty)),
        FnArg::Receiver(_) => None,
    });
    let arguments = inputs.map(|(name, ty)| {
        let (ty, is_optional) = inner(ty, "Option").map_or((ty, false), |inner| (inner, true));
        let (ty, held) = match ty {
            Type::Reference(of) if text(&of.elem) == "str" => ("String".to_string(), Held::Text),
            Type::Reference(of) => (text(&of.elem), Held::Reference),
            other => (text(other), Held::Value),
        };
        Argument { name, ty, held, is_optional }
    });
    let success = match &method.sig.output {
        ReturnType::Type(_, ty) => {
            inner(ty, "Result").and_then(|value| inner(value, "ResponseValue")).map(text)
        }
        ReturnType::Default => None,
    };
    Method { arguments: arguments.collect(), success: success.unwrap_or_else(|| "()".to_string()) }
}

/// The first argument of a generic type of this name.
fn inner<'a>(ty: &'a Type, name: &str) -> Option<&'a Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

/// A name without what keeps it apart from a keyword.
pub fn plain(name: &str) -> String {
    name.trim_start_matches("r#").trim_end_matches('_').to_string()
}

/// Code as a person writes it.
fn text(code: &impl ToTokens) -> String {
    let text = code.to_token_stream().to_string().replace(' ', "");
    [
        ("::std::string::String", "String"),
        ("::std::vec::Vec", "Vec"),
        ("::std::option::Option", "Option"),
        ("::std::collections::HashMap", "std::collections::HashMap"),
        ("::chrono::DateTime<::chrono::offset::Utc>", "DateTime<Utc>"),
        ("::chrono::naive::NaiveDate", "chrono::NaiveDate"),
        ("::serde_json::", "serde_json::"),
    ]
    .iter()
    .fold(text, |text, (from, to)| text.replace(from, to))
}
