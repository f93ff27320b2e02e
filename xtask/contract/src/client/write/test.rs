//! A test that calls each operation once against the test server.

use super::Parts;
use crate::client::model::{Held, Operation, Parameter};
use crate::text::literal;

/// The code of the test, in which `{library}` is the client's crate.
pub fn test(parts: &Parts<'_>) -> String {
    let tests: String = parts.operations.iter().map(call).collect();
    format!(
        "//! Each operation is called once against the test server.\n\n\
         use {{library}}::testing::{{KEY, Server}};\nuse {{library}}::Client;\n\n\
         fn start() -> (Server, Client) {{\n    let server = Server::start().unwrap();\n    \
         let client = Client::new(server.base_url(), KEY).unwrap();\n    (server, client)\n}}\n\n\
         #[allow(dead_code)]\nfn sample<T: serde::de::DeserializeOwned>(json: &str) -> T {{\n    \
         serde_json::from_str(json).unwrap()\n}}\n{tests}"
    )
}

fn call(operation: &Operation) -> String {
    let (name, status) = (&operation.method_name, operation.example.0);
    let given: Vec<_> = operation.required().map(given).collect();
    let set = operation.optional().map(|of| format!(".{}({})", of.name, set(of)));
    let sent = match operation.is_request() {
        true => format!("{}.send()", set.collect::<String>()),
        false => String::new(),
    };
    let deprecated = match operation.deprecated {
        Some(_) => "#[expect(deprecated, reason = \"it is still served\")]\n",
        None => "",
    };
    format!(
        "\n#[tokio::test]\n{deprecated}async fn {name}_is_answered() {{\n    let (_server, client) = start();\n    \
         let response = client.{name}({}){sent}.await.unwrap();\n    assert_eq!(response.status().as_u16(), {status});\n}}\n",
        given.join(", "),
    )
}

fn given(parameter: &Parameter) -> String {
    let value = sampled(parameter);
    if parameter.place == "body" { format!("&{value}") } else { value }
}

fn set(parameter: &Parameter) -> String {
    match super::is_small(parameter) {
        true => parameter.sample.to_string(),
        false => sampled(parameter),
    }
}

fn sampled(parameter: &Parameter) -> String {
    let json = literal(&parameter.sample.to_string());
    let ty = parameter.argument.ty.replace("types::", "{library}::");
    let ty = ty.replace("DateTime<Utc>", "chrono::DateTime<chrono::Utc>");
    match (parameter.argument.held, ty.rsplit_once("::values::")) {
        (Held::Text, _) => literal(parameter.sample.as_str().unwrap_or_default()),
        (_, Some((_, name))) => format!("sample::<{{library}}::{name}>({json})"),
        _ => format!("sample::<{ty}>({json})"),
    }
}
