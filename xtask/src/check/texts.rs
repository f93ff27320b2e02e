//! Checks that the guide and the descriptions match the machine-readable fields of the documents.
//! The check compares plans, error codes and numbers.

use super::inputs::Inputs;
use super::problem::{ABSENT, Fix, Problem};
use crate::documents::DOCUMENTS;
use crate::guide::{CODE, codes, error_sections, paragraphs};
use crate::repository::GUIDE;
use codegen::compare::pointers;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The beginning of the list of error codes, in the description of the field `code`.
const LIST: &str = "Today's codes: ";
/// The first line of the table of plans in the guide.
const PLANS: &str = "| Plan | Requests per minute | Requests per day |";

pub(super) fn claim(_: &Inputs) -> String {
    format!(
        "{GUIDE} and the texts of the documents have the plans, codes and bounds that programs read"
    )
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let mut documents = Vec::new();
    for of in DOCUMENTS {
        documents.push(inputs.document(of.file)?);
    }
    Ok(check_texts(&inputs.repository.read(GUIDE)?, &documents))
}

/// Returns a problem for each place where the guide or a description differs from the documents'
/// machine-readable fields. `documents` are in the order of [`DOCUMENTS`].
pub fn check_texts(guide: &str, documents: &[Value]) -> Vec<Problem> {
    let each = DOCUMENTS.iter().zip(documents);
    let all = each.flat_map(|(of, document)| check_document(of.file, document, guide));
    let mut problems = Vec::new();
    // Report a problem of the guide only once, even if the guide contradicts two documents in the
    // same way.
    for problem in all.chain(check_sections(guide, documents)) {
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    problems
}

fn problem(place: &str, expected: String, found: String, programs: &str) -> Option<Problem> {
    let is_wrong = found != expected;
    is_wrong.then(|| Problem {
        place: place.to_string(),
        expected,
        found: if found.is_empty() { ABSENT.to_string() } else { found },
        reasons: Vec::new(),
        fix: Fix::ByHand(format!("edit the text, or {programs}")),
    })
}

fn check_sections(guide: &str, documents: &[Value]) -> Vec<Problem> {
    let found = error_sections(guide);
    let mut all: Vec<&str> = documents.iter().flat_map(codes).collect();
    all.extend(found.iter().map(|section| section.code));
    let mut seen = BTreeSet::new();
    all.retain(|code| seen.insert(*code));
    let programs = "x-extensible-enum and x-enumDescriptions";
    let sections = all.into_iter().filter_map(|code| {
        let found = found.iter().find(|section| section.code == code);
        let status = found.map_or("", |section| section.status);
        let text = found.map(|section| format!("### {status} `{code}`\n\n{}", section.meaning));
        problem(GUIDE, section(documents, code, status), text.unwrap_or_default(), programs)
    });
    sections.collect()
}

/// Compares texts in a document and in the guide with the document's schemas and `x-` fields.
fn check_document(file: &str, document: &Value, guide: &str) -> Vec<Problem> {
    let plans = document.pointer("/info/x-plans").and_then(Value::as_object).map(plan_table);
    let codes: Vec<_> = codes(document).collect();
    let listed = codes.iter().map(|code| format!("`{code}`")).collect::<Vec<_>>().join(", ");
    let mut problems = Vec::new();
    if let Some(plans) = plans {
        let begin = guide.find(PLANS);
        let table = begin.and_then(|begin| guide[begin..].split("\n\n").next());
        problems.extend(problem(GUIDE, plans, table.unwrap_or_default().to_string(), "x-plans"));
    }
    if !codes.is_empty() {
        let pointer = format!("{CODE}/description");
        let description = text(document, &pointer);
        let current = description.find(LIST).map_or("", |begin| &description[begin..]);
        let (place, list) = (format!("{file}#{pointer}"), format!("{LIST}{listed}."));
        problems.extend(problem(&place, list, current.to_string(), "x-extensible-enum"));
    }
    let paragraphs: Vec<_> = paragraphs(guide).collect();
    let all_pointers = pointers(document);
    for (pointer, named) in bounded_values(document) {
        // A header has no member `name`. Its name is the last segment of the pointer.
        let key = pointer.rsplit('/').next().unwrap_or_default();
        let name = named["name"].as_str().unwrap_or(key);
        let sentences = paragraphs.iter().flat_map(|text| text.split_inclusive(['.', ':']));
        let quoted = format!("`{name}`");
        let mentions = sentences.filter(|sentence| sentence.contains(&quoted));
        let place = |pointer: &str| format!("{file}#{pointer}");
        let description = format!("{pointer}/description");
        let described = std::iter::once((place(&description), text(document, &description)));
        let others = mentions.map(|sentence| (GUIDE.to_string(), sentence));
        // Also check the descriptions of fields, because they may name the parameter too.
        let fields = field_descriptions(document).filter(|(_, text)| text.contains(&quoted));
        let fields = fields.map(|(pointer, text)| (place(&pointer), text));
        let bounds = bounds(&named["schema"]);
        let mut wrong = Vec::new();
        for (place, text) in described.chain(others).chain(fields) {
            let found = wrong_numbers(text, &bounds, &BOUNDS, thousands).into_iter();
            wrong.extend(found.map(|(expected, found)| (place.clone(), expected, found)));
        }
        let parameter = format!(" parameter {name} ");
        let messages = all_pointers.iter().filter(|place| place.ends_with("/value/message"));
        for pointer in messages.filter(|place| text(document, place).contains(&parameter)) {
            let message = text(document, pointer);
            let found = wrong_numbers(message, &bounds, &RANGE, |number| number.to_string());
            wrong.extend(found.into_iter().map(|(one, other)| (place(pointer), one, other)));
        }
        let values = values_out_of_bounds(guide, name, &bounds).into_iter();
        wrong.extend(values.map(|(expected, found)| (GUIDE.to_string(), expected, found)));
        problems.extend(
            wrong.into_iter().filter_map(|(place, expected, found)| {
                problem(&place, expected, found, "the schema")
            }),
        );
    }
    problems
}

/// Phrases that state a number from the schema, such as `at most 100`. Each row contains the words
/// before the number, the words after it, and the schema's keyword for it.
const BOUNDS: [(&str, &str, &str); 6] = [
    ("", " by default", "default"),
    ("default is ", "", "default"),
    ("", " at most", "maximum"),
    ("at most ", "", "maximum"),
    ("", " at least", "minimum"),
    ("at least ", "", "minimum"),
];

/// Like [`BOUNDS`], but for error messages in examples, which have phrases such as `from 1 to 100`.
const RANGE: [(&str, &str, &str); 2] = [(" from ", "", "minimum"), (" to ", "", "maximum")];

/// Finds code such as `limit=1000` whose number the schema does not allow. Returns pairs of the
/// corrected code and the code in the text.
fn values_out_of_bounds(
    text: &str,
    name: &str,
    bounds: &Map<String, Value>,
) -> Vec<(String, String)> {
    let bound = |key: &str| bounds.get(key).and_then(Value::as_u64);
    let start = format!("`{name}=");
    let sent = text.split(&start).skip(1).filter_map(|rest| rest.split('`').next());
    let numbers = sent.filter_map(|sent| Some((sent, sent.parse::<u64>().ok()?)));
    let wrong = numbers.filter_map(|(sent, number)| {
        let low = bound("minimum").filter(|minimum| number < *minimum);
        let nearest = low.or_else(|| bound("maximum").filter(|maximum| number > *maximum))?;
        Some((format!("{name}={nearest}"), format!("{name}={sent}")))
    });
    wrong.collect()
}

/// Returns the parameters and headers that have a default, a bound or a bounded length, each with
/// its JSON pointer. Texts that name a parameter or header must not contradict its numbers.
fn bounded_values(document: &Value) -> Vec<(String, &Value)> {
    let all = pointers(document).into_iter();
    let values = all.filter_map(|pointer| Some((pointer.clone(), document.pointer(&pointer)?)));
    values.filter(|(_, value)| !bounds(&value["schema"]).is_empty()).collect()
}

fn field_descriptions(document: &Value) -> impl Iterator<Item = (String, &str)> {
    let schemas = pointers(document).into_iter();
    let descriptions = schemas.filter(|pointer| {
        pointer.starts_with("/components/schemas/") && pointer.ends_with("/description")
    });
    descriptions.map(|pointer| {
        let description = text(document, &pointer);
        (pointer, description)
    })
}

/// Returns the default and the bounds of an integer, or the length bounds of a string. The length
/// bounds come from the end of the pattern, such as `{1,200}$`.
fn bounds(schema: &Value) -> Map<String, Value> {
    let number = |key: &str| Some((key.to_string(), schema.get(key)?.clone()));
    if schema["type"] == "integer" {
        return ["default", "minimum", "maximum"].into_iter().filter_map(number).collect();
    }
    let pattern = schema.get("pattern").and_then(Value::as_str).unwrap_or_default();
    let lengths = pattern.strip_suffix("}$").and_then(|pattern| pattern.rsplit_once('{'));
    let lengths = lengths.and_then(|(_, lengths)| lengths.split_once(','));
    let length =
        |key: &str, digits: &str| Some((key.to_string(), digits.parse::<u64>().ok()?.into()));
    let lengths = lengths.map(|(min, max)| [length("minimum", min), length("maximum", max)]);
    lengths.into_iter().flatten().flatten().collect()
}

/// Finds phrases whose number differs from the schema. Returns pairs of the corrected phrase and
/// the phrase in the text. `words` has the form of [`BOUNDS`].
fn wrong_numbers(
    text: &str,
    bounds: &Map<String, Value>,
    words: &[(&str, &str, &str)],
    print: fn(u64) -> String,
) -> Vec<(String, String)> {
    let mut wrong = Vec::new();
    for &(before, after, key) in words {
        let Some(bound) = bounds.get(key).and_then(Value::as_u64) else { continue };
        let words = if before.is_empty() { after } else { before };
        for (position, _) in text.match_indices(words) {
            let (start, rest) = text.split_at(position);
            let number = match before {
                "" => start.rsplit(' ').next(),
                _ => rest.strip_prefix(words).and_then(|rest| rest.split([' ', '.', ';']).next()),
            };
            let number = number.unwrap_or_default().trim_end_matches(',');
            if number.replace(',', "").parse() != Ok(bound) && number.starts_with(is_digit) {
                let shown = |number: &str| format!("{before}{number}{after}").trim().to_string();
                wrong.push((shown(&print(bound)), shown(number)));
            }
        }
    }
    wrong
}

fn is_digit(letter: char) -> bool {
    letter.is_ascii_digit()
}

fn text<'d>(document: &'d Value, pointer: &str) -> &'d str {
    document.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the heading and the first paragraph that the guide must have for an error code. Returns
