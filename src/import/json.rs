//! JSON: one array, or an object a line.

use super::fields::quoted;
use super::place::{Lines, Place};
use super::{Fields, FileError, Read, Reason, Record, Value};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Reads every element of the array that the text is.
pub fn read_array<R: Record>(text: &str, read: &mut Read<R>) -> Result<(), FileError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let elements = Elements { text, lines: Lines::new(text.as_bytes()), read };
    deserializer
        .deserialize_seq(elements)
        .and_then(|()| deserializer.end())
        .map_err(FileError::BrokenArray)
}

/// Reads an object from every line that is not blank.
pub fn read_lines<R: Record>(text: &str, read: &mut Read<R>) {
    for (number, line) in text.split('\n').enumerate() {
        if !line.trim().is_empty() {
            read.add(Place { line: number + 1, column: 0 }, record(line));
        }
    }
}

/// An array is taken apart into the texts of its elements, which are read one
/// by one: an element that is no sound record does not end the array.
struct Elements<'a, 'r, R> {
    text: &'a str,
    lines: Lines<'a>,
    read: &'r mut Read<R>,
}

impl<'a, R: Record> Visitor<'a> for Elements<'a, '_, R> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'a>>(mut self, mut elements: A) -> Result<(), A::Error> {
        while let Some(element) = elements.next_element::<&RawValue>()? {
            // Borrowed from the text, so where it stands in memory is where it
            // stands in the text.
            let offset = (element.get().as_ptr() as usize) - (self.text.as_ptr() as usize);
            self.read.add(self.lines.place_at(offset), record(element.get()));
        }
        Ok(())
    }
}

fn record<R: Record>(text: &str) -> Result<R, Reason> {
    if !text.trim_start().starts_with('{') {
        return Err(Reason::NotAnObject { found: quoted(text.trim()) });
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let object = Object { fields: Fields::new(R::FIELDS), problem: None };
    let fields = deserializer
        .deserialize_map(object)
        .and_then(|object| deserializer.end().map(|()| object))
        .map_err(|error| not_json(&error))??;
    R::read(&fields)
}

/// The parser's message ends in a place of its own, whose line is always 1 here.
fn not_json(error: &serde_json::Error) -> Reason {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let place = format!(" at line {line} column {column}");
    let what = text.strip_suffix(&place).unwrap_or(&text).to_string();
    Reason::NotJson { what, column }
}

/// Collects the fields of an object. What is wrong with one is kept until the
/// end: that the text is no JSON at all would be the better reason.
struct Object<'a> {
    fields: Fields<'a>,
    problem: Option<Reason>,
}

impl<'a> Visitor<'a> for Object<'a> {
    type Value = Result<Fields<'a>, Reason>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(mut self, mut map: A) -> Result<Self::Value, A::Error> {
        while let Some(position) = map.next_key_seed(Name { fields: &self.fields })? {
            let set = match position {
                Ok(position) => self.fields.set(position, map.next_value_seed(AnyValue)?),
                Err(unknown) => map.next_value::<IgnoredAny>().map(|_| Err(unknown))?,
            };
            if let Err(problem) = set {
                self.problem.get_or_insert(problem);
            }
        }
        Ok(match self.problem {
            Some(problem) => Err(problem),
            None => Ok(self.fields),
        })
    }
}

/// The position of the field that a key names.
struct Name<'f, 'a> {
    fields: &'f Fields<'a>,
}

impl<'de> DeserializeSeed<'de> for Name<'_, '_> {
    type Value = Result<usize, Reason>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_, '_> {
    type Value = Result<usize, Reason>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.fields.position(name))
    }
}

/// Any value, with the difference between a 64-bit integer and other numbers.
struct AnyValue;

impl<'de> DeserializeSeed<'de> for AnyValue {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'de>, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value<'de>, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value<'de>, E> {
        Ok(i64::try_from(value).map_or_else(|_| Value::Number(value.to_string()), Value::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value<'de>, E> {
        Ok(Value::Number(format!("{value:?}")))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(text.to_string())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value<'de>, A::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Array)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Object)
    }
}
