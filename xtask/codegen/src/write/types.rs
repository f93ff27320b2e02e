//! Writes records and enums, and the checks of their members.

use super::{comment, description, rust_type, schema_type};
use crate::model::{Contract, Enum, EnumUse, Field, IntegerFormat, Item, Record, Type, has_bounds};
use crate::names::shouty;
use heck::{ToLowerCamelCase, ToSnakeCase};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;
use std::collections::BTreeSet;

pub fn items(contract: &Contract) -> TokenStream {
    let received = received_records(contract);
    let items = contract.items.iter().map(|item| match item {
        Item::Enum(of) => enumeration(contract, of),
        Item::Record(of) => {
            let is_received = received.contains(&of.name);
            let body_check = is_received.then(|| body_check(of, &received));
            let record = record(of, is_received);
            quote!(#record #body_check)
        }
    });
    quote!(#(#items)*)
}

/// Returns the records in request bodies, including nested ones.
fn received_records(contract: &Contract) -> BTreeSet<Ident> {
    let mut received = BTreeSet::new();
    let mut next: Vec<Ident> = contract.operations.iter().filter_map(body_record).collect();
    while let Some(name) = next.pop() {
        let fields = contract.items.iter().filter_map(|item| match item {
            Item::Record(record) if record.name == name => Some(&record.fields),
            _ => None,
        });
        next.extend(fields.flatten().filter_map(|field| inner_record(&field.ty)).cloned());
        received.insert(name);
    }
    received
}

fn body_record(operation: &crate::model::Operation) -> Option<Ident> {
    inner_record(operation.body.as_ref()?).cloned()
}

fn inner_record(ty: &Type) -> Option<&Ident> {
    match ty {
        Type::Record(name) => Some(name),
        Type::List(item) => inner_record(item),
        _ => None,
    }
}

fn record(record: &Record, is_received: bool) -> TokenStream {
    let Record { name, fields, .. } = record;
    let about = description(record.description.as_ref(), 0);
    let camel_case = rename_all(record);
    let rename = (*name != record.key).then(|| {
        let key = &record.key;
        quote!(#[serde(rename = #key)])
    });
    let fields = fields.iter().map(|of| member(of, camel_case.is_some(), is_received));
    quote! {
        #about
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #rename #camel_case
        pub struct #name { #(#fields)* }
    }
}

/// Returns `rename_all = "camelCase"` if a field needs the attribute and every field would get the
/// right name.
fn rename_all(record: &Record) -> Option<TokenStream> {
    let plain = |field: &Field| plain_name(&field.name);
    let is_camel = |field: &Field| plain(field).to_lower_camel_case() == field.key;
    let needs = record.fields.iter().any(|field| plain(field) != field.key);
    (needs && record.fields.iter().all(is_camel))
        .then(|| quote!(#[serde(rename_all = "camelCase")]))
}

fn plain_name(name: &Ident) -> String {
    name.to_string().trim_start_matches("r#").to_string()
}

fn member(field: &Field, is_renamed: bool, is_received: bool) -> TokenStream {
    let mut serde = Vec::new();
    if !is_renamed && plain_name(&field.name) != field.key {
        let key = &field.key;
        serde.push(quote!(rename = #key));
    }
    if !field.is_required {
        serde.push(quote!(default));
        if is_received {
            serde.push(quote!(deserialize_with = "not_null"));
        }
        serde.push(quote!(skip_serializing_if = "Option::is_none"));
    }
    field_tokens(field, &serde, !field.is_required)
}

fn field_tokens(field: &Field, serde: &[TokenStream], is_option: bool) -> TokenStream {
    let (name, about) = (&field.name, description(field.description.as_ref(), 4));
    let (rust, schema) = (rust_type(&field.ty), schema_type(&field.ty));
    let with = (is_option || rust.to_string() != schema.to_string()).then(|| {
        let text = schema.to_string().replace(' ', "");
        quote!(with = #text)
    });
    let schemars: Vec<_> = with.into_iter().chain(bounds(&field.ty)).collect();
    let ty = if is_option { quote!(Option<#rust>) } else { rust };
    let serde = (!serde.is_empty()).then(|| quote!(#[serde(#(#serde),*)]));
    let schemars = (!schemars.is_empty()).then(|| quote!(#[schemars(#(#schemars),*)]));
    quote!(#about #serde #schemars pub #name: #ty,)
}

pub fn parameter_record(record: &Record) -> TokenStream {
    let (name, camel_case) = (&record.name, rename_all(record));
    let fields = record.fields.iter().map(|field| {
        let mut serde = Vec::new();
        if camel_case.is_none() && plain_name(&field.name) != field.key {
            let key = &field.key;
            serde.push(quote!(rename = #key));
        }
        // Schemars reads this attribute and makes the parameter optional.
        if !field.is_required {
            serde.push(quote!(default));
        }
        let is_option = !field.is_required && field.default.is_none();
        field_tokens(field, &serde, is_option)
    });
    quote! {
        #[derive(Clone, Debug, PartialEq, JsonSchema)]
        #camel_case
        pub struct #name { #(#fields)* }
    }
}

/// Returns the bounds of an integer, or the pattern of a text, as an attribute of schemars.
fn bounds(ty: &Type) -> Option<TokenStream> {
    match ty {
        Type::Integer { min, max, .. } => {
            // Schemars writes a bound as a separate expression, where a literal without a suffix is
            // an `i32`. So larger bounds need a suffix.
            let literal = |bound| match i32::try_from(bound) {
                Ok(_) => Literal::i64_unsuffixed(bound),
                Err(_) => Literal::i64_suffixed(bound),
            };
            let [min, max] = [min, max].map(|bound| bound.map(literal));
            let min = min.map(|bound| quote!(min = #bound));
            let max = max.map(|bound| quote!(max = #bound));
            let both: Vec<_> = min.into_iter().chain(max).collect();
            (!both.is_empty()).then(|| quote!(range(#(#both),*)))
        }
        Type::Text { pattern } => pattern.as_ref().map(|pattern| quote!(regex(pattern = #pattern))),
        _ => None,
    }
}

/// Returns the code of a rule, such as `Boolean`, that checks a value of this type. If the type has
/// a regular expression, also returns a static that contains the expression.
pub fn rule(field: &str, ty: &Type) -> (TokenStream, Option<TokenStream>) {
    let mut pattern_static = None;
    let rule = match ty {
        Type::Boolean => quote!(Boolean),
        Type::DateTime => quote!(Time),
        Type::Integer { format, min, max } => {
            let ty = if *format == IntegerFormat::Bits32 { quote!(i32) } else { quote!(i64) };
            match (min, max) {
                (None, None) => quote!(Integer::<#ty>::ANY),
                _ => {
                    let [min, max] = [min, max].map(|bound| match bound {
                        Some(bound) => {
                            let bound = Literal::i64_unsuffixed(*bound);
                            quote!(Some(#bound))
                        }
                        None => quote!(None),
                    });
                    quote!(Integer::<#ty>::within(#min, #max))
                }
            }
        }
        Type::Text { pattern } => match (pattern, shouty(field)) {
            (Some(pattern), Some(name)) => {
                pattern_static = Some(quote!(static #name: Pattern = Pattern::new(#pattern);));
                quote!(Text::ANY.with_pattern(&#name))
            }
            _ => quote!(Text::ANY),
        },
        Type::Enum(EnumUse { name, .. }) => quote!(OneOf(#name::VALUES)),
        Type::Record(_) | Type::List(_) => quote!(),
    };
    (rule, pattern_static)
}

/// Writes the check of the bounds of a request body's members, because serde does not check bounds.
fn body_check(record: &Record, received: &BTreeSet<Ident>) -> TokenStream {
    let name = &record.name;
    let checks: Vec<_> = record
        .fields
        .iter()
        .filter_map(|field| {
            let (member, key) = (&field.name, &field.key);
            if inner_record(&field.ty).is_some_and(|inner| received.contains(inner)) {
                return Some(quote!(self.#member.check()?;));
            }
            if !has_bounds(&field.ty) {
                return None;
            }
            let (rule, pattern) = rule(key, &field.ty);
            let check = if field.is_required {
                quote!(check_member(#key, &self.#member, &#rule)?;)
            } else {
                quote! {
                    if let Some(value) = &self.#member {
                        check_member(#key, value, &#rule)?;
                    }
                }
            };
            Some(quote!(#pattern #check))
        })
        .collect();
    quote! {
        impl CheckedBody for #name {
            fn check(&self) -> Result<(), Invalid> {
                #(#checks)*
                Ok(())
            }
        }
    }
}

fn enumeration(contract: &Contract, of: &Enum) -> TokenStream {
    let Enum { name, aliases, values, is_extensible, .. } = of;
    let texts: Vec<_> = values.iter().map(|(_, text, _)| text).collect();
    let variants: Vec<_> = values.iter().map(|(variant, ..)| variant).collect();
    let is_snake =
        values.iter().all(|(variant, text, _)| variant.to_string().to_snake_case() == *text);
    let rename_all = is_snake.then(|| quote!(#[serde(rename_all = "snake_case")]));
    let entries = values.iter().map(|(variant, text, about)| {
        // Only extensible enums get comments, because schemars would add a closed enum's comments
        // to the emitted schema.
        let about = about.as_ref().filter(|_| *is_extensible).map(|about| comment(about, 4));
        let rename = (!is_snake).then(|| quote!(#[serde(rename = #text)]));
        quote!(#about #rename #variant,)
    });
    let schema = (!is_extensible).then(|| quote!(, JsonSchema));
    let status =
        (contract.error.codes == *name).then(|| super::errors::code_statuses(contract, of));
    quote! {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize #schema)]
        #rename_all
        pub enum #name { #(#entries)* }

        impl #name {
            pub const VALUES: &'static [(&'static str, #name)] = &[#((#texts, #name::#variants)),*];

            pub fn as_str(self) -> &'static str {
                #name::VALUES.iter().find(|(_, value)| *value == self).map_or("", |(text, _)| text)
            }

            #status
        }

        #(pub type #aliases = #name;)*
    }
}
