//! An import, from the file to the store. The file is read, parsed and checked whole before its
//! first record is stored.

use super::interrupts::Interrupts;
use super::options::Options;
use super::printer::{Printer, warn};
use super::waiting::with_notice;
use crate::import::{BadRow, BadRows, ParseError, ParsedRow, Problem, Record, Unknown, parse};
use crate::log::ErrorChain;
use crate::store::{
    ImportOutcome, OperatorStore, StoreError, UnfinishedImport, existing_in_steps, import_in_steps,
};
use anyhow::Context;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store_orders_api::types::LARGEST_IN_JAVASCRIPT;

/// Of a busy processor, nine tenths are left to a server.
const LOWER_PRIORITY: i32 = 10;

/// Arguments of `import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The file; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Skip records whose id is already in the store
    #[arg(long)]
    skip_existing: bool,
    /// Ignore fields and columns whose names are unknown
    #[arg(long)]
    ignore_unknown: bool,
    /// Check the file and say what an import would do; write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Imports the records of a file, if all of them are valid.
pub(super) fn import<R: Record>(
    args: &ImportArgs,
    options: &Options,
    printer: &mut Printer<'_>,
) -> anyhow::Result<()> {
    // Requests come first. Not for an embedded store, on which a server waits while it is locked.
    if options.store.store.is_some() {
        // At its usual priority it does the same.
        let _ = rustix::process::nice(LOWER_PRIORITY);
    }
    let name = name_of(&args.file);
    let content = content_of(&args.file).with_context(|| format!("cannot read {name}"))?;
    let unknown =
        if args.ignore_unknown { Unknown::Ignored(BTreeSet::new()) } else { Unknown::Refused };
    let mut parsed = match parse::<R>(&content, unknown) {
        Ok(parsed) => parsed,
        Err(error) => {
            if printer.is_json() {
                printer.show(&NotImported::of_file(&error), "")?;
            }
            return Err(error).context(name);
        }
    };
    drop(content);

    let store = open_store(options, args.dry_run)?;
    let skipped = match &store {
        Some(store) => remove_existing(&**store, &mut parsed.rows, args, &mut parsed.bad)?,
        None => 0,
    };
    if parsed.bad.count() > 0 {
        if printer.is_json() {
            printer.show(&NotImported::of(&parsed.bad), "")?;
        }
        return Err(InvalidFile { file: name, bad: parsed.bad }.into());
    }
    let records: Vec<R> = parsed.rows.into_iter().map(|row| row.record).collect();
    let mut outcome = match store.filter(|_| !args.dry_run) {
        Some(store) => store_all(&*store, &records, args.skip_existing, printer)?,
        None => ImportOutcome { imported: records.len(), skipped: 0 },
    };
    outcome.skipped += skipped;
    let is_inexact = |record: &&R| {
        record.integers().any(|number| number.unsigned_abs() > LARGEST_IN_JAVASCRIPT.unsigned_abs())
    };
    let imported = Imported {
        outcome,
        inexact_in_javascript: records.iter().filter(is_inexact).count(),
        ignored_fields: match parsed.unknown {
            Unknown::Ignored(names) => names,
            Unknown::Refused => BTreeSet::new(),
        },
        dry_run: args.dry_run,
    };
    report::<R>(&imported, printer)
}

/// The store; none if it is missing and must not be created.
fn open_store(options: &Options, dry_run: bool) -> anyhow::Result<Option<Box<dyn OperatorStore>>> {
    match dry_run {
        false => options.open_or_create_store().map(Some),
        true if options.store_is_missing()? => Ok(None),
        true => options.open_store().map(Some),
    }
}

fn name_of(file: &Path) -> String {
    if file == Path::new("-") { "standard input".to_string() } else { file.display().to_string() }
}

fn content_of(file: &Path) -> std::io::Result<Vec<u8>> {
    if file != Path::new("-") {
        return std::fs::read(file);
    }
    let mut content = Vec::new();
    std::io::stdin().lock().read_to_end(&mut content)?;
    Ok(content)
}

/// Removes the rows whose id is in the store, and returns their number. They are
/// bad rows unless --skip-existing is set.
fn remove_existing<R: Record>(
    store: &dyn OperatorStore,
    rows: &mut Vec<ParsedRow<R>>,
    args: &ImportArgs,
    bad: &mut BadRows,
) -> Result<usize, StoreError> {
    let ids: Vec<i64> = rows.iter().map(|row| row.record.id()).collect();
    let existing = existing_in_steps(store, R::KIND, &ids)?;
    let mut next = existing.iter().peekable();
    rows.retain(|row| {
        let id = row.record.id();
        let exists = next.next_if(|existing| **existing == id).is_some();
        if exists && !args.skip_existing {
            bad.add(row.position, Problem::InStore { noun: R::KIND.noun(), id });
        }
        !exists
    });
    Ok(existing.len())
}

