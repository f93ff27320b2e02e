//! A long import in steps, on every engine: each is one change, which servers list at once, and
//! next to servers a rest follows it, so that no import delays a request noticeably.

use super::OperatorStore;
use crate::store::{ImportOutcome, RecordKind, Records, StoreError};
use std::fmt;
use std::ops::ControlFlow;
use std::time::Instant;

/// How many records one transaction stores, all or none, while no server uses the store.
pub const STEP_RECORDS: usize = 10_000;

/// The same next to servers. A cancellation that comes meanwhile waits for the step: with 10,000
/// records 99 % of them took eight times as long as without an import, with 500 less than twice
/// (PostgreSQL, three replicas). With fewer, more lists would have to read a change.
pub const STEP_RECORDS_BESIDE_SERVERS: usize = 500;

/// How many times as long as a step the rest is that follows it, so that a busy machine has longer
/// ones.
const REST_FACTOR: u32 = 3;

/// An import that ended before its last record.
#[derive(Debug)]
pub struct UnfinishedImport {
    /// What was stored by then, and stays.
    pub done: ImportOutcome,
    /// How many records there were.
    pub given: usize,
    /// What they are.
    pub kind: RecordKind,
    /// Why it ended; none if `progress` did.
    pub why: Option<StoreError>,
}

impl fmt::Display for UnfinishedImport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = self.kind.noun();
        match self.done.imported {
            0 => f.write_str("nothing was imported"),
            imported => write!(
                f,
                "{imported} of {} {noun}s were imported; the same command with --skip-existing \
                 imports the rest",
                self.given
            ),
        }
    }
}

impl std::error::Error for UnfinishedImport {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.why.as_ref().map(|why| why as _)
    }
}

/// Stores these records, whose ids ascend so that a step changes few pages of the list.
/// `progress` is told what has been stored after each step, and may end the import.
pub fn import_in_steps(
    store: &dyn OperatorStore,
    records: Records<'_>,
    skip_existing: bool,
    progress: &mut dyn FnMut(ImportOutcome) -> ControlFlow<()>,
) -> Result<ImportOutcome, UnfinishedImport> {
    let (kind, given) = (records.kind(), records.count());
    let (mut done, mut left) = (ImportOutcome::default(), records);
    let ended = |done, why| UnfinishedImport { done, given, kind, why };
    while left.count() > 0 {
        let began = Instant::now();
        let is_served = store.is_served().map_err(|why| ended(done, Some(why)))?;
        let records = if is_served { STEP_RECORDS_BESIDE_SERVERS } else { STEP_RECORDS };
        let (step, rest) = left.split_at(records);
        let stored = store.import(step, skip_existing).map_err(|why| ended(done, Some(why)))?;
        done.imported += stored.imported;
        done.skipped += stored.skipped;
        left = rest;
        if progress(done).is_break() && left.count() > 0 {
            return Err(ended(done, None));
        }
        if is_served && left.count() > 0 {
            rest_after(began);
        }
    }
    Ok(done)
}

/// Which of these ids are in the store already, in their order.
pub fn existing_in_steps(
    store: &dyn OperatorStore,
    kind: RecordKind,
    ids: &[i64],
) -> Result<Vec<i64>, StoreError> {
    let mut existing = Vec::new();
    for ids in ids.chunks(STEP_RECORDS) {
        let began = Instant::now();
        existing.append(&mut store.existing(kind, ids)?);
        if store.is_served()? {
            rest_after(began);
        }
    }
    Ok(existing)
}

/// Lets requests come first after a step that began then.
fn rest_after(began: Instant) {
    std::thread::sleep(REST_FACTOR * began.elapsed());
}
