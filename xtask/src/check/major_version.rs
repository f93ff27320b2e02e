//! Checks that the base URLs of each document end in its major version, such as `/v2`.

use super::inputs::{ALL_DOCUMENTS, Inputs, in_each_document};
use super::problem::{ABSENT, Fix, Problem};
use super::promises::{ADD_VERSION, BASE_PATHS, no_version};
use crate::compatibility::server_url;
use crate::documents::{DOCUMENTS, Document};
use crate::version;
use codegen::compare::pointers;
use serde_json::Value;

pub(super) fn claim(_: &Inputs) -> String {
    format!("the major versions of {ALL_DOCUMENTS} are those of every base URL")
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    in_each_document(|of| Ok(check_major_version(of, &inputs.document(of.file)?)))
}

/// Returns a problem for each base URL that does not end in the path of the document's major
/// version, such as `/v2`. Also returns a problem if `base_path` is not this path.
pub fn check_major_version(of: &Document, document: &Value) -> Vec<Problem> {
    let Document { file, base_path, .. } = *of;
    let Some(version) = version::from_document(document) else {
        return vec![no_version(file, document)];
    };
    let path = format!("/v{}", version.major);
    let others = DOCUMENTS.iter().filter(|other| other.file != file);
    let fix = |place: &str| match others.clone().find(|other| other.base_path == path) {
        Some(other) => format!(
            "undo the change of info.version to {version}, because {path} is {}: for a breaking \
             change, see {ADD_VERSION}",
            other.file
        ),
        None => format!(
            "make {place} end in {path}, or undo the change of info.version to {version}: the \
             path changes with each major version, and with nothing else"
        ),
    };
    let servers = pointers(document).into_iter().filter(|pointer| pointer.ends_with("/servers"));
    let lists = servers.filter_map(|pointer| {
        let list = document.pointer(&pointer)?.as_array()?;
        Some(
            list.iter()
                .enumerate()
                .map(move |(index, server)| (format!("{pointer}/{index}/url"), server_url(server))),
        )
    });
    let mut urls: Vec<_> = lists.flatten().collect();
    if document.get("servers").is_none() {
        urls.push(("/servers".to_string(), ABSENT.to_string()));
    }
    let problem = |place: String, found: String, fix: String| Problem {
        place,
        expected: format!("a path that ends in {path}"),
        found,
        reasons: vec![format!("info.version is {version}")],
        fix: Fix::ByHand(fix),
    };
    let wrong = urls.into_iter().filter(|(_, url)| !url.ends_with(&path));
    let mut problems: Vec<_> = wrong
        .map(|(pointer, url)| problem(format!("{file}#{pointer}"), url, fix("the URL")))
        .collect();
    if base_path != path {
        problems.push(problem(
            BASE_PATHS.to_string(),
            base_path.to_string(),
            fix(&format!("the name of {file}'s row")),
        ));
    }
    problems
}
