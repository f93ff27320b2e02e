//! Compares each API document with the document that dropshot emits from the generated types in
//! `api/src`. The API document must contain each emitted value. It may contain other values only if
//! they are of a kind that dropshot cannot emit. `codegen::unemitted` lists these kinds.

use super::inputs::{ALL_DOCUMENTS, Inputs, available};
use super::problem::{ABSENT, Fix, Problem};
use crate::documents::DOCUMENTS;
use codegen::compare::{Difference, differences, leaves};
use codegen::unemitted::kind_of;
use serde_json::Value;

/// The number of characters after which a value in the output is cut, to keep its line short.
const MAX_CHARS: usize = 72;

pub(super) fn claim(_: &Inputs) -> String {
    format!("{ALL_DOCUMENTS} have each leaf that api/src emits")
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for (of, emitted) in DOCUMENTS.iter().zip(&*inputs.emitted) {
        problems.extend(check_document(of.file, available(emitted)?, &inputs.document(of.file)?));
    }
    Ok(problems)
}

/// Returns a problem for each difference between the checked-in and the emitted document. A value
/// may be absent from the emitted document if `codegen::unemitted` lists its kind.
pub fn check_document(file: &str, emitted: &Value, document: &Value) -> Vec<Problem> {
    let differences = differences(document, emitted);
    differences.iter().flat_map(|difference| problems(file, difference)).collect()
}

fn problems(file: &str, difference: &Difference<'_>) -> Vec<Problem> {
    match (difference.left, difference.right) {
        (Some(value), None) => leaves(&difference.pointer, value)
            .into_iter()
            .filter(|(pointer, _)| kind_of(pointer).is_none())
            .map(|(pointer, leaf)| {
                problem(file, &Difference { pointer, left: Some(leaf), right: None })
            })
            .collect(),
        _ => vec![problem(file, difference)],
    }
}

fn problem(file: &str, difference: &Difference<'_>) -> Problem {
    let start = excerpt_start(difference);
    Problem {
        place: format!("{file}#{}", difference.pointer),
        expected: excerpt(difference.left, start),
        found: excerpt(difference.right, start),
        reasons: Vec::new(),
        fix: Fix::ByHand(
            "cargo xtask generate; what is left then, xtask/codegen drops or misreads".to_string(),
        ),
    }
}

/// Returns the index of the character at which the excerpts of both values start. If two strings
/// first differ far from their beginning, the index is shortly before the difference.
fn excerpt_start(difference: &Difference<'_>) -> usize {
    match (difference.left, difference.right) {
        (Some(Value::String(left)), Some(Value::String(right))) => {
            let same = left.chars().zip(right.chars()).take_while(|(l, r)| l == r).count();
            if same < MAX_CHARS * 2 / 3 { 0 } else { same - MAX_CHARS / 3 }
        }
        _ => 0,
    }
}

pub(super) fn excerpt(value: Option<&Value>, start: usize) -> String {
    let Some(value) = value else { return ABSENT.to_string() };
    let text = match value {
        Value::String(text) if start > 0 => {
            format!("…{}", Value::from(text.chars().skip(start).collect::<String>()))
        }
        other => other.to_string(),
    };
    if text.chars().count() <= MAX_CHARS {
        return text;
    }
    let shown: String = text.chars().take(MAX_CHARS).collect();
    format!("{shown}… ({} characters)", value.to_string().chars().count())
}
