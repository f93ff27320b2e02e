//! Writes the types of each operation, and the trait of the handlers.

use super::{comment, errors, rust_type, schema_type, types};
use crate::model::{Contract, Operation, ParameterSet, ResponseHeader, Success};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

pub fn types(contract: &Contract, operation: &Operation) -> TokenStream {
    let sets = operation.parameters.iter().map(parameters);
    let successes = successes(operation);
    let errors = errors::operation_errors(contract, operation);
    quote! { #(#sets)* #successes #errors }
}

fn parameters(set: &ParameterSet) -> TokenStream {
    let (name, fields) = (&set.record.name, &set.record.fields);
    let location = format_ident!("{}", set.location.as_str());
    let record = types::parameter_record(&set.record);
    let keys = fields.iter().map(|field| &field.key);
    let rules: Vec<_> = fields.iter().map(|field| types::rule(&field.key, &field.ty)).collect();
    let statics = rules.iter().map(|(_, pattern)| pattern);
    let reads = fields.iter().zip(&rules).map(|(field, (rule, _))| {
        let (member, key) = (&field.name, &field.key);
        let default = field.default.as_ref().map(|default| quote!(.unwrap_or(#default)));
        match field.is_required {
            true => quote!(#member: sent.required(#key, &#rule)?),
            false => quote!(#member: sent.optional(#key, &#rule)? #default),
        }
    });
    quote! {
        #record

        impl Parameters for #name {
            const LOCATION: Location = Location::#location;
            const NAMES: &'static [&'static str] = &[#(#keys),*];

            fn read(sent: &SentParameters<'_>) -> Result<Self, Invalid> {
                #(#statics)*
                Ok(#name { #(#reads),* })
            }
        }
    }
}

fn successes(operation: &Operation) -> TokenStream {
    let Some(first) = operation.successes.first() else { return TokenStream::new() };
    let name = format_ident!("{}Success", operation.type_name);
    let body = first.body.as_ref().map_or(quote!(NoContent), schema_type);
    let (status, text) = (&first.status, &first.description);
    let variants = operation.successes.iter().enumerate().map(|(index, success)| {
        // Give the first variant no comment, because the generated constant `DESCRIPTION` already
        // has its description.
        let about = (index > 0).then(|| comment(&success.description, 4));
        let variant = success_variant(success);
        quote!(#about #variant)
    });
    let arms = operation.successes.iter().map(|success| {
        let (variant, status) = (&success.name, &success.status);
        let response = match &success.body {
            Some(_) => quote!(body.into_response(StatusCode::#status)),
            None => quote!(Ok(empty_response(StatusCode::#status))),
        };
        let body = success.body.as_ref().map(|_| quote!(body,));
        if success.headers.is_empty() {
            return match success.body {
                Some(_) => quote!(#name::#variant(body) => #response,),
                None => quote!(#name::#variant => #response,),
            };
        }
        let names = success.headers.iter().map(|header| &header.name);
        let headers =
            success.headers.iter().map(|ResponseHeader { name, key, is_required, .. }| {
                let key = key.to_lowercase();
                match is_required {
                    true => quote!((#key, Some(#name))),
                    false => quote!((#key, #name)),
                }
            });
        quote!(#name::#variant { #body #(#names),* } => with_headers(#response, [#(#headers),*]),)
    });
    quote! {
        #[derive(Debug)]
        pub enum #name { #(#variants)* }

        impl Success for #name {
            type Body = #body;
            const STATUS: StatusCode = StatusCode::#status;
            const DESCRIPTION: &'static str = #text;

            fn into_response(self) -> Result<Response<Body>, Failure> {
                match self { #(#arms)* }
            }
        }
    }
}

fn success_variant(success: &Success) -> TokenStream {
    let name = &success.name;
    let body = success.body.as_ref().map(rust_type);
    if success.headers.is_empty() {
        return match body {
            Some(body) => quote!(#name(Json<#body>),),
            None => quote!(#name,),
        };
    }
    let body = body.map(|body| quote!(body: Json<#body>,));
    let headers = success.headers.iter().map(|header| {
        let about = header.description.as_ref();
        let about = about.map(|text| comment(&format!("`{}`: {text}", header.key), 8));
        let name = &header.name;
        match header.is_required {
            true => quote!(#about #name: HeaderValue,),
            false => quote!(#about #name: Option<HeaderValue>,),
        }
    });
    quote!(#name { #body #(#headers)* },)
}

pub fn handlers(contract: &Contract) -> TokenStream {
    let methods = contract.operations.iter().map(|operation| {
        let Operation { method, path, method_name, type_name, .. } = operation;
        let texts = [operation.summary.clone(), Some(format!("`{method} {path}`"))];
        let texts = texts.into_iter().flatten().chain(operation.description.clone());
        let about = comment(&texts.collect::<Vec<_>>().join("\n\n"), 4);
        let sets = operation.parameters.iter().map(|set| {
            let (part, ty) = (argument_name(set), &set.record.name);
            quote!(#part: #ty,)
        });
        let body = operation.body.as_ref().map(rust_type).map(|ty| quote!(body: #ty,));
        let [success, error] = ["Success", "Error"].map(|end| format_ident!("{type_name}{end}"));
        quote! {
            #about
            fn #method_name(request: Request<'_, Self::Context, Self::Caller>, #(#sets)* #body)
                -> impl Future<Output = Result<#success, #error>> + Send;
        }
    });
    quote! {
        /// The operations that a server implements, one method each. The parameters are already
        /// validated. A method returns a success or one of the operation's documented errors.
        pub trait Api: Sized + Send + Sync + 'static {
            /// The state that handlers share.
            type Context: ServerContext;
            /// The type that describes who sent a request. The middleware adds a value of this type
            /// to the request's extensions.
            type Caller: Send + Sync + 'static;

            /// Adds headers to the response for a documented error. Does nothing by default.
            fn error_headers(_status: StatusCode, _code: &str, _headers: &mut HeaderMap) {}

            #(#methods)*
        }
    }
}

pub fn argument_name(set: &ParameterSet) -> proc_macro2::Ident {
    format_ident!("{}", set.location.as_str().to_lowercase())
}
