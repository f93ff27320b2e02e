//! Reads the fields of one record by their names, for CSV and JSON.

use crate::api_key::without_keys;
use crate::store::{RecordKind, Records};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeSet;

pub trait Record: Sized {
    const KIND: RecordKind;
    const FIELDS: &'static [&'static str];
    const REQUIRED: &'static [&'static str];

    /// Reads the record, and adds each problem to `fields`. Returns `None` if a required field is
    /// missing or a field is invalid.
    fn read(fields: &mut RecordFields<'_>) -> Option<Self>;

    /// The id, unique among records of this type.
    fn id(&self) -> i64;
}

pub trait NewRecord: Record {
    fn records(records: &[Self]) -> Records<'_>;
}

/// Returns the record's field for each name, or `None` for an unknown name. The case of letters
/// does not matter. Also returns problems for repeated names, and for unknown names unless
/// `unknown` ignores them.
pub fn field_names<'n, R: Record>(
    names: impl Iterator<Item = &'n str>,
    unknown: &mut Unknown,
) -> (Vec<Option<&'static str>>, Vec<FieldProblem>) {
    let mut matched = Vec::with_capacity(R::FIELDS.len());
    let (mut given, mut repeated) = (BTreeSet::new(), Vec::new());
    let (mut refused, mut refused_count) = (Vec::new(), 0_usize);
    for name in names {
        let field = R::FIELDS.iter().copied().find(|field| field.eq_ignore_ascii_case(name));
        match field {
            None if !unknown.ignore(name) => {
                refused_count += 1;
                if refused.len() < MAX_NAMES {
                    refused.push(quote(name));
                }
            }
            Some(field) if !given.insert(field) && !repeated.contains(&field) => {
                repeated.push(field);
            }
            _ => {}
        }
        matched.push(field);
    }
    let given_twice = |field| FieldProblem::for_field(field, format!("{field} is given twice"));
    let mut problems: Vec<_> = repeated.into_iter().map(given_twice).collect();
    if refused_count > 0 {
        let more = match refused_count - refused.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let are = if refused_count == 1 { "is" } else { "are" };
        let (refused, names) = (refused.join(", "), R::FIELDS.join(", "));
        problems.push(format!("{refused}{more} {are} unknown; the names are {names}").into());
    }
    (matched, problems)
}

/// The maximum number of unknown names that are kept, to bound memory and the printed list.
const MAX_NAMES: usize = 20;

#[derive(Debug)]
pub enum Unknown {
    Refused,
    /// Unknown fields are ignored. Contains the names of the first `MAX_NAMES` unknown fields.
    Ignored(BTreeSet<String>),
}

impl Unknown {
    /// Returns the names of up to [`MAX_NAMES`] ignored fields. Empty if unknown fields are
    /// refused.
    pub fn ignored(self) -> BTreeSet<String> {
        match self {
            Unknown::Ignored(names) => names,
            Unknown::Refused => BTreeSet::new(),
        }
    }

    /// Returns true if unknown fields are ignored. Then also keeps the field's name, up to
    /// [`MAX_NAMES`] names.
    fn ignore(&mut self, name: &str) -> bool {
        let Unknown::Ignored(names) = self else { return false };
        if names.len() < MAX_NAMES {
            names.insert(without_keys(name));
        }
        true
    }
}

pub struct RecordFields<'a> {
    fields: Vec<(&'static str, FieldValue<'a>)>,
    problems: Vec<FieldProblem>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldProblem {
    /// The field; `None` for the record as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<&'static str>,
    /// The problem in words, including the field's name if `field` is given.
    pub problem: String,
}

impl FieldProblem {
    pub fn for_field(field: &'static str, problem: String) -> FieldProblem {
        FieldProblem { field: Some(field), problem }
    }
}

impl From<String> for FieldProblem {
    fn from(problem: String) -> FieldProblem {
        FieldProblem { field: None, problem }
    }
}

impl<'a> RecordFields<'a> {
    /// Drops the value of each unknown name (`None`). `problems` come from [`field_names`].
    pub fn new(
        names: &[Option<&'static str>],
        values: impl Iterator<Item = FieldValue<'a>>,
        problems: Vec<FieldProblem>,
    ) -> Self {
        let fields = names.iter().zip(values).filter_map(|(name, value)| Some(((*name)?, value)));
        RecordFields { fields: fields.collect(), problems }
    }

    pub fn read<R: Record>(mut self) -> Result<R, Vec<FieldProblem>> {
        let record = R::read(&mut self);
        record.filter(|_| self.problems.is_empty()).ok_or(self.problems)
    }

    /// Adds a problem that concerns the record as a whole. Does nothing if the record already has a
    /// problem.
    pub fn refuse(&mut self, problem: &str) {
        if self.problems.is_empty() {
            self.problems.push(problem.to_string().into());
        }
    }

    /// Reads a required field. `read` returns the value, or a description of valid values.
    pub fn required<T>(&mut self, name: &'static str, read: ReadValue<T>) -> Option<T> {
        let Some(value) = self.get(name) else {
            self.problems.push(FieldProblem::for_field(name, format!("{name} is missing")));
            return None;
        };
        let read = read(value);
        read.map_err(|expected| {
            let problem = format!("{name} must be {expected}, not {}", value.describe());
            self.problems.push(FieldProblem::for_field(name, problem));
        })
        .ok()
    }

    /// Reads an optional field. Returns `Some(None)` if the field has no value, and `None` if the
    /// field is invalid.
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

#[derive(Clone, Copy, Debug)]
pub enum FieldValue<'a> {
    Cell(&'a str),
    Json(&'a RawValue),
}

/// A function that reads a value, or fails with a description of valid values.
type ReadValue<T> = fn(FieldValue<'_>) -> Result<T, &'static str>;

impl<'a> FieldValue<'a> {
    pub fn read<T: Deserialize<'a>>(self, cell: fn(&'a str) -> Option<T>) -> Option<T> {
        match self {
            FieldValue::Cell(text) => cell(text),
            FieldValue::Json(raw) => serde_json::from_str(raw.get()).ok(),
        }
    }

    /// Returns the text of a CSV cell or a JSON string. Returns `None` for other JSON values.
    pub fn text(self) -> Option<Cow<'a, str>> {
        self.read(|cell| Some(cell.into()))
    }

    fn describe(self) -> String {
        let raw = match self {
            FieldValue::Cell(text) => return quote(text),
            FieldValue::Json(raw) => raw.get(),
        };
        match raw.chars().next() {
            Some('[') => "an array".to_string(),
            Some('{') => "an object".to_string(),
            Some('"') => quote(self.text().as_deref().unwrap_or(raw)),
            _ => quote(raw).replace('"', ""),
        }
    }
}

/// Quotes text from the file for a message, shortened and on one line. Removes API keys from the
/// text first.
pub fn quote(text: &str) -> String {
    // Keys are removed before the text is shortened, because even the start of a key must not be
    // shown.
    let text = without_keys(text);
    let start: String = text.chars().take(40).collect();
    format!("{start:?}{}", if start.len() < text.len() { "…" } else { "" })
}
