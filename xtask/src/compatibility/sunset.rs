//! `x-sunset`: the day after which a deprecated operation may be removed.

use super::findings::Findings;
use super::members::Member;
use chrono::NaiveDate;
use serde_json::Value;

fn day(value: Option<&Value>) -> Option<NaiveDate> {
    value?.as_str()?.parse().ok()
}

/// Whether an operation as it was published may be removed today.
pub(super) fn has_passed(operation: &Value, today: NaiveDate) -> bool {
    let sunset = day(operation.get("x-sunset"));
    operation["deprecated"] == true && sunset.is_some_and(|sunset| today > sunset)
}

/// Callers plan with the day: it may only move away, or go with the deprecation.
/// A new one must leave them time.
pub(super) fn compare(findings: &mut Findings, member: &Member<'_>, operation: &Value) {
    let today = findings.compared.today;
    match (member.old, day(member.old), member.new, day(member.new)) {
        (None, _, _, Some(new)) if new > today => {
            findings.addition(&member.at, format!("may be removed after {new}"));
        }
        (None, _, _, Some(new)) => findings.breaking(
            &member.at,
            format!("may be removed after {new}, which is not after {today}"),
        ),
        (_, Some(old), _, Some(new)) if new > old => {
            findings.addition(&member.at, format!("stays until {new}, not {old}"));
        }
        (_, Some(old), _, Some(new)) => {
            findings.breaking(&member.at, format!("may be removed after {new} instead of {old}"));
        }
        (_, Some(old), None, _) if operation["deprecated"] != true => {
            findings.addition(&member.at, format!("is not removed after {old}"));
        }
        _ => findings.breaking(
            &member.at,
            format!("{}, which is no later day such as 2027-12-01", member.transition()),
        ),
    }
}
