//! The check that the contract in Rust emits the document.

use super::{Inputs, Problem, given};
use crate::compare::{Difference, differences};
use crate::repository::DOCUMENT;
use crate::strict_json;
use serde_json::Value;

/// Longer values are shortened to about this many characters, which fill a
/// line of a terminal beside the label.
const SHOWN: usize = 72;

pub(super) fn claim(_: &Inputs) -> String {
    format!("api/src emits {DOCUMENT}")
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    check_document(given(&inputs.emitted)?, given(&inputs.document)?)
}

/// Every place in which the text of a document does not say what is emitted,
/// and every key that stands in it twice.
pub fn check_document(emitted: &Value, document: &str) -> anyhow::Result<Vec<Problem>> {
    let document = strict_json::read(DOCUMENT, document)?;
    let duplicates = document.duplicates.iter().map(|pointer| Problem {
        place: pointer.clone(),
        lines: vec!["this key stands more than once in its object; only the last counts".into()],
        mend: format!("edit {DOCUMENT}"),
    });
    let compared = differences(&document.value, emitted);
    Ok(duplicates.chain(compared.iter().map(problem)).collect())
}

fn problem(difference: &Difference<'_>) -> Problem {
    let from = shown_from(difference);
    Problem {
        place: match difference.pointer.as_str() {
            "" => "(the whole document)".to_string(),
            pointer => pointer.to_string(),
        },
        lines: vec![
            format!("{DOCUMENT}: {}", shown(difference.left, from)),
            format!("emitted by api:    {}", shown(difference.right, from)),
        ],
        mend: format!("edit {DOCUMENT}, or {}", source_of(&difference.pointer)),
    }
}

/// The file in api that says what is emitted at this place.
fn source_of(pointer: &str) -> &'static str {
    let tokens: Vec<&str> = pointer.split('/').skip(1).collect();
    match tokens.as_slice() {
        ["info", "description", ..] => "api/src/introduction.md, plans.rs or errors.rs",
        ["components", "schemas", "Error", ..] => "api/src/errors.rs",
        ["components", "schemas", ..] => "api/src/types.rs",
        ["components", "headers", ..] => "api/src/headers.rs",
        ["components", "responses", _, "headers", ..] => "api/src/headers.rs",
        ["components", "responses", ..] => "api/src/errors.rs or document/responses.rs",
        ["paths", _, _, "responses", _, "headers", ..] => "api/src/headers.rs",
        ["paths", _, _, "responses", status, ..] if !status.starts_with('2') => {
            "api/src/errors.rs or document/responses.rs"
        }
        ["paths", _, _, "responses" | "x-stability", ..] => "api/src/document.rs",
        ["paths", _, _, "parameters", ..] => "api/src/types.rs",
        ["paths", ..] | ["tags", ..] => "the trait in api/src/lib.rs",
        _ => "api/src/document.rs",
    }
}

/// Two long texts that begin alike are shown from a little before they part.
fn shown_from(difference: &Difference<'_>) -> usize {
    match (difference.left, difference.right) {
        (Some(Value::String(left)), Some(Value::String(right))) => {
            let same = left.chars().zip(right.chars()).take_while(|(l, r)| l == r).count();
            // A third of what is shown leads up to the difference.
            if same < SHOWN * 2 / 3 { 0 } else { same - SHOWN / 3 }
        }
        _ => 0,
    }
}

fn shown(value: Option<&Value>, from: usize) -> String {
    let Some(value) = value else { return "absent".to_string() };
    let text = match value {
        Value::String(text) if from > 0 => {
            format!("…{}", Value::from(text.chars().skip(from).collect::<String>()))
        }
        other => other.to_string(),
    };
    if text.chars().count() <= SHOWN {
        return text;
    }
    let start: String = text.chars().take(SHOWN).collect();
    format!("{start}… ({} characters)", value.to_string().chars().count())
}
