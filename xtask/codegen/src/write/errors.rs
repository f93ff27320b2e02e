//! Generates the error types of operations, and the error types that operations share.

use crate::model::{Contract, Enum, ErrorVariant, Operation, SharedErrors};
use crate::names::{ident, shouty};
use heck::ToUpperCamelCase;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use std::collections::BTreeMap;

/// Writes the method `status`, which maps each error code to its HTTP status.
pub fn code_statuses(contract: &Contract, codes: &Enum) -> TokenStream {
    let operation_errors = contract.operations.iter().flat_map(|operation| &operation.errors);
    let shared = contract.shared_errors.iter().flat_map(|response| &response.variants);
    let mut by_status: BTreeMap<u16, Vec<&Ident>> = BTreeMap::new();
    for error in operation_errors.chain(shared) {
        let names = by_status.entry(error.status).or_default();
        if !names.contains(&&error.name) {
            names.push(&error.name);
        }
    }
    let arms = by_status.iter().map(|(status, names)| {
        let status = crate::names::status(*status).map(|(_, constant)| constant);
        quote!(#(Self::#names)|* => StatusCode::#status,)
    });
    let returned: usize = by_status.values().map(Vec::len).sum();
    let others = (returned < codes.values.len()).then(|| quote!(_ => return None,));
    quote! {
        /// Returns the code's HTTP status, or `None` if no operation returns the code.
        pub const fn status(self) -> Option<StatusCode> {
            Some(match self {
                #(#arms)*
                #others
            })
        }
    }
}

pub fn body(contract: &Contract) -> TokenStream {
    let (body, codes) = (&contract.error.name, &contract.error.codes);
    quote! {
        impl #body {
            fn of(code: #codes, message: String) -> #body {
                let status = code.status().unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                #body { code, message, status: status.as_u16().into() }
            }
        }

        impl ErrorBody for #body {
            fn code(&self) -> &'static str {
                self.code.as_str()
            }

            fn status(&self) -> StatusCode {
                self.code.status().unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    }
}

pub fn operation_errors(contract: &Contract, operation: &Operation) -> TokenStream {
    let name = format_ident!("{}Error", operation.type_name);
    let shared: Vec<_> = contract
        .shared_errors
        .iter()
        .filter(|shared| operation.shared.contains(&shared.name))
        .map(|shared| {
            let is_of_server = shared.variants.iter().all(|error| error.status >= 500);
            (&shared.name, nested_name(&shared.name), is_of_server)
        })
        .collect();
    let nested = shared.iter().map(|(shared, variant, _)| quote!(#variant(#shared),));
    let arms =
        shared.iter().map(|(_, variant, _)| quote!(Self::#variant(error) => error.into_body(),));
    // Handlers can return shared errors with `?` only through this `From`. Generate it only for
    // errors of the server, whose statuses are all 500 or above. A handler must construct other
    // shared errors explicitly.
    let conversions = shared.iter().filter(|(_, _, is_of_server)| *is_of_server);
    let conversions = conversions.map(|(shared, variant, _)| {
        quote! {
            impl From<#shared> for #name {
                fn from(error: #shared) -> #name {
                    #name::#variant(error)
                }
            }
        }
    });
    let invalid = invalid_code(operation).map(|code| {
        quote! {
            impl From<Invalid> for #name {
                fn from(invalid: Invalid) -> #name {
                    #name::#code(invalid.to_string())
                }
            }
        }
    });
    let error_enum =
        errors(contract, &name, &operation.errors, &quote!(#(#nested)*), &quote!(#(#arms)*));
    quote! { #error_enum #invalid #(#conversions)* }
}

/// Returns the error code for invalid requests: the operation's error with the status 400, if there
/// is exactly one. Errors that the operation shares with others do not count.
pub fn invalid_code(operation: &Operation) -> Option<&Ident> {
    let mut errors = operation.errors.iter().filter(|error| error.status == 400);
    let single = errors.next().filter(|_| errors.next().is_none());
    single.map(|error| &error.name)
}

pub fn shared(contract: &Contract, shared: &SharedErrors) -> TokenStream {
    let none = TokenStream::new();
    errors(contract, &shared.name, &shared.variants, &none, &none)
}

/// Returns the name of the variant for a shared response's errors, such as `Server` for
/// `ServerError`.
fn nested_name(shared: &Ident) -> Ident {
    let name = shared.to_string();
    let stem = name.strip_suffix("Error").filter(|stem| !stem.is_empty()).unwrap_or(&name);
    ident(&stem.to_upper_camel_case())
}

fn errors(
    contract: &Contract,
    name: &Ident,
    variants: &[ErrorVariant],
    nested: &TokenStream,
    nested_arms: &TokenStream,
) -> TokenStream {
    let (body, codes) = (&contract.error.name, &contract.error.codes);
    let entries = variants.iter().map(|error| {
        let variant = &error.name;
        quote!(#variant(String),)
    });
    let arms = variants.iter().map(|error| {
        let variant = &error.name;
        quote!(Self::#variant(message) => #body::of(#codes::#variant, message),)
    });
    let examples: Vec<_> = variants
        .iter()
        .map(|error| {
            let constant = shouty(&format!("{}_example", error.code));
            let message = &error.message;
            quote!(pub const #constant: &'static str = #message;)
        })
        .collect();
    let examples = (!examples.is_empty()).then(|| quote!(impl #name { #(#examples)* }));
    quote! {
        #[derive(Clone, Debug, PartialEq)]
        pub enum #name { #(#entries)* #nested }

        #examples

        impl DocumentedError for #name {
            type Body = #body;

            fn into_body(self) -> #body {
                match self { #(#arms)* #nested_arms }
            }
        }
    }
}
