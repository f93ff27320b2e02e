//! Renders `/llms.txt`, a summary of the documents for language models, in the format of
//! <https://llmstxt.org>. Includes the code samples.

use super::facts::{Operation, one_line, operations, text};
use super::guide::anchor;
use super::newest_stable;
use crate::documents::{DOCUMENTS, Document};
use serde_json::Value;
use std::fmt::Write;

/// Renders `/llms.txt`. `documents` are in the order of [`DOCUMENTS`]. The server replaces the
/// placeholder `{base_urls}` with a line for each base URL.
pub fn page(guide: &str, documents: &[Value]) -> String {
    let (_, document) = newest_stable(documents);
    let info = &document["info"];
    let summary = one_line(text(&info["description"]));
    let mut page = format!("# {}\n\n> {summary}\n\n", text(&info["title"]));
    let _ = writeln!(page, "Version {}.\n", text(&info["version"]));
    page.push_str("{base_urls}");
    page.push_str("\n## Documents\n\n");
    for Document { module, base_path, path, reference, about, .. } in DOCUMENTS {
        let _ = writeln!(
            page,
            "- [OpenAPI document of {module}]({path}): the whole contract below `{base_path}`, for \
             programs. {about}\n\
             - [API reference of {module}]({reference}): the same for people"
        );
    }
    page.push_str(
        "- [Changelog](/changelog): what changed in each version, also as a \
         [feed](/changelog.atom)\n",
    );
    page.push_str("\n## Guide\n\n");
    for title in guide.lines().filter_map(|line| line.strip_prefix("## ")) {
        let _ = writeln!(page, "- [{title}](/guide#{})", anchor(title));
    }
    for (version, document) in DOCUMENTS.iter().zip(documents) {
        let _ = writeln!(page, "\n## Operations below `{}`\n", version.base_path);
        for line in operation_lines(version.reference, document) {
            let _ = writeln!(page, "{line}");
        }
        let _ = writeln!(page, "\n## Programs to copy for `{}`", version.base_path);
        for operation in operations(document) {
            let _ = writeln!(page, "\n### {}", text(&operation.value["operationId"]));
            for (label, program) in operation.samples() {
                let _ = write!(page, "\n{label}:\n\n{program}");
            }
        }
    }
    page
}

fn operation_lines(reference: &str, document: &Value) -> Vec<String> {
    let line = |operation: Operation<'_>| {
        let (anchor, Operation { path, method, value, .. }) = (operation.anchor(), operation);
        let [id, summary, description] =
            ["operationId", "summary", "description"].map(|field| text(&value[field]));
        // Indent the description's list, so that Markdown nests it in the operation's list item.
        let description = description.replace("\n\n", "\n").replace('\n', "\n  ");
        format!("- [{id}]({reference}#{anchor}): `{method} {path}`. {summary}. {description}")
    };
    operations(document).into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::{GUIDE, Repository};

    #[test]
    fn every_operation_and_every_section_of_the_guide_has_a_line() {
        let documents = DOCUMENTS.map(|of| {
            let text = Repository::here().read(of.file).unwrap();
            serde_json::from_str::<Value>(&text).unwrap()
        });
        let guide = Repository::here().read(GUIDE).unwrap();
        let page = page(&guide, &documents);
        assert!(page.starts_with("# Store Orders API\n\n> Lists and cancels the orders"), "{page}");
        let lines: Vec<_> = page.lines().filter(|line| line.starts_with("- [")).collect();
        let links = 2 * DOCUMENTS.len() + 1;
        let operations: usize = documents.iter().map(|document| operations(document).len()).sum();
        let sections = guide.matches("\n## ").count();
        assert_eq!(lines.len(), links + operations + sections, "{page}");
        let begins = |start: &str| lines.iter().any(|line| line.starts_with(start));
        assert!(begins(
            "- [listOrders](/docs/v1#tag/orders/GET/store/orders): `GET /store/orders`."
        ));
        assert!(begins(
            "- [listOrders](/docs/v2#tag/orders/GET/store/orders): `GET /store/orders`."
        ));
        assert!(begins("- [Rate limits and bans](/guide#rate-limits-and-bans)"));
    }
}
