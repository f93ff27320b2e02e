//! The client's error codes: an enum of the codes that the document lists in
//! `x-extensible-enum`, with their descriptions.

use crate::repository::DOCUMENT;
use anyhow::{Context, bail};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use serde_json::Value;

/// The field of the error body that holds the code.
const CODE: &str = "/components/schemas/Error/properties/code";

/// The module `codes` of the generated client.
pub(super) fn module(document: &Value) -> anyhow::Result<TokenStream> {
    let code = document.pointer(CODE).with_context(|| format!("{DOCUMENT} has no {CODE}"))?;
    let listed = code.get("x-extensible-enum").and_then(Value::as_array);
    let listed =
        listed.with_context(|| format!("{CODE} in {DOCUMENT} has no x-extensible-enum"))?;
    let texts = listed.iter().map(|text| text.as_str().context("an error code is not a text"));
    let texts: Vec<&str> = texts.collect::<anyhow::Result<_>>()?;
    let names = texts.iter().map(|text| variant(text)).collect::<anyhow::Result<Vec<_>>>()?;
    let docs = texts.iter().map(|text| {
        let meaning = code.pointer(&format!("/x-enumDescriptions/{text}")).and_then(Value::as_str);
        format!(" `{text}`. {}", meaning.unwrap_or_default()).trim_end().to_string()
    });
    let count = texts.len();
    Ok(quote! {
        /// The error codes that the document lists.
        pub mod codes {
            /// The `code` of an error response.
            ///
            /// The API may add codes: [`Other`](Self::Other) holds those that this version
            /// of the client does not know. Treat them by their status.
            #[derive(Clone, Debug, PartialEq, Eq, Hash)]
            #[non_exhaustive]
            pub enum ErrorCode {
                #(#[doc = #docs] #names,)*
                /// A code that this version of the client does not know.
                Other(String),
            }

            /// Each known code with its spelling, for both directions.
            pub(crate) const KNOWN: [(ErrorCode, &str); #count] = [
                #((ErrorCode::#names, #texts),)*
            ];
        }
    })
}

/// `order_not_found` as `OrderNotFound`.
fn variant(text: &str) -> anyhow::Result<proc_macro2::Ident> {
    let is_plain = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_lowercase())
            && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if text == "other" || !text.split('_').all(is_plain) {
        bail!(
            "the error code {text:?} cannot name a variant of ErrorCode: use order_not_found's form"
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
        let code = json!({ "x-extensible-enum": codes, "x-enumDescriptions": { "a_b2": "Why." } });
        let document = json!({ "components": { "schemas": { "Error": { "properties": {
            "code": code,
        }}}}});
        Ok(module(&document)?.to_string())
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
