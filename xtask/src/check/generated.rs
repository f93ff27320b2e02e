//! The check that the generated files are up to date, and that each operation has its public
//! methods in the client.

use super::inputs::Inputs;
use super::problem::Problem;
use crate::compatibility::all_operations;
use crate::generate::generated;
use crate::line_diff::line_diff;
use crate::repository::{CLIENT_README, CLIENTS, ClientFiles, PAGES};
use anyhow::Context;
use heck::ToSnakeCase;
use serde_json::Value;
use syn::{ImplItem, Item, Visibility};

pub(super) fn claim(_: &Inputs) -> String {
    format!(
        "api/src/v1.rs and v2.rs, the clients, {CLIENT_README} and {PAGES} are what is generated"
    )
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let (mut problems, files) = (Vec::new(), &inputs.repository);
    for file in generated(files)? {
        let checked_in = files.read_generated(&file.name)?;
        if checked_in != file.text {
            problems.push(Problem {
                place: format!("{} (-), and what {} generates (+)", file.name, file.source),
                details: line_diff(&checked_in, &file.text),
                fix: "cargo xtask generate".to_string(),
            });
        }
    }
    for client in &CLIENTS {
        let (document, public) =
            (inputs.document(client.document)?, files.read(client.operations)?);
        problems.extend(wrong_methods(client, &document, &public)?);
    }
    Ok(problems)
}

/// The operations without two public methods, for async code and without, which are deprecated as
/// the operation is.
fn wrong_methods(
    client: &ClientFiles,
    document: &Value,
    public: &str,
) -> anyhow::Result<Vec<Problem>> {
    let methods = public_methods(public).with_context(|| client.operations.to_string())?;
    let problems = all_operations(document).into_iter().filter_map(|(id, operation)| {
        // As progenitor names it.
        let method = id.to_snake_case();
        let is_deprecated = operation["deprecated"] == true;
        let found = methods.iter().filter(|found| **found == (method.clone(), is_deprecated));
        let (found, not) = (found.count(), if is_deprecated { "" } else { "not " });
        (found != 2).then(|| Problem {
            place: client.operations.to_string(),
            details: vec![format!(
                "has {found} of the two methods {method}, {not}deprecated, that {} asks for: one \
                 for async code and one that blocks",
                client.document
            )],
            fix: format!("edit {}", client.operations),
        })
    });
    Ok(problems.collect())
}

/// The names of the public methods in this code, and whether they are deprecated.
fn public_methods(code: &str) -> syn::Result<Vec<(String, bool)>> {
    let items = syn::parse_file(code)?.items.into_iter();
    let of_impl = |item| if let Item::Impl(of) = item { of.items } else { Vec::new() };
    let method = |item| match item {
        ImplItem::Fn(method) if matches!(method.vis, Visibility::Public(_)) => {
            let is_deprecated = method.attrs.iter().any(|of| of.path().is_ident("deprecated"));
            Some((method.sig.ident.to_string(), is_deprecated))
        }
        _ => None,
    };
    Ok(items.flat_map(of_impl).filter_map(method).collect())
}
