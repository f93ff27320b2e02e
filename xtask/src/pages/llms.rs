//! Renders `/llms.txt`, a summary of the documents for language models, in the format of
//! <https://llmstxt.org>, with the code samples.

use super::facts::{Operation, code_title, one_line, operations, text};
use super::newest_stable;
use crate::documents::{DOCUMENTS, Document};
use serde_json::Value;
use std::fmt::Write;

/// The pointer to the meanings of the error codes.
const MEANINGS: &str = "/components/schemas/Error/properties/code/x-enumDescriptions";

/// Renders the summary. `documents` are in the order of [`DOCUMENTS`]. The server replaces the
/// placeholder `{base_urls}` with a line for each base URL.
pub fn page(documents: &[Value]) -> String {
    let (newest, document) = newest_stable(documents);
    let info = &document["info"];
    let introduction = text(&info["description"]);
    let summary = introduction.split("\n\n").next().unwrap_or_default();
    let mut page = format!("# {}\n\n> {}\n\n", text(&info["title"]), one_line(summary));
    let version = text(&info["version"]);
    let _ = writeln!(
        page,
        "Version {version}. Every request needs a key, which the operator of the service issues: \
         `Authorization: Bearer <API_KEY>`.\n"
    );
    page.push_str("{base_urls}");
    page.push_str("\n## Documents\n\n");
    for Document { module, base_path, path, reference, about, .. } in DOCUMENTS {
        let _ = writeln!(
            page,
            "- [OpenAPI document of {module}]({path}): the whole contract below `{base_path}`, for \
             programs. {about}\n\
             - [API reference of {module}]({reference}): the same for people, with plans, limits \
             and errors"
        );
    }
    page.push_str(
        "- [Changelog](/changelog): what changed in each version, also as a \
         [feed](/changelog.atom)\n",
    );
    for (version, document) in DOCUMENTS.iter().zip(documents) {
        let _ = writeln!(page, "\n## Operations below `{}`\n", version.base_path);
        for line in operation_lines(version.reference, document) {
            let _ = writeln!(page, "{line}");
        }
        let _ = writeln!(
            page,
            "\n## Programs to copy for `{path}`\n\n\
             They take the base URL, which ends in `{path}`, and the key from `BASE_URL` and \
             `API_KEY`. Python and TypeScript need no packages, TypeScript Node 22.18 or later, Rust \
             the crate store-orders-client from the Git repository of the service, whose address \
             the operator tells in place of `<REPOSITORY>`.",
            path = version.base_path
        );
        for operation in operations(document) {
            let _ = writeln!(page, "\n### {}", text(&operation.value["operationId"]));
            for (label, program) in operation.samples() {
                let _ = write!(page, "\n{label}:\n\n{program}");
            }
        }
    }
    page.push_str("\n## Errors\n\n");
    let titles = introduction.lines().filter_map(|line| line.strip_prefix("### "));
    let meanings = document.pointer(MEANINGS).unwrap_or(&Value::Null);
    for (status, code) in titles.filter_map(code_title) {
        let meaning = text(&meanings[code]);
        let _ =
            writeln!(page, "- [{code}]({}#error-{code}): {status}. {meaning}", newest.reference);
    }
    page
}

/// Renders a line for each operation.
fn operation_lines(reference: &str, document: &Value) -> Vec<String> {
    let line = |operation: Operation<'_>| {
        let (anchor, Operation { path, method, value, .. }) = (operation.anchor(), operation);
        let [id, summary, description] =
            ["operationId", "summary", "description"].map(|field| text(&value[field]));
        // The description is a sentence and a list.
        let description = description.replace("\n\n", "\n").replace('\n', "\n  ");
        format!("- [{id}]({reference}#{anchor}): `{method} {path}`. {summary}. {description}")
    };
    operations(document).into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::Repository;

    #[test]
    fn every_operation_and_every_code_has_a_line() {
        let documents = DOCUMENTS.map(|of| {
            let text = Repository::here().read(of.file).unwrap();
            serde_json::from_str::<Value>(&text).unwrap()
        });
        let page = page(&documents);
        assert!(page.starts_with("# Store Orders API\n\n> Lists and cancels the orders"), "{page}");
        let lines: Vec<_> = page.lines().filter(|line| line.starts_with("- [")).collect();
        let links = 2 * DOCUMENTS.len() + 1;
        let operations: usize = documents.iter().map(|document| operations(document).len()).sum();
        let codes = MEANINGS.replace("x-enumDescriptions", "x-extensible-enum");
        let codes = documents[0].pointer(&codes).and_then(Value::as_array).unwrap().len();
        assert_eq!(lines.len(), links + operations + codes, "{page}");
        let begins = |start: &str| lines.iter().any(|line| line.starts_with(start));
        assert!(begins(
            "- [listOrders](/docs/v1#tag/orders/GET/store/orders): `GET /store/orders`."
        ));
        assert!(begins(
            "- [listOrders](/docs/v2#tag/orders/GET/store/orders): `GET /store/orders`."
        ));
        assert!(begins("- [order_not_found](/docs/v2#error-order_not_found): 404. There is no"));
    }
}
