//! Promises that only this API makes: how much an operation promises, how long it stays, and how
//! many requests a plan allows.

use super::findings::{Findings, Place};
use super::resolved::all_operations;
use chrono::{Days, NaiveDate};
use serde_json::Value;

/// The values of `x-stability`, the least first. Without it, an operation is stable.
const STABILITIES: [&str; 3] = ["experimental", "beta", "stable"];

fn rank(stability: Option<&Value>) -> Option<usize> {
    let value = stability.map_or(Some("stable"), Value::as_str)?;
    STABILITIES.iter().position(|other| *other == value)
}

/// An operation may become more stable, never less. To write `stable` out is a
/// promise more, to erase it one less.
pub(super) fn stability(found: &mut Findings, at: &Place<'_>) {
    match (rank(at.old), rank(at.new)) {
        (Some(old), Some(new)) if new > old || (new == old && at.old.is_none()) => {
            found.addition(at, at.transition());
        }
        _ => found.breaking(at, format!("{}: less is promised", at.transition())),
    }
}

/// Whether an operation as it was published promised nothing.
pub(super) fn is_unstable(operation: &Value) -> bool {
    rank(operation.get("x-stability")).is_some_and(|rank| rank < 2)
}

/// Whether an operation as it was published must still be there today.
pub(super) fn must_stay(operation: &Value, today: NaiveDate) -> bool {
    !is_unstable(operation) && !sunset_has_passed(operation, today)
}

/// Whether no operation of a document promised anything.
pub(super) fn all_unstable(document: &Value) -> bool {
    let all = all_operations(document);
    !all.is_empty() && all.iter().all(|(_, operation)| is_unstable(operation))
}

fn day(value: Option<&Value>) -> Option<NaiveDate> {
    value?.as_str()?.parse().ok()
}

/// Whether an operation as it was published may be removed today.
pub(super) fn sunset_has_passed(operation: &Value, today: NaiveDate) -> bool {
    let sunset = day(operation.get("x-sunset"));
    operation["deprecated"] == true && sunset.is_some_and(|sunset| today > sunset)
}

/// How long callers are told before an operation may go, from the publication that first names the
/// day. `publish` checks the document on the day of its publication.
const SUNSET_NOTICE: Days = Days::new(90);

/// `x-sunset`, the day after which a deprecated operation may be removed. Callers plan with it: it
/// may only move away, or go with the deprecation. A new one must leave them time.
pub(super) fn sunset(found: &mut Findings, at: &Place<'_>, operation: &Value) {
    let earliest = found.today + SUNSET_NOTICE;
    match (day(at.old), day(at.new)) {
        (None, Some(new)) if at.old.is_none() && new >= earliest => {
            found.addition(at, format!("may be removed after {new}"));
        }
        (None, Some(new)) if at.old.is_none() => {
            let needed = "callers are told 90 days before, so the first day is";
            found.breaking(at, format!("may be removed after {new}: {needed} {earliest}"));
        }
        (Some(old), Some(new)) if new > old => {
            found.addition(at, format!("stays until {new}, not {old}"));
        }
        (Some(old), Some(new)) => {
            found.breaking(at, format!("may be removed after {new} instead of {old}"));
        }
        (Some(old), _) if at.new.is_none() && operation["deprecated"] != true => {
            found.addition(at, format!("is not removed after {old}"));
        }
        _ => {
            let what = "which is no later day than before";
            found.breaking(at, format!("{}, {what}, such as 2027-12-01", at.transition()));
        }
    }
}

/// `x-plans`: how many requests each plan allows. Callers plan with the figures, and with there
/// being no further limit.
pub(super) fn plans(found: &mut Findings, plans: &Place<'_>) {
    found.each(plans, |found, plan| {
        let plan = plan.schema(plan.key);
        match (plan.old, plan.new) {
            (Some(_), Some(_)) => found.each(&plan, |found, limit| {
                figure(found, &limit.field(limit.key));
            }),
            (Some(_), _) => found.breaking(&plan, "is no longer a plan"),
            _ => found.addition(&plan, "is a new plan"),
        }
    });
}

/// One limit. `null` is agreed per account: a figure for all of them may be lower.
fn figure(found: &mut Findings, limit: &Place<'_>) {
    let number = |value: Option<&Value>| value.and_then(Value::as_u64);
    match (number(limit.old), number(limit.new)) {
        (Some(old), Some(new)) if new > old => {
            found.addition(limit, format!("is raised from {old} to {new}"));
        }
        (Some(old), Some(new)) => {
            found.breaking(limit, format!("is lowered from {old} to {new}"));
        }
        _ if limit.old.is_none() => found.breaking(limit, "is a further limit"),
        _ => found.breaking(limit, limit.transition()),
    }
}