/// Another thread draws the progress bar: a stalled terminal must not hold up the import. A signal
/// ends it after the step under way.
fn store_all<R: Record>(
    store: &dyn OperatorStore,
    records: &[R],
    skip_existing: bool,
    printer: &mut Printer<'_>,
) -> anyhow::Result<ImportOutcome> {
    if records.is_empty() {
        return Ok(ImportOutcome::default());
    }
    let interrupts = Interrupts::watch()?;
    let bar = ProgressBar::new(records.len() as u64).with_style(
        ProgressStyle::with_template("{bar:40} {human_pos} of {human_len}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.enable_steady_tick(Duration::from_millis(100));
    let imported = with_notice(|is_at_work| {
        import_in_steps(store, R::records(records), skip_existing, &mut |done| {
            bar.set_position((done.imported + done.skipped) as u64);
            is_at_work();
            interrupts.status().map_or(ControlFlow::Continue(()), |_| ControlFlow::Break(()))
        })
    });
    bar.finish_and_clear();
    store.await_servers();
    imported.map_err(|unfinished| {
        if printer.is_json()
            && let Err(error) = printer.show(&NotImported::of_rest(&unfinished), "")
        {
            return error.into();
        }
        match interrupts.error(|| unfinished.to_string()) {
            Some(signal) if unfinished.why.is_none() => signal.into(),
            _ => unfinished.into(),
        }
    })
}

/// What an import did, or would do.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Imported {
    #[serde(flatten)]
    outcome: ImportOutcome,
    /// Records with an id that JavaScript rounds.
    inexact_in_javascript: usize,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    ignored_fields: BTreeSet<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

fn report<R: Record>(imported: &Imported, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    let ImportOutcome { imported: count, skipped } = imported.outcome;
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let (stored, passed_over) =
        if imported.dry_run { ("would import", "would skip") } else { ("imported", "skipped") };
    let mut text = format!("{stored} {count} {}{}", R::KIND.noun(), plural(count));
    if skipped > 0 {
        text.push_str(&format!("\n{passed_over} {skipped}, already in the store"));
    }
    if !imported.ignored_fields.is_empty() {
        let names: Vec<String> =
            imported.ignored_fields.iter().map(|name| format!("{name:?}")).collect();
        text.push_str(&format!("\nignored the fields {}", names.join(", ")));
    }
    let inexact = imported.inexact_in_javascript;
    if inexact > 0 {
        warn(format_args!(
            "{inexact} {}{} with an id beyond 2^53-1 ({LARGEST_IN_JAVASCRIPT}): JavaScript rounds \
             it, so that a client in it may name another record",
            R::KIND.noun(),
            plural(inexact)
        ));
    }
    Ok(printer.show(imported, text)?)
}

/// What an import did that did not end well, and why.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NotImported {
    /// Those of the steps before.
    imported: usize,
    bad_rows: usize,
    /// The first of them.
    errors: Vec<RowError>,
}

#[derive(Serialize)]
struct RowError {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    problem: String,
}

impl NotImported {
    fn of(bad: &BadRows) -> NotImported {
        let error = |row: &BadRow| RowError {
            line: Some(row.position.line as u64),
            problem: row.problem.to_string(),
        };
        let errors = bad.first().iter().map(error).collect();
        NotImported { imported: 0, bad_rows: bad.count(), errors }
    }

    /// Of a file that cannot be read at all.
    fn of_file(error: &ParseError) -> NotImported {
        NotImported::because(error, error.line())
    }

    /// Of an import that ended before its last step.
    fn of_rest(unfinished: &UnfinishedImport) -> NotImported {
        let imported = unfinished.done.imported;
        NotImported { imported, ..NotImported::because(unfinished, None) }
    }

    fn because(error: &dyn std::error::Error, line: Option<u64>) -> NotImported {
        let errors = vec![RowError { line, problem: ErrorChain(error).to_string() }];
        NotImported { imported: 0, bad_rows: 0, errors }
    }
}

/// A file with bad rows.
#[derive(Debug)]
struct InvalidFile {
    file: String,
    bad: BadRows,
}

impl std::error::Error for InvalidFile {}

impl fmt::Display for InvalidFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bad.first() {
            [row] => {
                write!(f, "{}: {row}; nothing was imported", self.file)?;
            }
            _ => {
                write!(f, "{}: nothing was imported, because of:\n{}", self.file, self.bad)?;
            }
        }
        let in_store = |row: &BadRow| matches!(row.problem, Problem::InStore { .. });
        if self.bad.first().iter().any(in_store) {
            f.write_str("; --skip-existing passes over ids that are in the store")?;
        }
        Ok(())
    }
}
