//! The check that the generated files are up to date, and that each generated method of a client
//! has a public one.

use super::inputs::Inputs;
use super::problem::Problem;
use crate::generate::generated;
use crate::line_diff::line_diff;
use crate::repository::{CLIENT_README, CLIENTS, ClientFiles, PAGES};

pub(super) fn claim(_: &Inputs) -> String {
    format!("the clients, {CLIENT_README} and {PAGES} are what is generated")
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
        if let Some(client) = CLIENTS.iter().find(|client| client.code == file.name) {
            let public = files.read(client.operations)?;
            problems.extend(missing_operations(client, &file.text, &public));
        }
    }
    Ok(problems)
}

/// The generated methods that have no public one of the same name.
fn missing_operations(files: &ClientFiles, generated: &str, public: &str) -> Vec<Problem> {
    let names = generated.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("pub async fn ")?;
        rest.split(['<', '(']).next()
    });
    // A method that returns a request builder is not async.
    let has_method = |name: &str| {
        let signatures = ["pub async fn", "pub fn"].map(|start| format!("{start} {name}("));
        signatures.iter().any(|signature| public.contains(signature))
    };
    let missing = names.filter(|name| !has_method(name));
    missing
        .map(|name| Problem {
            place: files.operations.to_string(),
            details: vec![format!("has no method {name}, which {} generates", files.document)],
            fix: format!("edit {}", files.operations),
        })
        .collect()
}
