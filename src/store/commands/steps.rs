//! Long changes in steps, on every engine: each is one change, which servers list at once, and
//! next to servers a rest follows it, so that no import delays a request noticeably.

use super::OperatorStore;
use crate::store::{ImportOutcome, RecordKind, Records, Status, StoreError};
use std::collections::HashMap;
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

/// How many records one transaction stores, all or none, while no server uses the store.
pub const STEP_RECORDS: usize = 10_000;

/// The same next to servers. A cancellation that comes meanwhile waits for the step: with 10,000
/// records 99 % of them took eight times as long as without an import, with 500 less than twice
/// (PostgreSQL, three replicas). With fewer, more lists would have to read a change.
pub const STEP_RECORDS_BESIDE_SERVERS: usize = 500;

/// How many times as long as a step the rest is that follows it, so that a busy machine has longer
/// ones.
const REST_FACTOR: u32 = 3;

/// The longest rest: a command that was suspended during a step would rest for three times as long.
const MAX_REST: Duration = Duration::from_secs(10);

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
            imported if matches!(self.why, Some(StoreError::Unconfirmed)) => write!(
                f,
                "before the last step, {imported} of {} {noun}s were imported",
                self.given
            ),
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

/// What ended work in steps early: how many items were done by then, and why; none if the step
/// said so.
pub struct Ended {
    /// Those of the steps before.
    pub done: usize,
    /// Why it ended.
    pub why: Option<StoreError>,
}

/// Does `step` with this many items: each time with the next of them, which it stores in one
/// transaction. It may end the work, which has no effect after the last.
pub fn in_steps(
    store: &dyn OperatorStore,
    items: usize,
    step: &mut dyn FnMut(Range<usize>) -> Result<ControlFlow<()>, StoreError>,
) -> Result<(), Ended> {
    let mut done = 0;
    while done < items {
        let began = Instant::now();
        let is_served = store.is_served().map_err(|why| Ended { done, why: Some(why) })?;
        let size = if is_served { STEP_RECORDS_BESIDE_SERVERS } else { STEP_RECORDS };
        let next = items.min(done + size);
        let flow = step(done..next).map_err(|why| Ended { done, why: Some(why) })?;
        done = next;
        if done == items {
            break;
        }
        if flow.is_break() {
            return Err(Ended { done, why: None });
        }
        if is_served {
            rest_after(began);
        }
    }
    Ok(())
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
    let mut done = ImportOutcome::default();
    let stored = in_steps(store, given, &mut |range| {
        let stored = store.import(records.step(range), skip_existing)?;
        done.imported += stored.imported;
        done.skipped += stored.skipped;
        Ok(progress(done))
    });
    stored.map(|()| done).map_err(|Ended { why, .. }| UnfinishedImport { done, given, kind, why })
}

/// Which of these ids are in the store already, in their order.
pub fn existing_in_steps(
    store: &dyn OperatorStore,
    kind: RecordKind,
    ids: &[i64],
) -> Result<Vec<i64>, StoreError> {
    read_in_steps(store, ids, |ids| store.existing(kind, ids))
}

/// The status of each of these orders that the store holds.
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
            rest_after(began);
        }
    }
    Ok(all)
}

/// Lets requests come first after a step that began then.
fn rest_after(began: Instant) {
    std::thread::sleep(MAX_REST.min(REST_FACTOR * began.elapsed()));
}
