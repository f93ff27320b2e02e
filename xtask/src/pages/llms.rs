//! `/llms.txt`: the document in short, with links, for language models. Its form is that of
//! <https://llmstxt.org>.

use crate::documents::DOCUMENTS;
use serde_json::Value;
use std::fmt::Write;

/// Where a document says what each code means.
const MEANINGS: &str = "/components/schemas/Error/properties/code/x-enumDescriptions";

/// The text of the documents of all versions, the stable one first, in which `{base_urls}` stands
/// for a line for each address of the operator's servers.
pub fn page(documents: &[Value]) -> String {
    let document = documents.first().unwrap_or(&Value::Null);
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
    page.push_str(
        "\n## Documents\n\n\
         - [OpenAPI document](/openapi.json): the whole contract, for programs\n\
         - [API reference](/docs): the same for people, with plans, limits and errors\n\
         - [OpenAPI document of version 2](/openapi-v2.json): in beta, below `/v2`; its list has \
         pages, filters and the status of each order\n\
         - [API reference of version 2](/docs/v2): the same for people\n\
         - [Changelog](/changelog): what changed in each version, also as a \
         [feed](/changelog.atom)\n",
    );
    for (of, document) in DOCUMENTS.iter().zip(documents) {
        let heading = match of.is_beta {
            true => format!("Operations below `{}`, in beta", of.base_path),
            false => "Operations".to_string(),
        };
        let _ = writeln!(page, "\n## {heading}\n");
        for line in operations(of.reference, document) {
            let _ = writeln!(page, "{line}");
        }
    }
    page.push_str("\n## Errors\n\n");
    let meanings = document.pointer(MEANINGS).unwrap_or(&Value::Null);
    for (status, code) in introduction.lines().filter_map(code_heading) {
        let meaning = text(&meanings[code]);
        let _ = writeln!(page, "- [{code}](/docs#error-{code}): {status}. {meaning}");
    }
    page
}

/// The status and the code of the heading of a section about a code, which `cargo xtask check`
/// holds against the fields for programs.
fn code_heading(line: &str) -> Option<(&str, &str)> {
    let (status, code) = line.strip_prefix("### ")?.split_once(" *")?;
    Some((status, code.strip_suffix('*')?))
}

/// A line for each operation, the deprecated ones last.
fn operations(reference: &str, document: &Value) -> Vec<String> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let operations = paths.flat_map(|(path, item)| {
        let methods = item.as_object().into_iter().flatten();
        methods.map(move |(method, operation)| (path, method.to_uppercase(), operation))
    });
    let line = |(path, method, operation): (&String, String, &Value)| {
        let tag = operation.pointer("/tags/0").map(text).unwrap_or_default();
        let id = text(&operation["operationId"]);
        let (summary, description) = (text(&operation["summary"]), text(&operation["description"]));
        format!(
            "- [{id}]({reference}#tag/{tag}/{method}{path}): `{method} {path}`. {summary}. {}",
            one_line(description)
        )
    };
    let (old, new): (Vec<_>, Vec<_>) =
        operations.partition(|(_, _, operation)| operation["deprecated"] == true);
    new.into_iter().chain(old).map(line).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
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
        let links = 5;
        let operations: usize =
            documents.iter().map(|document| operations("", document).len()).sum();
        let codes = MEANINGS.replace("x-enumDescriptions", "x-extensible-enum");
        let codes = documents[0].pointer(&codes).and_then(Value::as_array).unwrap().len();
        assert_eq!(lines.len(), links + operations + codes, "{page}");
        let begins = |start: &str| lines.iter().any(|line| line.starts_with(start));
        assert!(begins("- [listOrders](/docs#tag/orders/GET/store/orders): `GET /store/orders`."));
        assert!(begins(
            "- [listOrders](/docs/v2#tag/orders/GET/store/orders): `GET /store/orders`."
        ));
        assert!(begins("- [order_not_found](/docs#error-order_not_found): 404. There is no"));
    }
}
