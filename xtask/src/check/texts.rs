//! Checks that what the documents tell people matches what they tell programs: the table of plans
//! matches `x-plans`, the sections and the list of error codes match `x-extensible-enum`, and
//! numbers such as "100 by default" match the schemas.

use super::inputs::{ALL_DOCUMENTS, Inputs, in_each_document};
use super::problem::{ABSENT, Fix, Problem};
use codegen::compare::pointers;
use serde_json::{Map, Value};

const CODE: &str = "/components/schemas/Error/properties/code";
/// The beginning of the text that lists all error codes.
const LIST: &str = "Today's codes: ";
/// The first line of the table of plans.
const PLANS: &str = "| Plan | Requests per minute | Requests per day |";

pub(super) fn claim(_: &Inputs) -> String {
    format!("the texts of {ALL_DOCUMENTS} have the plans, codes and bounds that programs read")
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    in_each_document(|of| Ok(check_texts(of.file, &inputs.document(of.file)?)))
}

pub fn check_texts(file: &str, document: &Value) -> Vec<Problem> {
    let introduction = text(document, "/info/description");
    let plans = document.pointer("/info/x-plans").and_then(Value::as_object).map(plan_table);
    let code = document.pointer(CODE).unwrap_or(&Value::Null);
    let codes: Vec<_> = code["x-extensible-enum"].as_array().into_iter().flatten().collect();
    let codes: Vec<_> = codes.into_iter().filter_map(Value::as_str).collect();
    let sections = introduction.split("\n### ").skip(1);
    let sections: Vec<_> = sections.map(first_paragraphs).collect();
    let expected_sections = codes.iter().map(|code| section(document, code, &sections));
    let expected_sections: Vec<_> = expected_sections.collect();
    let listed = codes.iter().map(|code| format!("`{code}`")).collect::<Vec<_>>().join(", ");
    let list = format!("{LIST}{listed}.");
    let description = code["description"].as_str().unwrap_or_default();
    let mut problems = Vec::new();
    let mut problem = |pointer: &str, expected: String, found: String, programs: &str| {
        if found != expected {
            problems.push(Problem {
                place: format!("{file}#{pointer}"),
                expected,
                found: if found.is_empty() { ABSENT.to_string() } else { found },
                reasons: Vec::new(),
                fix: Fix::ByHand(format!("edit the text, or {programs}")),
            });
        }
    };
    if let Some(plans) = plans {
        let begin = introduction.find(PLANS);
        let table = begin.and_then(|begin| introduction[begin..].split("\n\n").next());
        problem("/info/description", plans, table.unwrap_or_default().to_string(), "x-plans");
    }
    if !codes.is_empty() {
        let text = |sections: &[String]| {
            let sections = sections.iter().map(|section| format!("### {section}"));
            sections.collect::<Vec<_>>().join("\n\n")
        };
        let programs = "x-extensible-enum and x-enumDescriptions";
        problem("/info/description", text(&expected_sections), text(&sections), programs);
        let current = description.find(LIST).map_or("", |begin| &description[begin..]);
        let place = format!("{CODE}/description");
        problem(&place, list, current.to_string(), "x-extensible-enum");
    }
    let all_pointers = pointers(document);
    for (pointer, named) in bounded_values(document) {
        let sentences = introduction.split_inclusive(['.', '\n', ':']);
        let name = format!("`{}`", named["name"].as_str().unwrap_or_default());
        let mentions = sentences.filter(|sentence| sentence.contains(&name));
        let description = format!("{pointer}/description");
        let described = std::iter::once((description.clone(), text(document, &description)));
        let others = mentions.map(|sentence| ("/info/description".to_string(), sentence));
        // The description of a field may say how to send its value as this parameter.
        let fields = field_descriptions(document).filter(|(_, text)| text.contains(&name));
        let bounds = bounds(&named["schema"]);
        for (place, text) in described.chain(others).chain(fields) {
            for (expected, found) in wrong_numbers(text, &bounds, &BOUNDS, thousands) {
                problem(&place, expected, found, "the schema");
            }
        }
        let parameter = format!(" parameter {} ", named["name"].as_str().unwrap_or_default());
        let messages = all_pointers.iter().filter(|place| place.ends_with("/value/message"));
        for place in messages.filter(|place| text(document, place).contains(&parameter)) {
            for (expected, found) in
                wrong_numbers(text(document, place), &bounds, &RANGE, |number| number.to_string())
            {
                problem(place, expected, found, "the schema");
            }
        }
        for (expected, found) in values_out_of_bounds(introduction, named, &bounds) {
            problem("/info/description", expected, found, "the schema");
        }
    }
    problems
}

/// Phrases around a number that must be the one in the schema: the words before it, the words after
/// it, and the number's key in the schema.
const BOUNDS: [(&str, &str, &str); 6] = [
    ("", " by default", "default"),
    ("", " unless sent", "default"),
    ("", " at most", "maximum"),
    ("at most ", "", "maximum"),
    ("", " at least", "minimum"),
    ("at least ", "", "minimum"),
];

/// Like [`BOUNDS`], for the messages of errors.
const RANGE: [(&str, &str, &str); 2] = [(" from ", "", "minimum"), (" to ", "", "maximum")];

/// Finds code such as `limit=1000` whose value the schema forbids. Returns the expected and the
/// found code.
fn values_out_of_bounds(
    text: &str,
    named: &Value,
    bounds: &Map<String, Value>,
) -> Vec<(String, String)> {
    let name = named["name"].as_str().unwrap_or_default();
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

/// Returns the parameters and headers with numbers in their schemas, each with the pointer to it.
fn bounded_values(document: &Value) -> Vec<(String, &Value)> {
    let all = pointers(document).into_iter();
    let values = all.filter_map(|pointer| Some((pointer.clone(), document.pointer(&pointer)?)));
    values.filter(|(_, value)| !bounds(&value["schema"]).is_empty()).collect()
}

/// Returns the descriptions of the fields in `components`, each with the pointer to it.
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

/// Returns the numbers in a schema by key. For a string, the minimum and maximum are the lengths
/// that its pattern allows.
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

/// Finds numbers in the text that differ from the schema. Returns the expected and the found phrase
/// for each.
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

/// Returns a heading and the paragraph below it.
fn first_paragraphs(text: &str) -> String {
    text.trim_end().split("\n\n").take(2).collect::<Vec<_>>().join("\n\n")
}

/// Returns the expected section of an error code. In the title, the code is in emphasis instead of
/// backticks, because the reference page omits text in backticks from anchors. The status comes
/// from the code's first example or, without an example, from the current section.
fn section(document: &Value, code: &str, sections: &[String]) -> String {
    let heading = format!(" *{code}*");
    let current =
        || sections.iter().find_map(|text| text.split_once(&heading).map(|(status, _)| status));
    let status = status(document, code).map(|status| status.to_string());
    let status = status.or_else(|| current().map(str::to_string)).unwrap_or_default();
    let meanings = document.pointer(CODE).map(|code| &code["x-enumDescriptions"]);
    let meaning = meanings.and_then(|meanings| meanings[code].as_str()).unwrap_or_default();
    format!("{status}{heading}\n\n{meaning}")
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

/// Formats `100000` as `100,000`, as the documents write it.
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
