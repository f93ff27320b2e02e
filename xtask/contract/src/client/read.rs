//! Reads the operations of a document as the client has them.

use super::document::{self, Places, is_error, operations, resolved, responses};
use super::errors::{self, Errors};
use super::for_rust::{ForRust, for_readers};
use super::model::{Failure, Operation, Outcome, Pages, Parameter, TestResponse};
use super::progenitor::{Core, plain};
use crate::facts::is_json;
use crate::names::{pascal, snake};
use crate::node::Node;
use serde_json::Value;

/// A document and what progenitor makes of it.
pub struct Source<'a> {
    pub root: Node<'a>,
    pub core: &'a Core,
    pub rust: &'a ForRust,
    pub errors: &'a Errors,
}

/// Notes what the client cannot carry of the operations, which progenitor would not explain.
pub fn check(root: &Node<'_>, places: &mut Places) {
    for (.., node) in operations(root) {
        if let Some(body) = node.get("requestBody").and_then(|body| resolved(root, &body))
            && !is_json(&body)
        {
            places.refuse(
                &body,
                "a body other than JSON is not supported by the client",
                "write application/json",
            );
        }
        let successes: Vec<_> =
            responses(root, &node).into_iter().filter(|(status, _)| !is_error(status)).collect();
        let primary =
            successes.iter().filter(|(status, _)| status.starts_with('2')).min_by_key(|of| of.0);
        let Some((primary, _)) = primary else {
            places.refuse(
                &node,
                "the client needs a success with a status of its own",
                "write 200 or the like",
            );
            continue;
        };
        for (status, response) in &successes {
            let has_content =
                response.get("content").is_some_and(|of| of.members().next().is_some());
            if has_content && status != primary {
                places.refuse(
                    response,
                    format!(
                        "a success with content beside {primary} is not supported by the client"
                    ),
                    "leave its content out",
                );
            } else if has_content && !is_json(response) {
                places.refuse(
                    response,
                    "a success other than JSON is not supported by the client",
                    "write application/json",
                );
            } else if status.parse::<u16>().is_err() {
                places.refuse(
                    response,
                    format!("{status} is no status of a success"),
                    "write one such as 200",
                );
            }
        }
    }
}

