//! Parses JSON files: either one array, or one object per line.

use super::location::LocationCounter;
use super::record::{field_names, quote};
use super::{
    FieldProblem, FieldValue, Location, ParseError, Parsed, Record, RecordFields, Unknown,
};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The white space that JSON allows around an array and its elements.
const WHITESPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// Parses the elements of the array one by one, so that an invalid record does not end the parsing.
pub fn read_array<R: Record>(text: &str, parsed: &mut Parsed<R>) -> Result<(), ParseError> {
    let elements = match serde_json::from_str::<Vec<&RawValue>>(text) {
        Ok(elements) => elements.into_iter().map(RawValue::get).collect(),
        Err(error) => split_elements(text).ok_or(ParseError::BrokenArray(error))?,
    };
    let mut locations = LocationCounter::new(text.as_bytes());
    for element in elements {
        // An element borrows from the text, so its address gives its offset.
        let offset = element.as_ptr().addr() - text.as_ptr().addr();
        let record = record(element, &mut parsed.unknown);
        parsed.add(locations.location_at(offset), record);
    }
    Ok(())
}

/// Splits an array even if some elements are not valid JSON. Returns `None` if brackets or quotes
/// are unbalanced, or if an element is empty.
fn split_elements(text: &str) -> Option<Vec<&str>> {
    let inside = text.trim_matches(WHITESPACE).strip_prefix('[')?.strip_suffix(']')?;
    let (mut elements, mut start, mut depth) = (Vec::new(), 0, 0_u32);
    let (mut is_string, mut is_escaped) = (false, false);
    for (offset, sign) in inside.char_indices() {
        match sign {
            _ if is_escaped => is_escaped = false,
            '\\' if is_string => is_escaped = true,
            '"' => is_string = !is_string,
            _ if is_string => {}
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                elements.push(inside.get(start..offset)?.trim_matches(WHITESPACE));
                start = offset + 1;
            }
            _ => {}
        }
    }
    elements.push(inside.get(start..)?.trim_matches(WHITESPACE));
    let is_whole = depth == 0 && !is_string && elements.iter().all(|element| !element.is_empty());
    is_whole.then_some(elements)
}

/// Parses NDJSON: one object on each line. Ignores blank lines.
pub fn read_lines<R: Record>(text: &str, parsed: &mut Parsed<R>) {
    for (line, text) in (1..).zip(text.split('\n')).filter(|(_, text)| !text.trim().is_empty()) {
        let record = record(text, &mut parsed.unknown);
        parsed.add(Location { line, column: 0 }, record);
    }
}

fn record<R: Record>(text: &str, unknown: &mut Unknown) -> Result<R, Vec<FieldProblem>> {
    if !text.trim_start().starts_with('{') {
        return Err(vec![format!("must be a JSON object, not {}", quote(text.trim())).into()]);
    }
    let Members { names, values } = serde_json::from_str(text).map_err(|error| {
        let error = error.to_string().replace(" at line 1 column ", " at column ");
        vec![format!("is not valid JSON: {error} of the record").into()]
    })?;
    let names = names.iter().map(|Name(name)| name.as_ref());
    let (names, problems) = field_names::<R>(names, unknown);
    RecordFields::new(&names, values.into_iter().map(FieldValue::Json), problems).read()
}

/// The members of an object, in order. A map would lose repeated names, which must be reported.
struct Members<'a> {
    names: Vec<Name<'a>>,
    values: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members { names: Vec::new(), values: Vec::new() })
    }
}

impl<'de> Visitor<'de> for Members<'de> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some((name, value)) = map.next_entry()? {
            self.names.push(name);
            self.values.push(value);
        }
        Ok(self)
    }
}
