//! Writes a type for the requests of each operation, with a setter for each optional parameter.
//!
//! Progenitor's own builders borrow the client, so a stream or a task could not own a builder. The
//! builders also report an invalid value late, when the request is sent.

use super::for_rust::ProgenitorInput;
use crate::names::{pascal, snake};
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use serde_json::Value;
use syn::{
    FnArg, GenericArgument, ImplItem, ImplItemFn, Item, Pat, PathArguments, ReturnType, Type,
};

struct Parameter {
    name: Ident,
    /// The owned type of the parameter's value, without `Option`.
    ty: Type,
    is_required: bool,
    is_reference: bool,
}

pub fn request_types(file: &syn::File, input: &ProgenitorInput) -> TokenStream {
    let blocks = file.items.iter().filter_map(|item| match item {
        Item::Impl(block) if block.trait_.is_none() => Some(&block.items),
        _ => None,
    });
    let methods = blocks.flatten().filter_map(|item| match item {
        ImplItem::Fn(method) if method.sig.asyncness.is_some() => Some(method),
        _ => None,
    });
    methods.filter_map(|method| request_type(method, input)).collect()
}

fn request_type(method: &ImplItemFn, input: &ProgenitorInput) -> Option<TokenStream> {
    let operation = &method.sig.ident;
    let id = operation.to_string();
    let name = pascal(&id)?;
    let output = &method.sig.output;
    let ReturnType::Type(_, result) = output else { return None };
    let value = type_argument(type_argument(result, "Result")?, "ResponseValue")?;
    let parameters: Vec<_> = method.sig.inputs.iter().filter_map(parameter).collect();
    let (required, optional): (Vec<_>, Vec<_>) =
        parameters.iter().partition(|parameter| parameter.is_required);

    let fields = parameters.iter().map(|Parameter { name, ty, is_required, .. }| {
        if *is_required { quote!(#name: #ty) } else { quote!(pub(crate) #name: Option<#ty>) }
    });
    let arguments = required.iter().map(|Parameter { name, ty, .. }| quote!(#name: impl Into<#ty>));
    let (set, unset) = (required.iter().map(|of| &of.name), optional.iter().map(|of| &of.name));
    let passed = parameters.iter().map(pass);
    let setters = optional.iter().map(|parameter| setter(&id, parameter, input));
    let identifiers = parameters.iter().filter(|of| is_identifier(&of.ty, input)).map(|of| {
        let name = &of.name;
        match of.is_required {
            true => quote!(, #name = i64::from(self.#name)),
            false => quote!(, #name = self.#name.map(i64::from)),
        }
    });
    // Only request types whose parameters callers can set need a comment. Callers do not see the
    // other types, because methods of the client send those requests themselves.
    let about = optional.iter().any(|parameter| !is_header(&id, parameter, input)).then(|| {
        let about = format!(" A request of `{id}`. Parameters that are not set are not sent.");
        quote!(#[doc = #about])
    });
    Some(quote! {
        #about
        #[derive(Clone, Debug)]
        #[must_use = "a request does nothing until it is sent"]
        pub struct #name {
            client: Client,
            #(#fields,)*
        }
        impl #name {
            pub(crate) fn new(client: &Client, #(#arguments),*) -> Self {
                Self { client: client.clone(), #(#set: #set.into(),)* #(#unset: None,)* }
            }
            #(#setters)*
        }
        impl crate::request::Request for #name {
            type Value = #value;
            fn call(&mut self) -> &mut crate::call::Call {
                &mut self.client.inner
            }
            fn span(&self) -> crate::request::Span {
                crate::request::call_span!(#id #(#identifiers)*)
            }
            async fn execute(self) #output {
                self.client.#operation(#(#passed),*).await
            }
        }
    })
}

/// Returns the setter of an optional parameter. The setter of a header is not public, because only
/// handwritten methods of the client set headers.
fn setter(operation: &str, parameter: &Parameter, input: &ProgenitorInput) -> TokenStream {
    let Parameter { name, ty, .. } = parameter;
    let is_header = is_header(operation, parameter, input);
    let description = parameter_text(operation, parameter, input, "description");
    let docs = description.lines().filter(|_| !is_header).map(|line| format!(" {line}"));
    let visibility = if is_header { quote!(pub(crate)) } else { quote!(pub) };
    quote! {
        #(#[doc = #docs])*
        #visibility fn #name(mut self, #name: impl Into<#ty>) -> Self {
            self.#name = Some(#name.into());
            self
        }
    }
}

fn is_header(operation: &str, parameter: &Parameter, input: &ProgenitorInput) -> bool {
    parameter_text(operation, parameter, input, "in") == "header"
}

fn parameter_text<'i>(
    operation: &str,
    parameter: &Parameter,
    input: &'i ProgenitorInput,
    key: &str,
) -> &'i str {
    let documented = documented_parameter(&input.document, operation, &parameter.name);
    documented.and_then(|of| of.get(key)?.as_str()).unwrap_or_default()
}

/// Finds a parameter in the document by the Rust names of the operation and the parameter.
fn documented_parameter<'d>(
    document: &'d Value,
    operation: &str,
    parameter: &Ident,
) -> Option<&'d Value> {
    let has_name = |value: &Value, key: &str, name: &str| {
        let text = value.get(key).and_then(Value::as_str);
        text.and_then(snake).is_some_and(|rust| rust == name)
    };
    let paths = document.get("paths").and_then(Value::as_object);
    let operations = paths.into_iter().flatten().filter_map(|(_, path)| path.as_object()).flatten();
    let (_, operation) =
        operations.into_iter().find(|(_, value)| has_name(value, "operationId", operation))?;
    let parameters = operation.get("parameters").and_then(Value::as_array);
    parameters.into_iter().flatten().find(|value| has_name(value, "name", &parameter.to_string()))
}

fn parameter(argument: &FnArg) -> Option<Parameter> {
    let FnArg::Typed(argument) = argument else { return None };
    let Pat::Ident(name) = &*argument.pat else { return None };
    let inner = type_argument(&argument.ty, "Option");
    let (ty, is_reference) = match inner.unwrap_or(&argument.ty) {
        Type::Reference(reference) => (&*reference.elem, true),
        other => (other, false),
    };
    let is_text = matches!(ty, Type::Path(path) if path.path.is_ident("str"));
    Some(Parameter {
        name: name.ident.clone(),
        ty: if is_text { syn::parse_quote!(String) } else { ty.clone() },
        is_required: inner.is_none(),
        is_reference,
    })
}

/// Returns the expression that passes a field to progenitor's method.
fn pass(Parameter { name, ty, is_required, is_reference }: &Parameter) -> TokenStream {
    let is_text = matches!(ty, Type::Path(path) if path.path.is_ident("String"));
    match (is_required, is_reference) {
        (_, false) => quote!(self.#name),
        (true, true) => quote!(&self.#name),
        (false, true) if is_text => quote!(self.#name.as_deref()),
        (false, true) => quote!(self.#name.as_ref()),
    }
}

fn is_identifier(ty: &Type, input: &ProgenitorInput) -> bool {
    let Type::Path(path) = ty else { return false };
    let name = path.path.segments.last().map(|segment| segment.ident.to_string());
    name.is_some_and(|name| input.identifiers.contains(&name))
}

/// For the name `Option` and the type `Option<T>`, returns `T`.
fn type_argument<'t>(ty: &'t Type, name: &str) -> Option<&'t Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}
