//! Splits long commands into steps. A step that writes is one transaction. While a server uses the
//! store, the command pauses between steps, so that requests seldom wait for a step.

use super::OperatorStore;
use crate::store::{ImportOutcome, RecordKind, Records, Status, StoreError};
use std::collections::HashMap;
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

/// The maximum number of records per transaction while no server uses the store. Also the maximum
/// number of ids per lookup.
pub const STEP_RECORDS: usize = 10_000;

/// The maximum number of records per transaction while a server uses the store. Cancellations wait
/// for the transaction.
///
/// During an import with 10,000 records per step, the 99th percentile of cancellation latency was
/// eight times as high as without an import. With 500 records, it was less than twice as high
/// (PostgreSQL, three replicas). Smaller steps commit more often, so more list requests would find
/// new changes to read.
pub const STEP_RECORDS_BESIDE_SERVERS: usize = 500;

/// The pause after a step, as a multiple of the step's time. On a busy machine, steps take longer,
/// and so do the pauses.
const PAUSE_FACTOR: u32 = 3;

/// The longest pause. Without this maximum, a command that was suspended during a step would pause
/// for [`PAUSE_FACTOR`] times the suspension.
const MAX_PAUSE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct UnfinishedImport {
    /// How many records were imported, and how many were skipped, before the import ended. The
    /// imported records stay in the store.
    pub completed: ImportOutcome,
    pub total: usize,
    pub kind: RecordKind,
    pub why: Option<StoreError>,
}

impl fmt::Display for UnfinishedImport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = self.kind.noun();
        match self.completed.imported {
            imported if matches!(self.why, Some(StoreError::Unconfirmed)) => write!(
                f,
                "before the last step, {imported} of {} {noun}s were imported",
                self.total
            ),
            0 => f.write_str("nothing was imported"),
            imported => write!(
                f,
                "{imported} of {} {noun}s were imported; the same command with --skip-existing \
                 imports the rest",
                self.total
            ),
        }
    }
}

impl std::error::Error for UnfinishedImport {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.why.as_ref().map(|why| why as _)
    }
}

pub struct UnfinishedSteps {
    pub completed: usize,
    /// The error that ended the work. `None` if `step` stopped it by returning `Break`.
    pub why: Option<StoreError>,
}

/// Divides `items` items into consecutive ranges, and calls `step` for each range. `step` changes
/// the items of its range in one transaction. Pauses between two steps if a server uses the store.
///
/// Stops and fails at an error, or if `step` returns `Break` for a range that is not the last.
pub fn in_steps(
    store: &dyn OperatorStore,
    items: usize,
    step: &mut dyn FnMut(Range<usize>) -> Result<ControlFlow<()>, StoreError>,
) -> Result<(), UnfinishedSteps> {
    let mut completed = 0;
    while completed < items {
        let began = Instant::now();
        let is_served =
            store.is_served().map_err(|why| UnfinishedSteps { completed, why: Some(why) })?;
        let size = if is_served { STEP_RECORDS_BESIDE_SERVERS } else { STEP_RECORDS };
        let next = items.min(completed + size);
        let flow =
            step(completed..next).map_err(|why| UnfinishedSteps { completed, why: Some(why) })?;
        completed = next;
        if completed == items {
            break;
        }
        if flow.is_break() {
            return Err(UnfinishedSteps { completed, why: None });
        }
        if is_served {
            pause_after(began);
        }
    }
    Ok(())
}

/// Imports records in steps. The records should be sorted by id, so that each step changes few
/// pages of the snapshot. Calls `progress` after each successful step, and stops if `progress`
/// returns `Break`.
pub fn import_in_steps(
    store: &dyn OperatorStore,
    records: Records<'_>,
    skip_existing: bool,
    progress: &mut dyn FnMut(ImportOutcome) -> ControlFlow<()>,
) -> Result<ImportOutcome, UnfinishedImport> {
    let (kind, total) = (records.kind(), records.count());
    let mut outcome = ImportOutcome::default();
    let result = in_steps(store, total, &mut |range| {
        let stored = store.import(records.step(range), skip_existing)?;
        outcome.imported += stored.imported;
        outcome.skipped += stored.skipped;
        Ok(progress(outcome))
    });
    result.map(|()| outcome).map_err(|UnfinishedSteps { why, .. }| UnfinishedImport {
        completed: outcome,
        total,
        kind,
        why,
    })
}

/// Returns the ids that the store already has, in the order of `ids`. Reads in steps, because a
/// command may have a million ids.
pub fn existing_in_steps(
    store: &dyn OperatorStore,
    kind: RecordKind,
    ids: &[i64],
) -> Result<Vec<i64>, StoreError> {
    read_in_steps(store, ids, |ids| store.existing(kind, ids))
}

pub fn statuses_in_steps(
    store: &dyn OperatorStore,
    ids: &[i64],
) -> Result<HashMap<i64, Status>, StoreError> {
    read_in_steps(store, ids, |ids| store.order_statuses(ids))
}

fn read_in_steps<T, C: IntoIterator<Item = T>, All: Default + Extend<T>>(
    store: &dyn OperatorStore,
    ids: &[i64],
    read: impl Fn(&[i64]) -> Result<C, StoreError>,
) -> Result<All, StoreError> {
    let mut all = All::default();
    for ids in ids.chunks(STEP_RECORDS) {
        let began = Instant::now();
        all.extend(read(ids)?);
        if store.is_served()? {
            pause_after(began);
        }
    }
    Ok(all)
}

fn pause_after(began: Instant) {
    std::thread::sleep(MAX_PAUSE.min(PAUSE_FACTOR * began.elapsed()));
}