impl Source<'_> {
    /// The operations in the document's order.
    pub fn operations(&self, places: &mut Places) -> Vec<Operation> {
        let read = |(path, item, method, node): (&str, Node<'_>, &str, Node<'_>)| {
            self.operation(path, &item, method, &node, places)
        };
        operations(&self.root).into_iter().filter_map(read).collect()
    }

    fn operation(
        &self,
        path: &str,
        item: &Node<'_>,
        method: &str,
        node: &Node<'_>,
        places: &mut Places,
    ) -> Option<Operation> {
        let id = node.text("operationId")?;
        let (method_name, type_name) = (snake(id)?, pascal(id)?);
        let core = self.core.methods.get(&plain(&method_name))?;
        let declared = [node, item].into_iter().filter_map(|of| of.get("parameters"));
        let declared: Vec<_> = declared
            .flat_map(|list| list.elements().collect::<Vec<_>>())
            .filter_map(|of| resolved(&self.root, &of))
            .collect();
        let parameters: Option<Vec<_>> = core
            .arguments
            .iter()
            .map(|argument| {
                let is_own = |of: &&Node<'_>| {
                    let name = of.text("name").and_then(snake).unwrap_or_default();
                    plain(&name) == plain(&argument.name)
                };
                let found = declared.iter().find(is_own);
                let (key, place, schema) = match found {
                    Some(of) => (of.text("name")?, of.text("in")?, of.get("schema")?),
                    None => (
                        "body",
                        "body",
                        resolved(&self.root, &node.get("requestBody")?)?.at(&[
                            "content",
                            "application/json",
                            "schema",
                        ])?,
                    ),
                };
                let about = found.and_then(|of| of.text("description")).unwrap_or_default();
                let example = found.and_then(|of| of.get("example"));
                Some(Parameter {
                    argument: argument.clone(),
                    name: snake(key)?,
                    key: key.to_string(),
                    place: place.to_string(),
                    about: for_readers(about),
                    schema: document::schema(&self.root, &schema),
                    is_identifier: self
                        .rust
                        .identifiers
                        .iter()
                        .any(|of| argument.ty.ends_with(&format!("types::{of}"))),
                    sample: example.map_or_else(
                        || document::sample(&self.root, &schema),
                        |of| of.value.clone(),
                    ),
                })
            })
            .collect();
        let parameters = parameters?;
        let all = responses(&self.root, node);
        let is_conditional = parameters.iter().any(Parameter::is_if_none_match)
            && all.iter().any(|(status, _)| *status == "304");
        let outcome = self.outcome(&all, &core.success, places);
        let primary =
            all.iter().filter(|(status, _)| status.starts_with('2')).min_by_key(|of| of.0)?;
        let empty = all.iter().filter(|(status, _)| {
            !is_error(status) && *status != primary.0 && !(is_conditional && *status == "304")
        });
        let text = |key: &str| node.text(key).map(for_readers);
        Some(Operation {
            deprecated: node.is("deprecated").then(|| deprecated(node)),
            pages: self.pages(node, &parameters, &core.success, places),
            success: core.success.clone(),
            empty: empty.filter_map(|(status, _)| status.parse().ok()).collect(),
            about: [
                text("summary").map(|text| text.trim_end_matches('.').to_string() + "."),
                text("description"),
            ]
            .into_iter()
            .flatten()
            .collect(),
            errors: self.failures(&all),
            example: (primary.0.parse().ok()?, self.example(&primary.1)),
            responses: self.test_responses(&all),
            method: method.to_uppercase(),
            path: path.to_string(),
            method_name,
            type_name,
            parameters,
            is_conditional,
            outcome,
        })
    }

    fn example(&self, response: &Node<'_>) -> Option<Value> {
        let media = response.at(&["content", "application/json"])?;
        let examples = media.get("examples");
        let first = examples.and_then(|of| of.members().next()).and_then(|(_, of)| of.get("value"));
        let example = media.get("example").or(first).map(|of| of.value.clone());
        example.or_else(|| Some(document::sample(&self.root, &media.get("schema")?)))
    }

    fn test_responses(&self, all: &[(&str, Node<'_>)]) -> Vec<TestResponse> {
        let response = |(status, of): &(&str, Node<'_>)| TestResponse {
            status: status.to_string(),
            headers: errors::headers(&self.root, of),
        };
        all.iter().map(response).collect()
    }

    fn failures(&self, all: &[(&str, Node<'_>)]) -> Vec<Failure> {
        let mut failures = Vec::new();
        for (status, response) in all.iter().filter(|(status, _)| is_error(status)) {
            let about = for_readers(response.text("description").unwrap_or_default());
            let examples = errors::of_response(status, response);
            let known: Vec<_> =
                examples.iter().filter_map(|of| self.errors.variant(of.code)).collect();
            if known.is_empty() {
                failures.push(Failure { status: status.to_string(), code: None, about });
                continue;
            }
            failures.extend(known.into_iter().map(|code| Failure {
                status: code.status.to_string(),
                code: Some((code.variant.clone(), code.text.clone())),
                about: if code.about.is_empty() { about.clone() } else { code.about.clone() },
            }));
        }
        failures
    }

    /// What a response says in `x-outcome` and another in `x-outcome-after-retry`.
    fn outcome(
        &self,
        all: &[(&str, Node<'_>)],
        success: &str,
        places: &mut Places,
    ) -> Option<Outcome> {
        let find = |key: &str| {
            all.iter().find_map(|(status, of)| Some((*status, of.clone(), of.get(key)?)))
        };
        let (_, _, done) = find("x-outcome")?;
        let (status, response, after) = find("x-outcome-after-retry")?;
        let named =
            |of: &Node<'_>| Some((pascal(of.text("name")?)?, of.text("description")?.to_string()));
        let examples = errors::of_response(status, &response);
        let codes: Vec<_> = examples
            .iter()
            .filter_map(|of| Some(self.errors.variant(of.code)?.variant.clone()))
            .collect();
        match (named(&done), named(&after)) {
            (Some(done), Some(after_retry)) if success == "()" && !codes.is_empty() => {
                Some(Outcome { done, after_retry, codes })
            }
            _ => {
                places.refuse(
                    &after,
                    "an outcome needs `name` and `description`, here and at a success without \
                     content, and an error with a code",
                    "add them",
                );
                None
            }
        }
    }

    /// Pages: a parameter `cursor` and `nextCursor` beside the one list of the success, or what
    /// `x-pages` names.
    fn pages(
        &self,
        node: &Node<'_>,
        parameters: &[Parameter],
        success: &str,
        places: &mut Places,
    ) -> Option<Pages> {
        let named = node.get("x-pages");
        let name = |key: &str, usual: &str| {
            named.as_ref().and_then(|of| of.text(key)).unwrap_or(usual).to_string()
        };
        let (cursor, next) = (name("cursor", "cursor"), name("next", "nextCursor"));
        let found = || {
            let members = self.core.records.get(success.strip_prefix("types::")?)?;
            let parameter =
                parameters.iter().find(|of| of.key == cursor && of.argument.is_optional)?;
            let (next, items) = (snake(&next)?, snake(&name("items", "")));
            let next = members.iter().find(|of| of.name == next && of.ty == "Option<String>")?;
            let is_items = |of: &str| items.as_deref().is_none_or(|items| items == of);
            let mut lists =
                members.iter().filter(|of| of.ty.starts_with("Vec<") && is_items(&of.name));
            let list = lists.next().filter(|_| lists.next().is_none())?;
            let item = list.ty.strip_prefix("Vec<")?.strip_suffix('>')?;
            Some(Pages {
                cursor: parameter.name.clone(),
                items: list.name.clone(),
                next: next.name.clone(),
                item: if self.core.types.iter().any(|of| of == item) {
                    format!("types::{item}")
                } else {
                    item.to_string()
                },
                name: pascal(&list.name)?,
            })
        };
        let pages = found();
        if let (Some(named), None) = (&named, &pages) {
            places.refuse(
                named,
                "names no pages",
                "write an optional text of the parameters as `cursor`, an optional text of the \
                 success as `next`, and its list as `items`",
            );
        }
        pages
    }
}

/// Why not to use an operation: the first sentence that says so, and when it may go.
fn deprecated(node: &Node<'_>) -> String {
    let text = node.text("description").unwrap_or_default();
    let first = text.split(". ").next().unwrap_or_default().trim_end_matches('.');
    let says = first.to_lowercase().contains("deprecated");
    let first = if says { first } else { "Deprecated by the API" };
    match node.text("x-sunset") {
        Some(sunset) => format!("{first}; it may be removed after {sunset}"),
        None => first.to_string(),
    }
}
