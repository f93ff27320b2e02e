//! Imports a file into the store. The whole file is parsed and checked before its first record is
//! stored.

use super::audit::{Change, record};
use super::interrupts::Interrupts;
use super::options::Options;
use super::printer::Printer;
use super::record_file::{
    RowError, ShownErrors, display_name, read_records, require_valid, show_failure,
};
use super::waiting::with_progress;
use crate::import::{BadRows, NewRecord, ParsedRow, Problem};
use crate::log::ErrorChain;
use crate::store::{
    ImportOutcome, OperatorStore, RecordKind, StoreError, existing_in_steps, import_in_steps,
};
use clap::Args;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct ImportArgs {
    /// File to import; `-` reads standard input
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
    #[command(flatten)]
    shown: ShownErrors,
}

pub(super) fn import<R: NewRecord>(
    args: &ImportArgs,
    options: &Options,
    printer: &mut Printer<'_>,
) -> anyhow::Result<()> {
    options.lower_priority();
    let mut parsed = read_records::<R>(&args.file, args.ignore_unknown, "imported", printer)?;
    let new_store = options.directory_without_store()?;
    // A dry run, or a file with bad rows, must not create a store.
    let store = match new_store.is_some() && (args.dry_run || parsed.bad.count() > 0) {
        true => None,
        false if args.dry_run => Some(options.open_store()?),
        false => Some(options.open_or_create_store()?),
    };
    let skipped = match &store {
        Some(store) => remove_existing(&**store, &mut parsed.rows, args, &mut parsed.bad)?,
        None => 0,
    };
    require_valid(&args.file, parsed.bad, args.shown, "imported", printer)?;
    let records: Vec<R> = parsed.rows.into_iter().map(|row| row.record).collect();
    let mut outcome = match store.filter(|_| !args.dry_run) {
        Some(store) => store_all(&*store, &records, args, printer)?,
        None => ImportOutcome { imported: records.len(), skipped: 0 },
    };
    outcome.skipped += skipped;
    let imported = Imported {
        outcome,
        ignored_fields: parsed.unknown.ignored(),
        new_store,
        dry_run: args.dry_run,
    };
    report::<R>(&imported, printer)
}

/// Drops the rows whose ids are already in the store, and returns how many. Without
/// --skip-existing, each such row is a bad row.
fn remove_existing<R: NewRecord>(
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
            bad.add(row.location, Problem::InStore { noun: R::KIND.noun(), id });
        }
        !exists
    });
    Ok(existing.len())
}

/// Stores the records in steps. A signal ends the import after the current step.
fn store_all<R: NewRecord>(
    store: &dyn OperatorStore,
    records: &[R],
    args: &ImportArgs,
    printer: &mut Printer<'_>,
) -> anyhow::Result<ImportOutcome> {
    let interrupts = Interrupts::watch()?;
    let file = display_name(&args.file);
    let mut before = ImportOutcome::default();
    let imported = with_progress(records.len(), &interrupts, |progress| {
        import_in_steps(store, R::records(records), args.skip_existing, &mut |done| {
            let (from, to) = (before.imported + before.skipped, done.imported + done.skipped);
            let imported = done.imported - before.imported;
            before = done;
            let step = records.get(from..to).unwrap_or_default();
            if let ([first, ..], [.., last]) = (step, step)
                && imported > 0
            {
                let command = match R::KIND {
                    RecordKind::Order => "orders import",
                    RecordKind::Pet => "pets import",
                };
                let change = Change { command, file: Some(&*file), ..Change::default() };
                let ids = Some((first.id(), last.id()));
                record(store, Change { ids, imported: Some(imported), ..change });
            }
            progress(to)
        })
    });
    store.await_servers();
    imported.map_err(|unfinished| {
        let stored = unfinished.completed.imported;
        let problem = ErrorChain(&unfinished).to_string();
        let error = match interrupts.error(|| unfinished.to_string()) {
            Some(signal) if unfinished.why.is_none() => signal.into(),
            _ => anyhow::Error::from(unfinished),
        };
        match show_failure(
            &error,
            "imported",
            stored,
            0,
            vec![RowError::without_row(problem)],
            printer,
        ) {
            Ok(()) => error,
            Err(unwritable) => unwritable.into(),
        }
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Imported {
    #[serde(flatten)]
    outcome: ImportOutcome,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    ignored_fields: BTreeSet<String>,
    /// The data directory in which the import creates a store, or would create one without
    /// `--dry-run`. Absent if the store already exists or is in PostgreSQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_store: Option<PathBuf>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

fn report<R: NewRecord>(imported: &Imported, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    let ImportOutcome { imported: count, skipped } = imported.outcome;
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let (created, stored, passed_over) = match imported.dry_run {
        true => ("would create", "would import", "would skip"),
        false => ("created", "imported", "skipped"),
    };
    let mut text = String::new();
    if let Some(directory) = &imported.new_store {
        text.push_str(&format!("{created} a new store in {}\n", directory.display()));
    }
    text.push_str(&format!("{stored} {count} {}{}", R::KIND.noun(), plural(count)));
    if skipped > 0 {
        text.push_str(&format!("\n{passed_over} {skipped}, already in the store"));
    }
    if !imported.ignored_fields.is_empty() {
        let names: Vec<String> =
            imported.ignored_fields.iter().map(|name| format!("{name:?}")).collect();
        text.push_str(&format!("\nignored the fields {}", names.join(", ")));
    }
    Ok(printer.show(imported, text)?)
}
