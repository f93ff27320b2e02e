//! Writes the trait that dropshot serves, and an implementation that calls the handlers. Also
//! writes the functions that describe the API.

use super::errors::invalid_code;
use super::operations::argument_name;
use super::rust_type;
use crate::model::{Contract, Item, Operation};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

pub fn served(contract: &Contract) -> TokenStream {
    let endpoints = contract.operations.iter().map(endpoint);
    let methods = contract.operations.iter().map(method);
    let schemas: Vec<_> = contract
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Record(record) => Some(&record.name),
            Item::Enum(_) => None,
        })
        .collect();
    quote! {
        /// Adapts an [`Api`] to [`DropshotApi`], the trait that dropshot serves.
        #[derive(Debug)]
        pub struct Served<A>(PhantomData<fn() -> A>);

        /// The operations in the form that dropshot's macro reads.
        #[dropshot::api_description(module = "dropshot_api")]
        pub trait DropshotApi {
            type Context;

            #(#endpoints)*
        }

        impl<A: Api> DropshotApi for Served<A> {
            type Context = A::Context;

            #(#methods)*
        }

        /// Describes the operations to dropshot, with the methods of `A` as their handlers.
        pub fn api_description<A: Api>() -> Result<ApiDescription<A::Context>, DocumentError> {
            dropshot_api::api_description::<Served<A>>().map_err(DocumentError::new)
        }

        /// Returns the document that dropshot emits from the types above. `api/UPSTREAM.md` lists what
        /// that document lacks.
        pub fn emitted() -> Result<Value, DocumentError> {
            let api = dropshot_api::stub_api_description().map_err(DocumentError::new)?;
            crate::emission::emitted::<Schemas>(api, TITLE, VERSION)
        }

        enum Schemas {}

        impl crate::emission::Schemas for Schemas {
            fn add_to(generator: &mut SchemaGenerator) {
                #(generator.subschema_for::<#schemas>();)*
            }
        }
    }
}

fn extractors(operation: &Operation) -> TokenStream {
    let sets = operation.parameters.iter().map(|set| {
        let (part, ty) = (argument_name(set), &set.record.name);
        quote!(#part: Strict<#ty>,)
    });
    let body = match operation.body.as_ref().map(rust_type) {
        Some(body) => quote!(JsonBody<#body>),
        None => quote!(NoBody),
    };
    quote!(#(#sets)* sent: Sent<#body>)
}

fn endpoint(operation: &Operation) -> TokenStream {
    let Operation { id, method, path, method_name, tags, .. } = operation;
    let summary = operation.summary.as_ref().map(|text| {
        // Dropshot uses the first line as the summary, so the text is not wrapped.
        let text = format!(" {text}");
        quote!(#[doc = #text])
    });
    let tags = (!tags.is_empty()).then(|| quote!(tags = [#(#tags),*],));
    let deprecated = operation.is_deprecated.then(|| quote!(deprecated = true,));
    let success = format_ident!("{}Success", operation.type_name);
    let extractors = extractors(operation);
    quote! {
        #summary
        #[endpoint(operation_id = #id, method = #method, path = #path, #tags #deprecated)]
        async fn #method_name(context: RequestContext<Self::Context>, #extractors)
            -> Result<HandlerResponse<#success>, Failure>;
    }
}

fn method(operation: &Operation) -> TokenStream {
    let method_name = &operation.method_name;
    let success = format_ident!("{}Success", operation.type_name);
    let extractors = extractors(operation);
    let sets: Vec<_> = operation.parameters.iter().map(argument_name).collect();
    let body = operation.body.as_ref().map(|_| quote!(, body?.0));
    let unpacked = match operation.body {
        Some(_) => quote!(Sent { sender, body }),
        None => quote!(Sent { sender, .. }),
    };
    let call = if invalid_code(operation).is_some() {
        // The `async` block catches `?`, so that `HandlerResponse::from_result` converts the error
        // to the documented one.
        quote! {
            let answer = async { A::#method_name(request #(, #sets.0?)* #body).await };
            HandlerResponse::from_result(answer.await, A::error_headers)
        }
    } else {
        quote! {
            HandlerResponse::from_result(A::#method_name(request #(, #sets.0?)* #body).await, A::error_headers)
        }
    };
    quote! {
        async fn #method_name(context: RequestContext<A::Context>, #extractors)
            -> Result<HandlerResponse<#success>, Failure>
        {
            let #unpacked = sent;
            let request = Request::new(&context, sender.caller()?);
            #call
        }
    }
}
