//! An import, from the file to the store. The file is read, parsed and checked
//! before the store is locked, so a running server waits for the inserts only.

use super::options::Options;
use super::printer::Printer;
use crate::import::{BadRow, BadRows, ParsedRow, Problem, Record, parse};
use crate::store::{ImportOutcome, NewOrder, OperatorStore, StoreError};
use anyhow::Context;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store_orders_api::types::Pet;

/// Arguments of `import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The file; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Skip records whose id is already in the store
    #[arg(long)]
    skip_existing: bool,
}

/// A record that the store holds.
pub trait Importable: Record {
    /// Which of these ids are in the store, in the order given.
    fn existing(store: &dyn OperatorStore, ids: &[i64]) -> Result<Vec<i64>, StoreError>;

    /// Stores all records, or none.
    fn import(
        store: &dyn OperatorStore,
        records: &[Self],
        skip_existing: bool,
        progress: &dyn Fn(),
    ) -> Result<ImportOutcome, StoreError>;
}

impl Importable for NewOrder {
    fn existing(store: &dyn OperatorStore, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
        store.existing_orders(ids)
    }

    fn import(
        store: &dyn OperatorStore,
        records: &[NewOrder],
        skip_existing: bool,
        progress: &dyn Fn(),
    ) -> Result<ImportOutcome, StoreError> {
        store.import_orders(records, skip_existing, progress)
    }
}

impl Importable for Pet {
    fn existing(store: &dyn OperatorStore, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
        store.existing_pets(ids)
    }

    fn import(
        store: &dyn OperatorStore,
        records: &[Pet],
        skip_existing: bool,
        progress: &dyn Fn(),
    ) -> Result<ImportOutcome, StoreError> {
        store.import_pets(records, skip_existing, progress)
    }
}

/// Imports the records of a file: all of them, or none.
pub(super) fn import<R: Importable>(
    args: &ImportArgs,
    options: &Options,
    printer: &mut Printer<'_>,
) -> anyhow::Result<()> {
    let name = name_of(&args.file);
    let content = content_of(&args.file).with_context(|| format!("cannot read {name}"))?;
    let mut parsed = parse::<R>(&content).with_context(|| name.clone())?;
    drop(content);

    let store = options.open_or_create_store()?;
    let skipped = remove_existing(&*store, &mut parsed.rows, args, &mut parsed.bad)?;
    if parsed.bad.count() > 0 {
        return Err(InvalidFile { file: name, bad: parsed.bad }.into());
    }
    let records: Vec<R> = parsed.rows.into_iter().map(|row| row.record).collect();
    let mut outcome = store_all(&*store, &records, args.skip_existing)?;
    outcome.skipped += skipped;
    report::<R>(outcome, printer)
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
fn remove_existing<R: Importable>(
    store: &dyn OperatorStore,
    rows: &mut Vec<ParsedRow<R>>,
    args: &ImportArgs,
    bad: &mut BadRows,
) -> Result<usize, StoreError> {
    let ids: Vec<i64> = rows.iter().map(|row| row.record.id()).collect();
    let existing = R::existing(store, &ids)?;
    let mut next = existing.iter().peekable();
    rows.retain(|row| {
        let id = row.record.id();
        let exists = next.next_if(|existing| **existing == id).is_some();
        if exists && !args.skip_existing {
            bad.add(row.position, Problem::InStore { noun: R::NOUN, id });
        }
        !exists
    });
    Ok(existing.len())
}

/// The store is locked meanwhile, so another thread draws the progress bar: a
/// stalled terminal must not block it.
fn store_all<R: Importable>(
    store: &dyn OperatorStore,
    records: &[R],
    skip_existing: bool,
) -> Result<ImportOutcome, StoreError> {
    if records.is_empty() {
        return Ok(ImportOutcome::default());
    }
    let bar = ProgressBar::new(records.len() as u64).with_style(
        ProgressStyle::with_template("{bar:40} {human_pos} of {human_len}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.enable_steady_tick(Duration::from_millis(100));
    let outcome = R::import(store, records, skip_existing, &|| bar.inc(1));
    bar.finish_and_clear();
    outcome
}

fn report<R: Record>(outcome: ImportOutcome, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    let plural = if outcome.imported == 1 { "" } else { "s" };
    let mut text = format!("imported {} {}{plural}", outcome.imported, R::NOUN);
    if outcome.skipped > 0 {
        text.push_str(&format!("\nskipped {}, already in the store", outcome.skipped));
    }
    Ok(printer.show(&outcome, text)?)
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
