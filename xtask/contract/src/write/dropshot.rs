//! The trait that dropshot serves, and its implementation over that of the handlers.

use super::operations::bad_request;
use crate::Contract;
use crate::operations::{Operation, RequestBody};
use crate::schemas::Item;
use crate::text::is_summary;

/// The trait, its implementation, and the document that dropshot emits from it.
pub fn served(contract: &Contract<'_>) -> String {
    let endpoints: String = contract.operations.iter().map(endpoint).collect();
    let methods: String = contract.operations.iter().map(method).collect();
    format!(
        "/// An [`Api`] as dropshot serves it.\n#[derive(Debug)]\npub struct Served<A>(PhantomData<fn() -> A>);\n\n\
         /// The operations as dropshot sees them.\n\
         #[dropshot::api_description {{ module = \"dropshot_api\" }}]\npub trait DropshotApi {{\n    \
         /// What handlers can reach.\n    type Context;\n{endpoints}}}\n\n\
         impl<A: Api> DropshotApi for Served<A> {{\n    type Context = A::Context;\n{methods}}}\n\n\
         {SCHEMAS}{}{FUNCTIONS}",
        schemas(contract),
    )
}

const SCHEMAS: &str = "/// The schemas with a name of their own.\nenum Schemas {}\n\n";

const FUNCTIONS: &str = "/// What dropshot serves for these handlers.
pub fn api_description<A: Api>() -> Result<ApiDescription<A::Context>, DocumentError> {
    dropshot_api::api_description::<Served<A>>().map_err(DocumentError::new)
}

/// The document that dropshot emits of all this.
pub fn document() -> Result<Value, DocumentError> {
    let api = dropshot_api::stub_api_description().map_err(DocumentError::new)?;
    crate::emission::document::<Schemas>(api, TITLE, FACTS)
}

";

fn schemas(contract: &Contract<'_>) -> String {
    let components = contract.reader.root.at(&["components", "schemas"]);
    let has_name = |name: &str| {
        components
            .iter()
            .flat_map(crate::node::Node::members)
            .any(|(key, _)| crate::names::type_name(key).as_deref() == Some(name))
    };
    let named = contract.reader.items.iter().filter(|item| has_name(item.name()));
    let is_met = |item: &&Item| !matches!(item, Item::Values(values) if values.is_extensible);
    let meet: String = named
        .filter(is_met)
        .map(|item| format!("        generator.subschema_for::<{}>();\n", item.name()))
        .collect();
    let generator = if meet.is_empty() { "_generator" } else { "generator" };
    format!(
        "impl crate::emission::Schemas for Schemas {{\n    fn add_to({generator}: &mut SchemaGenerator) {{\n{meet}    }}\n}}\n\n"
    )
}

/// What dropshot extracts from a request.
fn extractors(operation: &Operation) -> Vec<String> {
    let sets = operation.parameters.iter();
    let mut extractors: Vec<_> = sets
        .map(|set| format!("{}: Strict<{}>", set.place.to_lowercase(), set.record.name))
        .collect();
    let body = match &operation.body {
        Some(RequestBody::Json(ty)) if ty.rust == ty.schema => format!("JsonBody<{}>", ty.rust),
        Some(RequestBody::Json(ty)) => format!("JsonBody<{}, {}>", ty.rust, ty.schema),
        Some(RequestBody::Other) => "AnyBody".to_string(),
        None => "NoBody".to_string(),
    };
    let body = if operation.is_body_option() { format!("Option<{body}>") } else { body };
    extractors.push(format!("sent: Sent<{body}>"));
    extractors
}

fn endpoint(operation: &Operation) -> String {
    let Operation { id, method_name, type_name, method, path, tags, .. } = operation;
    let tags = if tags.is_empty() { String::new() } else { format!("        tags = {tags:?},\n") };
    let deprecated = if operation.is_deprecated { "        deprecated = true,\n" } else { "" };
    let summary = operation.texts.0.as_deref().filter(|summary| is_summary(summary));
    let summary = summary.map(|summary| format!("    /// {summary}\n")).unwrap_or_default();
    format!(
        "\n{summary}    #[endpoint {{\n        operation_id = {id:?},\n        method = {method},\n        path = {path:?},\n{tags}{deprecated}    }}]\n    \
         async fn {method_name}(context: RequestContext<Self::Context>, {}) -> Result<Answer<{type_name}Success>, Failure>;\n",
        extractors(operation).join(", "),
    )
}

fn method(operation: &Operation) -> String {
    let Operation { method_name, type_name, .. } = operation;
    let sets: Vec<_> = operation.parameters.iter().map(|set| set.place.to_lowercase()).collect();
    let has_body = operation.body.is_some();
    let held = if operation.is_body_option() { ".map(|body| body.0)" } else { ".0" };
    let is_documented = bad_request(operation).is_some();
    let caller = if operation.has_caller { "sender.caller()?" } else { "&()" };
    let (sender, body) = (
        if operation.has_caller { "sender" } else { "sender: _" },
        if has_body { "body" } else { "body: _" },
    );
    let mut arguments = vec!["request".to_string()];
    let mut unpacked = String::new();
    if is_documented || sets.is_empty() && !has_body {
        arguments.extend(sets.iter().map(|set| format!("{set}.0?")));
        arguments.extend(has_body.then(|| format!("body?{held}")));
    } else {
        for set in &sets {
            unpacked += &format!("        let {set} = {set}.0?;\n");
        }
        if has_body {
            unpacked += &format!("        let body = body?{held};\n");
        }
        arguments.extend(sets.iter().cloned());
        arguments.extend(has_body.then(|| "body".to_string()));
    }
    let arguments = arguments.join(", ");
    let call = if is_documented {
        format!(
            "let answer = async {{ A::{method_name}({arguments}).await }};\n        Answer::of(answer.await, A::error_headers)"
        )
    } else {
        format!("Answer::of(A::{method_name}({arguments}).await, A::error_headers)")
    };
    let needs_sender = operation.has_caller || has_body;
    let unpack = if needs_sender {
        format!("        let Sent {{ {sender}, {body} }} = sent;\n")
    } else {
        String::new()
    };
    let extractors = extractors(operation).join(", ");
    let extractors =
        if needs_sender { extractors } else { extractors.replace("sent: Sent", "_: Sent") };
    format!(
        "\n    async fn {method_name}(context: RequestContext<A::Context>, {extractors}) -> Result<Answer<{type_name}Success>, Failure> {{\n\
         {unpack}{unpacked}        let request = Request::new(&context, {caller});\n        {call}\n    }}\n"
    )
}
