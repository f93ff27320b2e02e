//! The top level of the document: each part goes to the file that compares it.

use super::findings::Findings;
use super::location::Location;
use super::members::Member;
use super::references::resolved;
use super::{operations, security, servers};
use semver::Version;
use serde_json::Value;

/// Compares every part in which the documents differ.
pub(super) fn compare(findings: &mut Findings, published: &Value, document: &Value) {
    let (old, new) = (resolved(published), resolved(document));
    findings.members(&Location::document(), &old, &new, |findings, member| match member.key {
        "info" => info(findings, member),
        "openapi" => openapi(findings, member),
        "servers" => servers::compare(findings, member),
        "components" => components(findings, member),
        // Both are compared below, with the operations that they are about.
        "paths" | "security" => {}
        "tags" | "externalDocs" => findings.text(member),
        _ => findings.other(member),
    });
    operations::compare(findings, &old, &new);
}

/// Everything but the version is for people.
fn info(findings: &mut Findings, member: &Member<'_>) {
    findings.inside(member, |findings, member| match member.key {
        "version" => {}
        "title" | "summary" | "description" | "termsOfService" | "contact" | "license" => {
            findings.text(member);
        }
        _ => findings.other(member),
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
        _ => findings.breaking(&member.at, member.transition()),
    }
}

/// Components are compared where they are used. Callers know two kinds by name:
/// generated clients name types after schemas, and credentials after schemes.
fn components(findings: &mut Findings, member: &Member<'_>) {
    findings.inside(member, |findings, member| match member.key {
        "schemas" => schema_names(findings, member),
        "securitySchemes" => security::compare_schemes(findings, member),
        "responses" | "headers" | "parameters" | "requestBodies" | "examples" | "links"
        | "callbacks" => {}
        _ => findings.other(member),
    });
}

fn schema_names(findings: &mut Findings, member: &Member<'_>) {
    findings.inside(member, |findings, member| {
        if member.new.is_none() {
            let description = "is removed, and with it a type of generated clients";
            findings.breaking(&member.named(), description);
        }
    });
}
