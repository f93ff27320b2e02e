//! The body of a method that sends a request, and the comment above it.

use super::{converted, given, item, paragraphs};
use crate::client::model::{Held, Operation, Parameter};

/// The comment above a method: the document's text, and what its errors mean.
pub fn about(operation: &Operation) -> String {
    let mut about = paragraphs(4, &operation.about);
    if operation.outcome.is_some() {
        let name = format!("{}Outcome", operation.type_name);
        about += &format!("    ///\n    /// The value says what became of it: see [`{name}`].\n");
    }
    about += "    ///\n    /// # Errors\n    ///\n";
    for error in &operation.errors {
        let code = error.code.as_ref().map_or(String::new(), |(variant, _)| {
            format!(" [`{variant}`](crate::ErrorCode::{variant})")
        });
        about += &item(4, &format!("{}{code}: ", error.status), &error.about);
    }
    about
}

/// What is made of the answer of progenitor's client.
pub fn result(operation: &Operation, is_conditional: bool) -> String {
    let converted = "converted(answer, &client.inner).await";
    if is_conditional {
        return format!("or_empty({converted}, &[304])");
    }
    match &operation.outcome {
        Some(of) => {
            let name = format!("{}Outcome", operation.type_name);
            let codes: Vec<_> = of.codes.iter().map(|code| format!("ErrorCode::{code}")).collect();
            format!(
                "with_outcome({converted}, {name}::{}, {name}::{}, &[{}])",
                of.done.0,
                of.after_retry.0,
                codes.join(", ")
            )
        }
        None if operation.empty.is_empty() => converted.to_string(),
        None => format!("or_empty({converted}, &{:?})", operation.empty),
    }
}

/// The body of a method that makes a call, with parameters that are kept in this place.
pub fn call(operation: &Operation, place: &str, result: &str) -> String {
    let own = operation.required().filter(|_| place.is_empty());
    let into: String = own
        .filter(|of| of.place != "body" && of.argument.held != Held::Value)
        .map(|of| format!("let {}: {} = {};\n", of.name, of.argument.ty, converted(of)))
        .collect();
    let arguments =
        operation.parameters.iter().map(|of| match (of.place.as_str(), of.is_if_none_match()) {
            (_, true) if operation.is_conditional && !result.contains("304") => "None".to_string(),
            (_, true) if operation.is_conditional => "if_none_match.as_deref()".to_string(),
            ("body", _) if place.is_empty() => of.name.clone(),
            _ => given(of, place),
        });
    let arguments: Vec<_> = arguments.collect();
    let fields: String =
        operation.shown().filter(|of| of.is_identifier).map(|of| field(of, place)).collect();
    format!(
        "{into}let client = self.for_one_call();\n\
         let call = async {{\nlet answer = client.{}({}).await;\n{result}\n}};\n\
         in_span(call_span!({:?}{fields}), call).await\n",
        operation.method_name,
        arguments.join(", "),
        operation.method_name,
    )
}

fn field(parameter: &Parameter, place: &str) -> String {
    let name = &parameter.name;
    match parameter.argument.is_optional {
        true => format!(", {name} = {place}{name}.map(i64::from)"),
        false => format!(", {name} = i64::from({place}{name})"),
    }
}
