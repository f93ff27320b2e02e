//! Reads files of records or ids, and reports bad rows as text. With `--json`, also reports them as
//! JSON.

use super::failure::{Failure, without_secrets};
use super::printer::Printer;
use crate::import::{BadRow, BadRows, Parsed, Problem, Record, Unknown, parse};
use crate::store::StoreError;
use anyhow::Context;
use clap::Args;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

pub fn display_name(file: &Path) -> String {
    if file == Path::new("-") { "standard input".to_string() } else { file.display().to_string() }
}

pub fn read_content(file: &Path) -> anyhow::Result<Vec<u8>> {
    let read = || {
        if file != Path::new("-") {
            return std::fs::read(file);
        }
        let mut content = Vec::new();
        std::io::stdin().lock().read_to_end(&mut content)?;
        Ok(content)
    };
    read().with_context(|| format!("cannot read {}", display_name(file)))
}

/// Reads the records of a file. The result may contain bad rows. If the file cannot be parsed,
/// prints the error with [`show_failure`]. `done` is a participle for that output, such as
/// "imported".
pub fn read_records<R: Record>(
    file: &Path,
    ignore_unknown: bool,
    done: &'static str,
    printer: &mut Printer<'_>,
) -> anyhow::Result<Parsed<R>> {
    let content = read_content(file)?;
    let unknown = if ignore_unknown { Unknown::Ignored(BTreeSet::new()) } else { Unknown::Refused };
    parse::<R>(&content, unknown).or_else(|error| {
        let line = error.line();
        let error = anyhow::Error::from(error).context(display_name(file));
        let row = RowError {
            line,
            column: None,
            field: None,
            problem: Failure::from_error(&error).message,
        };
        show_failure(&error, done, 0, 0, vec![row], printer)?;
        Err(error)
    })
}

#[derive(Args, Clone, Copy, Debug)]
pub struct ShownErrors {
    /// Show all bad rows of the file instead of the first 20
    ///
    /// With --json, the output always contains all bad rows.
    #[arg(long)]
    all_errors: bool,
}

/// Fails unless every row is valid. `done` is a participle such as "imported", for the message and
/// for [`show_failure`].
pub fn require_valid(
    file: &Path,
    bad: BadRows,
    shown: ShownErrors,
    done: &'static str,
    printer: &mut Printer<'_>,
) -> anyhow::Result<()> {
    if bad.count() == 0 {
        return Ok(());
    }
    let text = describe_bad_rows(file, &bad, shown, done);
    // If every bad row names a missing order, the exit status is the same as for a missing order on
    // the command line.
    let error = match bad.are_missing_orders() {
        true => StoreError::NotFound(text).into(),
        false => anyhow::Error::msg(text),
    };
    let rows = bad.rows().flat_map(RowError::from_bad_row).collect();
    show_failure(&error, done, 0, bad.count(), rows, printer)?;
    Err(error)
}

/// With `--json`, prints why a command failed, and how many records the command had already
/// imported or changed. The value of `done`, such as "imported", becomes the name of `count` in the
/// output.
pub fn show_failure(
    error: &anyhow::Error,
    done: &'static str,
    count: usize,
    bad_rows: usize,
    errors: Vec<RowError>,
    printer: &mut Printer<'_>,
) -> std::io::Result<()> {
    if !printer.is_json() {
        return Ok(());
    }
    let failure = Failure::from_error(error);
    printer
        .show(&json!({ "error": failure, done: count, "badRows": bad_rows, "errors": errors }), "")
}

#[derive(Serialize)]
pub struct RowError {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    /// The column, counted from 1. Absent if each line is one record.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'static str>,
    problem: String,
}

impl RowError {
    /// For a problem of the whole file or import, not of one row.
    pub fn without_row(problem: String) -> RowError {
        RowError { line: None, column: None, field: None, problem: without_secrets(&problem) }
    }

    fn from_bad_row(row: &BadRow) -> Vec<RowError> {
        let error = |field, problem: String| RowError {
            line: Some(row.location.line as u64),
            column: Some(row.location.column).filter(|column| *column > 0),
            field,
            problem: without_secrets(&problem),
        };
        match &row.problem {
            Problem::Invalid(problems) => problems
                .iter()
                .map(|problem| error(problem.field, problem.problem.clone()))
                .collect(),
            Problem::InStore { .. } | Problem::Refused(_) => {
                vec![error(Some("id"), row.problem.to_string())]
            }
        }
    }
}

fn describe_bad_rows(file: &Path, bad: &BadRows, shown: ShownErrors, done: &str) -> String {
    let file = display_name(file);
    let mut text = match (bad.count(), bad.rows().next()) {
        (1, Some(row)) => format!("{file}: {row}; nothing was {done}"),
        _ if shown.all_errors => format!("{file}: nothing was {done}, because of:\n{bad:#}"),
        _ => format!("{file}: nothing was {done}, because of:\n{bad}"),
    };
    if bad.rows().any(|row| matches!(row.problem, Problem::InStore { .. })) {
        text.push_str("; --skip-existing passes over ids that are in the store");
    }
    text
}
