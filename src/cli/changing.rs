//! Ships, cancels and updates existing orders in steps. All orders are checked before the first is
//! changed.

use super::audit::{Change, operator, record};
use super::interrupts::Interrupts;
use super::options::Options;
use super::printer::Printer;
use super::record_file::{
    ShownErrors, display_name, read_content, read_records, require_valid, show_failure,
};
use super::waiting::with_progress;
use crate::import::{BadRows, Location, Problem, order_ids};
use crate::store::{
    Cancelled, OperatorStore, OrderUpdate, Status, StoreError, UnfinishedSteps, can_cancel,
    can_ship, can_update, in_steps, statuses_in_steps,
};
use anyhow::Context;
use chrono::{SubsecRound, Utc};
use clap::Args;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

const NOTHING_CHANGED: &str = "nothing was changed";

#[derive(Args, Debug)]
pub struct UpdateArgs {
    /// File with the updates; `-` reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Ignore fields and columns whose names are unknown
    #[arg(long)]
    ignore_unknown: bool,
    /// Check the file and say what an update would do; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    shown: ShownErrors,
}

impl UpdateArgs {
    pub(super) fn run(&self, options: &Options, printer: &mut Printer<'_>) -> anyhow::Result<()> {
        options.lower_priority();
        let mut parsed =
            read_records::<OrderUpdate>(&self.file, self.ignore_unknown, "changed", printer)?;
        let store = options.open_store()?;
        let rows = parsed.rows.iter().map(|row| (row.record.id, row.location)).collect();
        refuse_rows(&*store, &rows, can_update, &mut parsed.bad)?;
        require_valid(&self.file, parsed.bad, self.shown, "changed", printer)?;
        let updates: Vec<OrderUpdate> = parsed.rows.into_iter().map(|row| row.record).collect();
        if !self.dry_run {
            change(&*store, updates.len(), "updated", printer, |range| {
                let step = updates.get(range).unwrap_or_default();
                store.update_orders(step)?;
                let orders = &*step.iter().map(|update| update.id).collect::<Vec<_>>();
                record(&*store, Change { command: "orders update", orders, ..Change::default() });
                Ok(())
            })?;
        }
        let did = if self.dry_run { "would update" } else { "updated" };
        let text = format!("{did} {}", format_order_count(updates.len()));
        let updated = updates.len();
        let json = match self.dry_run {
            true => json!({ "updated": updated, "dryRun": true }),
            false => json!({ "updated": updated }),
        };
        Ok(printer.show(&json, text)?)
    }
}

/// Ships or cancels pending orders. The audit log records the `reason` of a cancellation.
#[derive(Clone, Copy)]
pub enum PendingChange<'a> {
    Ship,
    Cancel { reason: &'a str },
}

impl PendingChange<'_> {
    fn participle(self) -> &'static str {
        match self {
            PendingChange::Ship => "shipped",
            PendingChange::Cancel { .. } => "cancelled",
        }
    }

    /// Fails if the order must not be changed. `status` is `None` if the order does not exist.
    /// Repeating a change is allowed, because the order then stays as it is.
    fn check(self, id: i64, status: Option<Status>) -> Result<(), StoreError> {
        match self {
            PendingChange::Ship => can_ship(id, status).map(drop),
            PendingChange::Cancel { .. } => can_cancel(id, status).map(drop),
        }
    }

    /// Changes the orders of a step, and records the change in the audit log. Returns the ids of
    /// the changed orders, and the ids of the orders that already had the new status.
    fn make(
        self,
        store: &dyn OperatorStore,
        step: &[i64],
    ) -> Result<(Vec<i64>, Vec<i64>), StoreError> {
        let (command, reason, changed) = match self {
            PendingChange::Ship => ("orders ship", None, store.ship_orders(step)?),
            PendingChange::Cancel { reason } => {
                let by = format!("operator:{}", operator()).into();
                let cancelled = Cancelled { at: Utc::now().trunc_subsecs(0), by };
                ("orders cancel", Some(reason), store.cancel_orders(step, &cancelled)?)
            }
        };
        let (changed, others): (Vec<i64>, Vec<i64>) =
            step.iter().partition(|id| changed.contains(id));
        if !changed.is_empty() {
            record(store, Change { command, orders: &changed, reason, ..Change::default() });
        }
        Ok((changed, others))
    }

    fn show(self, now: &[i64], before: &[i64], printer: &mut Printer<'_>) -> std::io::Result<()> {
        let mut text = format!("{} {}", self.participle(), format_order_count(now.len()));
        if !before.is_empty() {
            let verb = match (self, before.len()) {
                (PendingChange::Ship, 1) => "has shipped",
                (PendingChange::Ship, _) => "have shipped",
                (PendingChange::Cancel { .. }, 1) => "was cancelled",
                (PendingChange::Cancel { .. }, _) => "were cancelled",
            };
            text.push_str(&format!("\n{} {verb} already: {}", before.len(), format_ids(before)));
        }
        let json = match self {
            PendingChange::Ship => json!({ "shipped": now, "alreadyShipped": before }),
            PendingChange::Cancel { .. } => json!({ "cancelled": now, "alreadyCancelled": before }),
        };
        printer.show(&json, text)
    }
}

