//! The routes of the test server, with the document's examples.

use super::{Parts, file};
use crate::client::model::{Operation, Parameter};
use crate::text::{comment, literal};
use serde_json::Value;

pub fn testing(parts: &Parts<'_>) -> String {
    let methods: String = parts.operations.iter().map(method).collect();
    let mut headers = Headers::default();
    let routes: String = parts.operations.iter().map(|of| route(of, &mut headers)).collect();
    let path = parts.base_path();
    let body = format!(
        "/// What is answered to each operation: the document's example, unless the store knows better.\n\
         pub(crate) trait Operations {{\n{methods}}}\n\n\
         /// This version.\npub(crate) const VERSION: Version = Version {{ base_path: {path:?}, routes: ROUTES }};\n\n\
         const ROUTES: &[Route] = &[\n{routes}];\n\n{}",
        headers.constants(),
    );
    let uses = [
        ("Answer", "crate::testing::route::Answer"),
        ("Header", "crate::testing::route::Header"),
        ("Kind", "crate::testing::request::Kind"),
        ("Parameter", "crate::testing::request::Parameter"),
        ("Route", "crate::testing::route::Route"),
        ("Sent", "crate::testing::request::Sent"),
        ("Success", "crate::testing::route::Success"),
        ("Version", "crate::testing::route::Version"),
    ];
    file("The routes of the test server: the feature `testing`.", &body, &uses)
}

fn method(operation: &Operation) -> String {
    let (status, example) = &operation.example;
    let success = match example {
        Some(example) => format!("Success::example({status}, {})", literal(&example.to_string())),
        None => format!("Success::empty({status})"),
    };
    format!(
        "{}    fn {}(&mut self, sent: &Sent) -> Answer {{\n        let _ = sent;\n        Ok({success})\n    }}\n\n",
        comment(4, &format!("`{} {}`", operation.method, operation.path)),
        operation.method_name,
    )
}

fn route(operation: &Operation, constants: &mut Headers) -> String {
    let parameters: String = operation.parameters.iter().filter_map(parameter).collect();
    let headers = operation.responses.iter().map(|of| {
        let own = of.headers.iter().filter(|(name, _)| !is_computed(name));
        let own: Vec<_> = own.map(|header| constants.name(header)).collect();
        format!("({:?}, &[{}]),\n", of.status, own.join(", "))
    });
    let headers: String = headers.collect();
    format!(
        "Route {{\nmethod: {:?},\npath: {:?},\nanswer: |store, sent| Operations::{}(store, sent),\nparameters: &[{parameters}],\nheaders: &[{headers}],\n}},\n",
        operation.method, operation.path, operation.method_name,
    )
}

/// The constants of headers: each with its example, once.
#[derive(Default)]
struct Headers(Vec<(String, (String, String))>);

impl Headers {
    /// The constant of a header.
    fn name(&mut self, header: &(String, String)) -> String {
        if let Some((name, _)) = self.0.iter().find(|(_, known)| known == header) {
            return name.clone();
        }
        let base = crate::names::shouty(&header.0).unwrap_or_else(|| "HEADER".to_string());
        let same = self.0.iter().filter(|(_, (key, _))| *key == header.0).count();
        let name = if same == 0 { base } else { format!("{base}_{}", same + 1) };
        self.0.push((name.clone(), header.clone()));
        name
    }

    fn constants(&self) -> String {
        let constant = |(name, (key, example)): &(String, (String, String))| {
            format!("const {name}: Header = ({key:?}, {});\n", literal(example))
        };
        self.0.iter().map(constant).collect()
    }
}

/// What the test server knows better than an example.
fn is_computed(header: &str) -> bool {
    let computed = [
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
        "x-request-id",
        "allow",
        "content-type",
    ];
    computed.contains(&header.to_lowercase().as_str())
}

fn parameter(parameter: &Parameter) -> Option<String> {
    let schema = &parameter.schema;
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let bound = |key: &str, open: &str| {
        schema.get(key).and_then(Value::as_i64).map_or(open.to_string(), |of| of.to_string())
    };
    let listed = schema.get("enum").and_then(Value::as_array);
    let kind = match (text("type"), text("format"), listed) {
        (Some("integer"), ..) => format!(
            "Kind::Integer({}, {})",
            bound("minimum", "i64::MIN"),
            bound("maximum", "i64::MAX")
        ),
        (Some("number"), ..) => "Kind::Number".to_string(),
        (Some("boolean"), ..) => "Kind::Boolean".to_string(),
        (_, Some("date-time"), _) => "Kind::Time".to_string(),
        (.., Some(listed)) => {
            let listed: String = listed.iter().map(|value| format!("{value}, ")).collect();
            format!("Kind::OneOf(&[{listed}])")
        }
        _ => "Kind::Text".to_string(),
    };
    let (key, place) = (&parameter.key, &parameter.place);
    let is_sent = ["path", "query"].contains(&place.as_str());
    is_sent.then(|| {
        format!(
            "Parameter {{ name: {key:?}, place: {place:?}, is_required: {}, kind: {kind} }},\n",
            !parameter.argument.is_optional,
        )
    })
}
