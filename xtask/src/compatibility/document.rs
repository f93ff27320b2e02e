//! The top level of the document: each part goes to the file that compares it.

use super::findings::{Compared, Findings};
use super::location::Location;
use super::members::Member;
use super::references::resolved;
use super::{components, paths, plans, schemas, servers, stability};
use chrono::NaiveDate;
use semver::Version;
use serde_json::Value;

/// Compares every part in which the documents differ.
pub(super) fn compare(published: &Value, document: &Value, today: NaiveDate) -> Findings {
    let compared = Compared { old: resolved(published), new: resolved(document), today };
    let mut findings = Findings::new(compared, schemas::compare);
    let both = findings.compared.clone();
    findings.members(&Location::document(), &both.old, &both.new, |findings, member| {
        match member.key {
            "info" => info(findings, member),
            "openapi" => openapi(findings, member),
            "servers" => shared_servers(findings, member),
            "components" => components::compare(findings, member, published),
            // Both are compared below, with the operations that they are about.
            "paths" | "security" => {}
            "tags" | "externalDocs" => findings.text(member),
            _ => findings.other(&Member { at: member.named(), ..member.clone() }),
        }
    });
    paths::compare(&mut findings);
    findings
}

/// The plans are a promise, the rest but the version is for people.
fn info(findings: &mut Findings, member: &Member<'_>) {
    findings.inside(member, |findings, member| match member.key {
        "version" => {}
        "title" | "summary" | "description" | "termsOfService" | "contact" | "license" => {
            findings.text(member);
        }
        "x-plans" => plans::compare(findings, member),
        _ => findings.other(&Member { at: member.named(), ..member.clone() }),
    });
}

/// Patch versions of OpenAPI only clarify; another minor version needs other
/// tools.
fn openapi(findings: &mut Findings, member: &Member<'_>) {
    let minor = |version: Option<&Value>| {
        let version = Version::parse(version?.as_str()?).ok()?;
        Some((version.major, version.minor))
    };
    match (minor(member.old), minor(member.new)) {
        (Some(old), Some(new)) if old == new => {
            findings.neutral(&member.at, "is a patch version of the same OpenAPI");
        }
        _ => findings.breaking(&member.named(), member.transition()),
    }
}

/// The servers of all operations. Where none of those promised anything, nor did their
/// servers.
fn shared_servers(findings: &mut Findings, member: &Member<'_>) {
    let mut inside = findings.apart();
    servers::compare(&mut inside, &member.at, member.old, member.new);
    let compared = findings.compared.clone();
    if stability::all_unstable(&compared.old) {
        findings.extend(inside, stability::announced);
    } else {
        findings.extend(inside, |change| change);
    }
}
