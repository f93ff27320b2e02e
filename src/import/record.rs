//! The fields of one record, in whichever format they came.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A type of record that an operator imports.
pub trait Record: Sized {
    /// What messages call it.
    const NOUN: &'static str;
    /// The names of its fields in a file.
    const FIELDS: &'static [&'static str];
    /// The fields that every record has.
    const REQUIRED: &'static [&'static str];

    /// The record, or what is wrong with it.
    fn read(fields: &Fields<'_>) -> Result<Self, String>;

    /// Its id, unique among records of its type.
    fn id(&self) -> i64;
}

/// The record's own names for these, which must be known and different.
pub fn field_names<'n, R: Record>(
    names: impl Iterator<Item = &'n str>,
) -> Result<Vec<&'static str>, String> {
    let mut known = Vec::with_capacity(R::FIELDS.len());
    for name in names {
        let field = R::FIELDS.iter().find(|field| **field == name).ok_or_else(|| {
            format!("{} is unknown; the names are {}", quoted(name), R::FIELDS.join(", "))
        })?;
        if known.contains(field) {
            return Err(format!("{field} is given twice"));
        }
        known.push(*field);
    }
    Ok(known)
}

/// The fields of one record.
pub struct Fields<'a>(Vec<(&'static str, FieldValue<'a>)>);

impl<'a> Fields<'a> {
    /// Pairs the names with the values.
    pub fn new(names: &[&'static str], values: impl Iterator<Item = FieldValue<'a>>) -> Self {
        Fields(names.iter().copied().zip(values).collect())
    }

    /// A field that every record has. `read` returns the value, or what it must be.
    pub fn required<T>(&self, name: &str, read: ReadValue<T>) -> Result<T, String> {
        let value = self.get(name).ok_or_else(|| format!("{name} is missing"))?;
        read(value).map_err(|wanted| format!("{name} must be {wanted}, not {}", value.shown()))
    }

    /// A field that may be absent, `null` or an empty cell.
    pub fn optional<T>(&self, name: &str, read: ReadValue<T>) -> Result<Option<T>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(FieldValue::Json(raw)) if raw.get() == "null" => Ok(None),
            Some(_) => self.required(name, read).map(Some),
        }
    }

    fn get(&self, name: &str) -> Option<FieldValue<'a>> {
        let (_, value) = self.0.iter().find(|(field, _)| *field == name)?;
        if matches!(value, FieldValue::Cell("")) { None } else { Some(*value) }
    }
}

/// A value as the file has it.
#[derive(Clone, Copy, Debug)]
pub enum FieldValue<'a> {
    /// A CSV cell, which has no type.
    Cell(&'a str),
    /// A JSON value.
    Json(&'a RawValue),
}

/// Reads a value of a type, or says what it must be.
type ReadValue<T> = fn(FieldValue<'_>) -> Result<T, &'static str>;

impl<'a> FieldValue<'a> {
    /// A JSON value of this type, or a cell that the function takes.
    pub fn read<T: Deserialize<'a>>(self, cell: fn(&'a str) -> Option<T>) -> Option<T> {
        match self {
            FieldValue::Cell(text) => cell(text),
            FieldValue::Json(raw) => serde_json::from_str(raw.get()).ok(),
        }
    }

    /// A JSON string, or any cell.
    pub fn text(self) -> Option<Cow<'a, str>> {
        self.read(|cell| Some(cell.into()))
    }

    /// The value as a message quotes it.
    fn shown(self) -> String {
        let raw = match self {
            FieldValue::Cell(text) => return quoted(text),
            FieldValue::Json(raw) => raw.get(),
        };
        match raw.chars().next() {
            Some('[') => "an array".to_string(),
            Some('{') => "an object".to_string(),
            Some('"') => quoted(self.text().as_deref().unwrap_or(raw)),
            _ => quoted(raw).replace('"', ""),
        }
    }
}

/// Text from the file in a message: on one line, and not long.
pub fn quoted(text: &str) -> String {
    let start: String = text.chars().take(40).collect();
    format!("{start:?}{}", if start.len() < text.len() { "…" } else { "" })
}
