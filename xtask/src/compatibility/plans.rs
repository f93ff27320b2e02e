//! `x-plans`: how many requests each plan allows. Callers plan with the figures.

use super::findings::Findings;
use super::members::Member;
use serde_json::Value;

/// Compares the plans.
pub(super) fn compare(findings: &mut Findings, plans: &Member<'_>) {
    match (plans.old, plans.new) {
        (None, _) => return findings.addition(&plans.named(), "lists the plans for programs"),
        (_, None) => return findings.breaking(&plans.named(), "is gone, and with it every limit"),
        _ => {}
    }
    findings.inside(plans, |findings, plan| {
        let at = plan.at.schema(plan.key);
        match plan.both() {
            Some((old, new)) => findings.members(&at, old, new, |findings, limit| {
                let limit = Member { at: at.field(limit.key, limit.key), ..limit.clone() };
                figure(findings, &limit);
            }),
            None if plan.old.is_some() => findings.breaking(&at, "is no longer a plan"),
            None => findings.addition(&at, "is a new plan"),
        }
    });
}

/// One limit. `null` is agreed per account: no figure is promised.
fn figure(findings: &mut Findings, limit: &Member<'_>) {
    let number = |value: Option<&Value>| value.and_then(Value::as_u64);
    // Programs read the member, also where it is null.
    let is_open = |value: Option<&Value>| value.is_none_or(Value::is_null);
    match (number(limit.old), number(limit.new)) {
        (Some(old), Some(new)) if new < old => {
            findings.breaking(&limit.at, format!("is lowered from {old} to {new}"));
        }
        (Some(old), Some(new)) => {
            findings.addition(&limit.at, format!("is raised from {old} to {new}"));
        }
        (Some(old), None) => findings.breaking(&limit.at, format!("is no longer {old}")),
        (None, Some(new)) if is_open(limit.old) => {
            findings.addition(&limit.at, format!("is {new} for every account"));
        }
        (None, None) if limit.old.is_none() && is_open(limit.new) => {
            findings.addition(&limit.at, "is agreed per account");
        }
        _ => findings.breaking(&limit.at, limit.transition()),
    }
}