/// an empty string if no document lists the code.
///
/// The status in the heading is the status of the code's first example in the documents. Without an
/// example, the heading keeps `current`, the status that the guide has now.
fn section(documents: &[Value], code: &str, current: &str) -> String {
    let has_code = |document: &Value| codes(document).any(|other| other == code);
    let versions = DOCUMENTS.iter().map(|of| of.module.trim_start_matches('v')).zip(documents);
    let meanings =
        versions.filter(|(_, document)| has_code(document)).map(|(version, document)| {
            (version, text(document, &format!("{CODE}/x-enumDescriptions/{code}")))
        });
    let meanings: Vec<_> = meanings.collect();
    let meaning = match meanings[..] {
        [] => return String::new(),
        [(version, meaning)] if documents.len() > 1 => {
            format!("Only in version {version}: {meaning}")
        }
        [(_, meaning), ref others @ ..] if others.iter().all(|(_, other)| *other == meaning) => {
            meaning.to_string()
        }
        _ => {
            let each = meanings.iter().map(|(version, text)| format!("Version {version}: {text}"));
            each.collect::<Vec<_>>().join(" ")
        }
    };
    let status = documents.iter().find_map(|document| status(document, code));
    let status = status.map_or(current.to_string(), |status| status.to_string());
    format!("### {status} `{code}`\n\n{meaning}")
}

fn status(document: &Value, code: &str) -> Option<u64> {
    fn example<'d>(value: &'d Value, code: &str) -> Option<&'d Value> {
        match value {
            Value::Object(members) => match members.get("examples").and_then(|all| all.get(code)) {
                Some(example) => example.pointer("/value/status"),
                None => members.values().find_map(|member| example(member, code)),
            },
            Value::Array(elements) => elements.iter().find_map(|element| example(element, code)),
            _ => None,
        }
    }
    example(document, code)?.as_u64()
}

fn plan_table(plans: &Map<String, Value>) -> String {
    let number = |number: &Value| number.as_u64().map_or("custom".to_string(), thousands);
    let row = |(plan, limits): (&String, &Value)| {
        let (minute, day) =
            (number(&limits["requestsPerMinute"]), number(&limits["requestsPerDay"]));
        format!("\n| {plan} | {minute} | {day} |")
    };
    let rows: String = plans.iter().map(row).collect();
    format!("{PLANS}\n|---|---|---|{rows}")
}

/// Formats `100000` as `100,000`.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
