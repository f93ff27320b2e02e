//! Compares what two versions of a document promise in `x-stability`, `x-sunset` and `x-plans`.

use super::findings::{ComparedPlace, Findings};
use super::resolved::all_operations;
use chrono::{Days, NaiveDate};
use serde_json::Value;

/// The values of `x-stability`, the least stable first. Without `x-stability`, an operation is
/// stable.
const STABILITIES: [&str; 3] = ["experimental", "beta", "stable"];

fn rank(stability: Option<&Value>) -> Option<usize> {
    let value = stability.map_or(Some("stable"), Value::as_str)?;
    STABILITIES.iter().position(|other| *other == value)
}

/// Compares `x-stability`. An operation may become more stable, but not less stable. An explicit
/// `stable` is a promise in writing. So removing it is breaking, although an operation without
/// `x-stability` counts as stable.
pub(super) fn stability(found: &mut Findings, at: &ComparedPlace<'_>) {
    match (rank(at.old), rank(at.new)) {
        (Some(old), Some(new)) if new > old || (new == old && at.old.is_none()) => {
            found.addition(at, at.transition());
        }
        _ => found.breaking(at, format!("{}: less is promised", at.transition())),
    }
}

/// True if a published operation promised nothing, because it was experimental or in beta.
pub(super) fn is_unstable(operation: &Value) -> bool {
    rank(operation.get("x-stability")).is_some_and(|rank| rank < 2)
}

pub(super) fn must_stay(operation: &Value, today: NaiveDate) -> bool {
    !is_unstable(operation) && !sunset_has_passed(operation, today)
}

pub(super) fn all_unstable(document: &Value) -> bool {
    let all = all_operations(document);
    !all.is_empty() && all.iter().all(|(_, operation)| is_unstable(operation))
}

fn day(value: Option<&Value>) -> Option<NaiveDate> {
    value?.as_str()?.parse().ok()
}

pub(super) fn sunset_has_passed(operation: &Value, today: NaiveDate) -> bool {
    let sunset = day(operation.get("x-sunset"));
    operation["deprecated"] == true && sunset.is_some_and(|sunset| today > sunset)
}

/// The minimum time between today and a new sunset. `cargo xtask publish` checks this minimum again
/// on the day of publication.
const SUNSET_NOTICE: Days = Days::new(90);

/// Compares `x-sunset`, the day after which a deprecated operation may be removed. A new sunset
/// must be at least 90 days after today. A published sunset may only move to a later day, or be
/// removed together with the deprecation.
pub(super) fn sunset(found: &mut Findings, at: &ComparedPlace<'_>, operation: &Value) {
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

/// Compares `x-plans`, the rate limits of each plan. Callers rely on these limits and on the
/// absence of further limits.
pub(super) fn plans(found: &mut Findings, plans: &ComparedPlace<'_>) {
    found.each(plans, |found, plan| {
        let plan = plan.schema(plan.key);
        match (plan.old, plan.new) {
            (Some(_), Some(_)) => found.each(&plan, |found, limit| {
                compare_limit(found, &limit.field(limit.key));
            }),
            (Some(_), _) => found.breaking(&plan, "is no longer a plan"),
            _ => found.addition(&plan, "is a new plan"),
        }
    });
}

/// Compares one limit. `null` means that the limit is agreed with each account. Replacing `null`
/// with a number is breaking, because the number could be lower than an agreed limit.
fn compare_limit(found: &mut Findings, limit: &ComparedPlace<'_>) {
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