/// Ships or cancels the orders in `file`, or those in `ids` if `file` is `None`. Checks all orders
/// before the first change.
pub fn change_pending(
    pending: PendingChange<'_>,
    ids: &[i64],
    file: Option<&Path>,
    shown: ShownErrors,
    options: &Options,
    printer: &mut Printer<'_>,
) -> anyhow::Result<()> {
    options.lower_priority();
    let store = options.open_store()?;
    let check = |id, status| pending.check(id, status);
    let ids: Vec<i64> = match file {
        Some(file) => read_ids(&*store, file, check, shown, printer)?,
        None => {
            let ids: Vec<i64> = ids.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
            // The exit status may mean "not found" only if all refused orders are missing.
            // Otherwise prefer another refusal.
            let refusals = refusals(&*store, &ids, check)?.into_iter();
            let first = refusals.min_by_key(|(_, why)| matches!(why, StoreError::NotFound(_)));
            if let Some((_, why)) = first {
                return Err(with_changes(why, NOTHING_CHANGED).into());
            }
            ids
        }
    };
    let (mut changed_now, mut changed_before) = (Vec::new(), Vec::new());
    change(&*store, ids.len(), pending.participle(), printer, |range| {
        let (changed, others) = pending.make(&*store, ids.get(range).unwrap_or_default())?;
        changed_now.extend(changed);
        changed_before.extend(others);
        Ok(())
    })?;
    Ok(pending.show(&changed_now, &changed_before, printer)?)
}

/// Adds `changed`, which says what the command has changed, to the message of a `NotFound` or
/// `Refused`. Keeps the error's kind, because the kind decides the exit status.
fn with_changes(error: StoreError, changed: &str) -> StoreError {
    let whole = |why| format!("{why}; {changed}");
    match error {
        StoreError::NotFound(why) => StoreError::NotFound(whole(why)),
        StoreError::Refused(why) => StoreError::Refused(whole(why)),
        other => other,
    }
}

/// Returns each id in a file once, in ascending order. Fails if the file has no id, an invalid
/// line, or an order that does not pass `check`.
fn read_ids(
    store: &dyn OperatorStore,
    file: &Path,
    check: impl Fn(i64, Option<Status>) -> Result<(), StoreError>,
    shown: ShownErrors,
    printer: &mut Printer<'_>,
) -> anyhow::Result<Vec<i64>> {
    let content = String::from_utf8(read_content(file)?)
        .with_context(|| format!("{} is not text with an id on each line", display_name(file)))?;
    let (ids, mut bad) = order_ids(&content);
    let mut rows = BTreeMap::new();
    for (location, id) in ids {
        rows.entry(id).or_insert(location);
    }
    refuse_rows(store, &rows, check, &mut bad)?;
    require_valid(file, bad, shown, "changed", printer)?;
    if rows.is_empty() {
        anyhow::bail!("{} has no id; write one on each line", display_name(file));
    }
    Ok(rows.into_keys().collect())
}

