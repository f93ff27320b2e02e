//! The check that the generated clients and their README are up to date, and that each generated
//! method has a public one.

use super::inputs::Inputs;
use super::problem::Problem;
use crate::client_code::client_code;
use crate::client_readme::client_readme;
use crate::line_diff::line_diff;
use crate::repository::{CLIENT_DOCS, CLIENT_README, CLIENTS, ClientFiles};

pub(super) fn claim(_: &Inputs) -> String {
    let generated: Vec<_> = CLIENTS.iter().map(|client| client.code).collect();
    format!("{} and {CLIENT_README} are what is generated", generated.join(", "))
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let (mut problems, files) = (Vec::new(), &inputs.repository);
    for client in &CLIENTS {
        let generated = client_code(client, &inputs.document(client.document)?)?;
        let code = files.read_generated(client.code)?;
        problems.extend(problem(client.code, &code, client.document, &generated));
        problems.extend(missing_operations(client, &generated, &files.read(client.operations)?));
    }
    let readme = client_readme(&files.read(CLIENT_DOCS)?)?;
    let checked_in = files.read_generated(CLIENT_README)?;
    problems.extend(problem(CLIENT_README, &checked_in, CLIENT_DOCS, &readme));
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

/// The problem that the file `name` is not what `source` generates.
pub(super) fn problem(
    name: &str,
    checked_in: &str,
    source: &str,
    generated: &str,
) -> Option<Problem> {
    (checked_in != generated).then(|| Problem {
        place: format!("{name} (-), and what {source} generates (+)"),
        details: line_diff(checked_in, generated),
        fix: "cargo xtask generate".to_string(),
    })
}
