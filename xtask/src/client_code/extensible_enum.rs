//! Extensible enums of the client: the values that the document lists in
//! `x-extensible-enum`, with their descriptions, and a variant for all others.

use anyhow::{Context, bail};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use serde_json::Value;

/// A property whose values are an extensible enum.
pub(super) struct ExtensibleEnum {
    /// The generated module, which holds the enum and its spellings.
    pub module: String,
    pub name: String,
    /// What a value is called, such as `code`.
    pub noun: String,
    /// What the module holds.
    pub about: String,
    /// The paragraphs above the enum.
    pub docs: Vec<String>,
    /// The property: its schema, and where that is, for messages.
    pub schema: Value,
    pub place: String,
}

impl ExtensibleEnum {
    /// The generated module.
    pub(super) fn code(&self) -> anyhow::Result<TokenStream> {
        let listed = self.schema.get("x-extensible-enum").and_then(Value::as_array);
        let listed = listed.with_context(|| format!("{} has no x-extensible-enum", self.place))?;
        let texts = listed.iter().map(|text| text.as_str().context("a value is not a text"));
        let texts: Vec<&str> = texts.collect::<anyhow::Result<_>>()?;
        let names = texts.iter().map(|text| variant(text)).collect::<anyhow::Result<Vec<_>>>()?;
        let meanings = texts.iter().map(|text| {
            let meaning = self.schema.pointer(&format!("/x-enumDescriptions/{text}"));
            let meaning = meaning.and_then(Value::as_str).unwrap_or_default();
            format!(" `{text}`. {meaning}").trim_end().to_string()
        });
        let (module, name) = (format_ident!("{}", self.module), format_ident!("{}", self.name));
        let (about, docs, count) = (&self.about, &self.docs, texts.len());
        let unknown = format!(" A {} that this version of the client does not know.", self.noun);
        let known = format!(" Each known {} with its spelling, for both directions.", self.noun);
        Ok(quote! {
            #[doc = #about]
            pub mod #module {
                #(#[doc = #docs])*
                #[derive(Clone, Debug, PartialEq, Eq, Hash)]
                #[non_exhaustive]
                pub enum #name {
                    #(#[doc = #meanings] #names,)*
                    #[doc = #unknown]
                    Other(String),
                }

                #[doc = #known]
                pub(crate) const KNOWN: [(#name, &str); #count] = [
                    #((#name::#names, #texts),)*
                ];
            }
        })
    }
}

/// `order_not_found` as `OrderNotFound`.
fn variant(text: &str) -> anyhow::Result<proc_macro2::Ident> {
    let is_plain = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_lowercase())
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if text == "other" || !text.split('_').all(is_plain) {
        bail!(
            "the value {text:?} cannot name a variant of an enum: use the form of order_not_found"
        );
    }
    let capital = |word: &str| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    };
    Ok(format_ident!("{}", text.split('_').map(capital).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with_codes(codes: Value) -> anyhow::Result<String> {
        let text = |text: &str| text.to_string();
        let codes = ExtensibleEnum {
            module: text("codes"),
            name: text("ErrorCode"),
            noun: text("code"),
            about: text(" Codes."),
            docs: vec![text(" A code.")],
            schema: json!({ "x-extensible-enum": codes, "x-enumDescriptions": { "a_b2": "Why." } }),
            place: text("here"),
        };
        Ok(codes.code()?.to_string())
    }

    #[test]
    fn each_code_is_a_variant_with_its_description_and_its_text() {
        let code = with_codes(json!(["a_b2", "c"])).unwrap();
        for expected in ["\" `a_b2`. Why.\"", "AB2 ,", "(ErrorCode :: C , \"c\")", "; 2usize]"] {
            assert!(code.contains(expected), "{expected}: {code}");
        }
    }

    #[test]
    fn a_list_that_is_none_and_a_code_that_is_no_name_are_refused() {
        for codes in [json!(null), json!(["Gone"]), json!(["a__b"]), json!(["other"]), json!([1])] {
            assert!(with_codes(codes.clone()).is_err(), "{codes}");
        }
    }
}
