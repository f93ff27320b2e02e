//! The document as a whole: its parts, each handed to the file that judges it.

use super::at::At;
use super::inline::inlined;
use super::judge::Judge;
use super::members::Member;
use super::{operations, security, servers};
use crate::version::Version;
use serde_json::{Value, json};

/// Judges every part in which the documents differ.
pub(super) fn judge(judge: &mut Judge, published: &Value, document: &Value) {
    let (old, new) = (inlined(published, published), inlined(document, document));
    judge.members(&At::document(), &old, &new, |judge, member| match member.key {
        "info" => info(judge, member),
        "openapi" => format(judge, member),
        "servers" => servers::judge(judge, member),
        "components" => components(judge, member),
        // Both are judged below, with the operations that they are about.
        "paths" | "security" => {}
        "tags" | "externalDocs" => judge.text(member),
        _ => judge.other(member),
    });
    operations::judge(judge, &old, &new);
}

/// Everything but the version is for people.
fn info(judge: &mut Judge, member: &Member<'_>) {
    let empty = json!({});
    let (old, new) = (member.old.unwrap_or(&empty), member.new.unwrap_or(&empty));
    judge.members(&member.at, old, new, |judge, member| match member.key {
        "version" => {}
        "title" | "summary" | "description" | "termsOfService" | "contact" | "license" => {
            judge.text(member);
        }
        _ => judge.other(member),
    });
}

/// Patch versions of OpenAPI only explain; any other is read by other tools.
fn format(judge: &mut Judge, member: &Member<'_>) {
    let minor = |version: Option<&Value>| {
        let version = Version::read(version?.as_str()?)?;
        Some((version.major, version.minor))
    };
    match (minor(member.old), minor(member.new)) {
        (Some(old), Some(new)) if old == new => {
            judge.neutral(&member.at, "is a patch version of the same OpenAPI");
        }
        _ => judge.breaking(&member.at, member.turned()),
    }
}

/// Components are judged where they are used. Two kinds have names that callers
/// meet: generated clients name types after schemas, and a scheme is how a
/// caller is let in.
fn components(judge: &mut Judge, member: &Member<'_>) {
    let empty = json!({});
    let (old, new) = (member.old.unwrap_or(&empty), member.new.unwrap_or(&empty));
    judge.members(&member.at, old, new, |judge, member| match member.key {
        "schemas" => schema_names(judge, member),
        "securitySchemes" => security::judge_schemes(judge, member),
        "responses" | "headers" | "parameters" | "requestBodies" | "examples" | "links"
        | "callbacks" => {}
        _ => judge.other(member),
    });
}

fn schema_names(judge: &mut Judge, member: &Member<'_>) {
    let empty = json!({});
    let (old, new) = (member.old.unwrap_or(&empty), member.new.unwrap_or(&empty));
    judge.members(&member.at, old, new, |judge, member| {
        if member.new.is_none() {
            let at = At { name: member.key.to_string(), ..member.at.clone() };
            judge.breaking(&at, "is gone, and with it a type of generated clients");
        }
    });
}