fn refuse_rows(
    store: &dyn OperatorStore,
    rows: &BTreeMap<i64, Location>,
    check: impl Fn(i64, Option<Status>) -> Result<(), StoreError>,
    bad: &mut BadRows,
) -> Result<(), StoreError> {
    let ids: Vec<i64> = rows.keys().copied().collect();
    for (id, why) in refusals(store, &ids, check)? {
        if let Some(location) = rows.get(&id) {
            bad.add(*location, Problem::Refused(why));
        }
    }
    Ok(())
}

fn refusals(
    store: &dyn OperatorStore,
    ids: &[i64],
    check: impl Fn(i64, Option<Status>) -> Result<(), StoreError>,
) -> Result<Vec<(i64, StoreError)>, StoreError> {
    let statuses = statuses_in_steps(store, ids)?;
    let refusal = |id: &i64| Some((*id, check(*id, statuses.get(id).copied()).err()?));
    Ok(ids.iter().filter_map(refusal).collect())
}

/// Changes `count` orders in steps. `step` changes the orders at a range of indexes. `done` is a
/// participle for messages, such as "shipped".
fn change(
    store: &dyn OperatorStore,
    count: usize,
    done: &str,
    printer: &mut Printer<'_>,
    mut step: impl FnMut(Range<usize>) -> Result<(), StoreError>,
) -> anyhow::Result<()> {
    let interrupts = Interrupts::watch()?;
    let ended = with_progress(count, &interrupts, |progress| {
        in_steps(store, count, &mut |range| {
            let end = range.end;
            step(range)?;
            Ok(progress(end))
        })
    });
    store.await_servers();
    let Err(UnfinishedSteps { completed: changed, why }) = ended else { return Ok(()) };
    let count = format_order_count(count);
    let summary = match changed {
        0 => NOTHING_CHANGED.to_string(),
        _ => format!("{changed} of {count} were {done}; repeat the command for the rest"),
    };
    let error = match why {
        Some(why @ StoreError::Unconfirmed) => anyhow::Error::from(why)
            .context(format!("before the last step, {changed} of {count} were {done}")),
        Some(why) if changed == 0 => with_changes(why, NOTHING_CHANGED).into(),
        // An order changed after this command had checked all orders. So the step with that order
        // failed and changed nothing.
        Some(why @ (StoreError::Refused(_) | StoreError::NotFound(_))) => {
            let before = format!("{changed} of {count} were {done} before");
            let rest = "leave it out, and repeat the command for the rest";
            with_changes(why, &format!("{before}; {rest}")).into()
        }
        Some(why) => anyhow::Error::from(why).context(summary),
        None => match interrupts.error(|| summary) {
            Some(signal) => signal.into(),
            None => anyhow::anyhow!("interrupted"),
        },
    };
    show_failure(&error, "changed", changed, 0, Vec::new(), printer)?;
    Err(error)
}

fn format_order_count(count: usize) -> String {
    format!("{count} order{}", if count == 1 { "" } else { "s" })
}

fn format_ids(ids: &[i64]) -> String {
    const SHOWN: usize = 20;
    let mut list: Vec<String> = ids.iter().take(SHOWN).map(i64::to_string).collect();
    if ids.len() > SHOWN {
        list.push("…".to_string());
    }
    list.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::failure::{Failure, FailureCode};

    #[test]
    fn a_refusal_has_the_same_code_in_every_step() {
        for changed in [NOTHING_CHANGED, "500 of 501 orders were shipped before"] {
            for (why, code) in [
                (StoreError::NotFound("order 7 is gone".to_string()), FailureCode::NotFound),
                (StoreError::Refused("order 7 is cancelled".to_string()), FailureCode::Failed),
            ] {
                let expected = format!("{why}; {changed}");
                let failure = Failure::from_error(&with_changes(why, changed).into());
                assert_eq!((failure.code, failure.message), (code, expected));
            }
        }
    }
}
