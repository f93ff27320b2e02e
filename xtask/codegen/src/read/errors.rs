//! Reads the errors of responses: one error for each code in the examples.

use super::Reader;
use crate::model::{Enum, ErrorRecord, ErrorVariant, Item, SharedErrors};
use crate::names::pascal;
use crate::node::Node;
use crate::subset;
use serde_json::Value;

impl<'a> Reader<'a> {
    pub(super) fn shared_errors(&mut self, error: &ErrorRecord) -> Vec<SharedErrors> {
        let responses = self.root.get_path(&["components", "responses"]);
        let mut shared = Vec::new();
        for (key, node) in responses.iter().flat_map(Node::members) {
            let variants = self.response_errors(error, None, &node);
            if let Some(name) = self.claim_name(&node, pascal(key), key) {
                shared.push(SharedErrors { name, key: key.to_string(), variants });
            }
        }
        shared
    }

    /// Reads the errors of a response. `status` is a status such as `404` or `5XX`, or `None` for a
    /// response in `components`.
    pub(super) fn response_errors(
        &mut self,
        error: &ErrorRecord,
        status: Option<&str>,
        node: &Node<'a>,
    ) -> Vec<ErrorVariant> {
        self.check_keys(node, &subset::ERROR);
        self.headers(node);
        let media = node.get("content").and_then(|content| self.json(&content));
        let Some(media) = media else {
            self.refuse(node, "an error needs JSON as its content", "add `application/json`");
            return Vec::new();
        };
        let schema = media.get("schema").unwrap_or(media.clone());
        if schema.text("$ref") != Some("#/components/schemas/Error") {
            self.refuse(
                &schema,
                "the body of an error is Error",
                "refer to components/schemas/Error",
            );
        }
        let examples = media.get("examples");
        let examples: Vec<_> = examples.iter().flat_map(Node::members).collect();
        if examples.is_empty() {
            let fix = "add `examples`: one for each code, named by it";
            self.refuse(&media, "an error needs an example for each code", fix);
        }
        let mut variants: Vec<ErrorVariant> = Vec::new();
        for (code, example) in examples {
            self.check_keys(&example, &subset::EXAMPLE);
            variants.extend(self.error_variant(error, status, code, &example));
        }
        variants
    }

    fn error_variant(
        &mut self,
        error: &ErrorRecord,
        status: Option<&str>,
        code: &str,
        example: &Node<'a>,
    ) -> Option<ErrorVariant> {
        let Some(value) = example.get("value") else {
            self.refuse(example, "an example needs a `value`", "add it");
            return None;
        };
        let shown = (
            value.text("code"),
            value.text("message"),
            value.value.get("status").and_then(Value::as_u64).and_then(|of| u16::try_from(of).ok()),
        );
        let (Some(shown_code), Some(message), Some(number), Some(3)) =
            (shown.0, shown.1, shown.2, value.value.as_object().map(serde_json::Map::len))
        else {
            self.refuse(&value, "the example is not an Error", "write code, message and status");
            return None;
        };
        if shown_code != code {
            let problem = format!("the example {code:?} has the code {shown_code:?}");
            self.refuse(&value, problem, "name the example by its code");
        }
        let is_of_status = match status {
            None => (400..600).contains(&number),
            Some("5XX") => (500..600).contains(&number),
            Some(status) => status == number.to_string(),
        };
        if !is_of_status {
            let problem =
                format!("shows the status {number} under {}", status.unwrap_or("an error"));
            self.refuse(&value, problem, "make the two equal");
        }
        let codes = self.items.iter().find_map(|item| match item {
            Item::Enum(codes) if codes.name == error.codes => Some(codes),
            _ => None,
        });
        let listed = codes.and_then(|Enum { values, .. }| {
            values.iter().find(|(_, text, _)| text == code).cloned()
        });
        let Some((name, code, _)) = listed else {
            let problem = format!("{code:?} is not among the values of the schema");
            self.refuse(&value.get("code").unwrap_or(value), problem, "add it there");
            return None;
        };
        let message = message.to_string();
        Some(ErrorVariant { name, code, status: number, message })
    }
}
