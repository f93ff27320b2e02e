//! The fields of one record, in whichever format they came.

use crate::keys::without_keys;
use crate::store::{RecordKind, Records};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// A type of record that an operator has in a file.
pub trait Record: Sized {
    /// Its type in the store.
    const KIND: RecordKind;
    /// The names of its fields in a file.
    const FIELDS: &'static [&'static str];
    /// The fields that every record has.
    const REQUIRED: &'static [&'static str];

    /// The record; none if a field was invalid, which `fields` then knows.
    fn read(fields: &mut Fields<'_>) -> Option<Self>;

    /// Its id, unique among records of its type.
    fn id(&self) -> i64;
}

/// A type of record that an import adds.
pub trait NewRecord: Record {
    /// All its integers of 64 bits.
    fn integers(&self) -> impl Iterator<Item = i64>;

    /// These, for the store.
    fn records(these: &[Self]) -> Records<'_>;
}

/// The record's own names for these, in any letter case; none where a name is ignored. With
/// them, what is wrong.
pub fn field_names<'n, R: Record>(
    names: impl Iterator<Item = &'n str>,
    unknown: &mut Unknown,
) -> (Vec<Option<&'static str>>, Vec<FieldProblem>) {
    let (mut known, mut problems) = (Vec::with_capacity(R::FIELDS.len()), Vec::new());
    let mut refused = Vec::new();
    for name in names {
        let field = R::FIELDS.iter().copied().find(|field| field.eq_ignore_ascii_case(name));
        match field {
            None if !unknown.ignore(name) => refused.push(quoted(name)),
            Some(field) if known.contains(&Some(field)) => {
                problems.push(FieldProblem::of(field, format!("{field} is given twice")));
            }
            _ => {}
        }
        known.push(field);
    }
    if !refused.is_empty() {
        let are = if refused.len() == 1 { "is" } else { "are" };
        let (refused, names) = (refused.join(", "), R::FIELDS.join(", "));
        problems.push(format!("{refused} {are} unknown; the names are {names}").into());
    }
    (known, problems)
}

/// How many unknown names are kept.
const KEPT_NAMES: usize = 20;

/// What is done with fields whose names are unknown.
#[derive(Debug)]
pub enum Unknown {
    /// They are problems.
    Refused,
    /// They are ignored; the names of the first that were.
    Ignored(BTreeSet<String>),
}

impl Unknown {
    /// The names of the first fields that were ignored.
    pub fn ignored(self) -> BTreeSet<String> {
        match self {
            Unknown::Ignored(names) => names,
            Unknown::Refused => BTreeSet::new(),
        }
    }

    /// Whether a field of this name is ignored.
    fn ignore(&mut self, name: &str) -> bool {
        let Unknown::Ignored(names) = self else { return false };
        if names.len() < KEPT_NAMES {
            names.insert(without_keys(name));
        }
        true
    }
}

/// The fields of one record, and what is wrong with them.
pub struct Fields<'a> {
    fields: Vec<(&'static str, FieldValue<'a>)>,
    problems: Vec<FieldProblem>,
}

/// What is wrong with a record, or with one of its fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldProblem {
    /// The field; none if it is the record as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<&'static str>,
    /// What is wrong, in words that name the field.
    pub problem: String,
}

impl FieldProblem {
    /// What is wrong with a field.
    pub fn of(field: &'static str, problem: String) -> FieldProblem {
        FieldProblem { field: Some(field), problem }
    }
}

impl From<String> for FieldProblem {
    fn from(problem: String) -> FieldProblem {
        FieldProblem { field: None, problem }
    }
}

impl<'a> Fields<'a> {
    /// Pairs the names with the values. `problems` are those of the names.
    pub fn new(
        names: &[Option<&'static str>],
        values: impl Iterator<Item = FieldValue<'a>>,
        problems: Vec<FieldProblem>,
    ) -> Self {
        let fields = names.iter().zip(values).filter_map(|(name, value)| Some(((*name)?, value)));
        Fields { fields: fields.collect(), problems }
    }

    /// The record, or all that is wrong with it.
    pub fn read<R: Record>(mut self) -> Result<R, Vec<FieldProblem>> {
        let record = R::read(&mut self);
        record.filter(|_| self.problems.is_empty()).ok_or(self.problems)
    }

    /// The record as a whole is invalid, unless one of its fields is.
    pub fn refuse(&mut self, problem: &str) {
        if self.problems.is_empty() {
            self.problems.push(problem.to_string().into());
        }
    }

    /// A field that every record has. `read` returns the value, or what it must be.
    pub fn required<T>(&mut self, name: &'static str, read: ReadValue<T>) -> Option<T> {
        let Some(value) = self.get(name) else {
            self.problems.push(FieldProblem::of(name, format!("{name} is missing")));
            return None;
        };
        let read = read(value);
        read.map_err(|wanted| {
            let problem = format!("{name} must be {wanted}, not {}", value.shown());
            self.problems.push(FieldProblem::of(name, problem));
        })
        .ok()
    }

    /// A field that may be absent, `null` or an empty cell: then `Some(None)`.
    pub fn optional<T>(&mut self, name: &'static str, read: ReadValue<T>) -> Option<Option<T>> {
        match self.get(name) {
            None => Some(None),
            Some(FieldValue::Json(raw)) if raw.get() == "null" => Some(None),
            Some(_) => self.required(name, read).map(Some),
        }
    }

    fn get(&self, name: &str) -> Option<FieldValue<'a>> {
        let (_, value) = self.fields.iter().find(|(field, _)| *field == name)?;
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

/// Text from the file in a message: on one line, not long, and without API keys.
pub fn quoted(text: &str) -> String {
    // Before it is shortened: the start of a key alone gives it away.
    let text = without_keys(text);
    let start: String = text.chars().take(40).collect();
    format!("{start:?}{}", if start.len() < text.len() { "…" } else { "" })
}
