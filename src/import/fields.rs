//! The fields of one record, whichever format they came in, and the kinds of
//! value that a field may hold.

use super::Reason;
use chrono::{DateTime, Datelike, Utc};
use std::borrow::Cow;
use store_orders_api::types::plain_int64;

/// A value as the file has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// A CSV cell, which has no type of its own.
    Cell(&'a str),
    /// JSON `null`.
    Null,
    /// A JSON boolean.
    Bool(bool),
    /// A JSON number that is a 64-bit integer.
    Integer(i64),
    /// Any other JSON number, as text.
    Number(String),
    /// A JSON string.
    Text(Cow<'a, str>),
    /// A JSON array.
    Array,
    /// A JSON object.
    Object,
}

impl Value<'_> {
    /// The value as a message quotes it.
    fn shown(&self) -> String {
        match self {
            Value::Cell(text) => quoted(text),
            Value::Null => "null".to_string(),
            Value::Bool(value) => value.to_string(),
            Value::Integer(value) => value.to_string(),
            Value::Number(text) => text.clone(),
            Value::Text(text) => quoted(text),
            Value::Array => "an array".to_string(),
            Value::Object => "an object".to_string(),
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Value::Cell(text) => Some(text),
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Text from the file in a message: on one line and not long.
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}

/// The fields of one record.
#[derive(Debug)]
pub struct Fields<'a> {
    names: &'static [&'static str],
    values: Vec<Option<Value<'a>>>,
}

impl<'a> Fields<'a> {
    /// No field yet, of a record that has these.
    pub fn new(names: &'static [&'static str]) -> Fields<'a> {
        Fields { names, values: vec![None; names.len()] }
    }

    /// The position of the field of this name.
    pub fn position(&self, name: &str) -> Result<usize, Reason> {
        self.names
            .iter()
            .position(|known| *known == name)
            .ok_or_else(|| Reason::Unknown { name: quoted(name), known: self.names })
    }

    /// Sets the field at this position, which must not be set yet.
    pub fn set(&mut self, position: usize, value: Value<'a>) -> Result<(), Reason> {
        match (self.values.get_mut(position), self.names.get(position)) {
            (Some(slot @ None), _) => *slot = Some(value),
            (_, Some(name)) => return Err(Reason::Twice { name }),
            (_, None) => {}
        }
        Ok(())
    }

    /// A field that every record has.
    pub fn required<T>(&self, name: &'static str, kind: &Kind<T>) -> Result<T, Reason> {
        match self.get(name) {
            None => Err(Reason::Missing { name }),
            Some(value) => kind.of(name, value),
        }
    }

    /// A field that may be absent, which `null` and an empty cell are too.
    pub fn optional<T>(&self, name: &'static str, kind: &Kind<T>) -> Result<Option<T>, Reason> {
        match self.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => kind.of(name, value).map(Some),
        }
    }

    /// An empty cell says that there is no value.
    fn get(&self, name: &str) -> Option<&Value<'a>> {
        let position = self.names.iter().position(|known| *known == name)?;
        let value = self.values.get(position)?.as_ref()?;
        if *value == Value::Cell("") { None } else { Some(value) }
    }
}

/// What a field may hold.
pub struct Kind<T> {
    /// The kind as messages name it.
    pub must_be: &'static str,
    /// What a value is as one of this kind.
    pub read: fn(&Value<'_>) -> Option<T>,
}

impl<T> Kind<T> {
    fn of(&self, name: &'static str, value: &Value<'_>) -> Result<T, Reason> {
        (self.read)(value).ok_or_else(|| Reason::Wrong {
            name,
            must_be: self.must_be,
            found: value.shown(),
        })
    }
}

/// Any 64-bit integer.
pub const INT64: Kind<i64> = Kind { must_be: "a 64-bit integer", read: int64 };

/// What an order may number.
pub const QUANTITY: Kind<i32> = Kind {
    must_be: "an integer from 1 to 2147483647",
    read: |value| i32::try_from(int64(value)?).ok().filter(|quantity| *quantity >= 1),
};

/// `true` or `false`, nothing that merely means it.
pub const BOOL: Kind<bool> = Kind {
    must_be: "true or false",
    read: |value| match value {
        Value::Bool(value) => Some(*value),
        Value::Cell(text) => text.parse().ok(),
        _ => None,
    },
};

/// A moment, in UTC. The year has to keep its four digits there, or the text of
/// it would be RFC 3339 no more.
pub const DATE_TIME: Kind<DateTime<Utc>> = Kind {
    must_be: "an RFC 3339 date-time like 2026-12-01T09:30:00Z, in the years 0000 to 9999 in UTC",
    read: |value| {
        let time = DateTime::parse_from_rfc3339(value.text()?).ok()?.to_utc();
        (0..=9999).contains(&time.year()).then_some(time)
    },
};

/// Text that a person can read. No control characters: an unclosed quote in a
/// CSV file would otherwise swallow the rows after it unnoticed.
pub const LINE_OF_TEXT: Kind<String> = Kind {
    must_be: "text on one line, and not empty",
    read: |value| {
        let text = value.text()?;
        let sound = !text.trim().is_empty() && !text.contains(char::is_control);
        sound.then(|| text.to_string())
    },
};

fn int64(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Integer(value) => Some(*value),
        Value::Cell(text) => plain_int64(text),
        _ => None,
    }
}
