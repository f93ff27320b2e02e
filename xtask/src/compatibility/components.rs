//! Components: they are compared where they are used. Callers know two kinds by
//! name: schemas, which name types of generated clients, and security schemes.

use super::findings::Findings;
use super::members::Member;
use super::operations::Operation;
use super::{security, stability, sunset};
use serde_json::Value;
use std::collections::BTreeSet;

/// Compares what callers know by name. `published` still has its references.
pub(super) fn compare(findings: &mut Findings, member: &Member<'_>, published: &Value) {
    findings.inside(member, |findings, member| match member.key {
        "schemas" => findings.inside(member, |findings, schema| {
            if schema.new.is_none() {
                removed_schema(findings, schema, published);
            }
        }),
        "securitySchemes" => security::compare_schemes(findings, member),
        "responses" | "headers" | "parameters" | "requestBodies" | "examples" | "links"
        | "callbacks" => {}
        _ => findings.other(member),
    });
}

/// A schema goes with its operations, if all of them may go.
fn removed_schema(findings: &mut Findings, schema: &Member<'_>, published: &Value) {
    let today = findings.compared.today;
    let reference = format!("#/components/schemas/{}", schema.key);
    let users: Vec<_> = Operation::all(published)
        .into_iter()
        .filter(|operation| {
            let mut reached = BTreeSet::new();
            reach(published, operation.value, &mut reached);
            reached.contains(&reference)
        })
        .collect();
    let may_go = |operation: &Operation<'_>| {
        stability::is_unstable(operation.value) || sunset::has_passed(operation.value, today)
    };
    let at = schema.at.schema(schema.key);
    if !users.is_empty() && users.iter().all(may_go) {
        findings.addition(&at, "is removed with the operations that used it");
    } else {
        findings.breaking(&at, "is removed, and with it a type of generated clients");
    }
}

/// Adds every reference below a value, followed.
fn reach(document: &Value, value: &Value, reached: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            if let Some(reference) = reference.filter(|text| reached.insert(text.to_string())) {
                let target = reference.strip_prefix('#').and_then(|at| document.pointer(at));
                target.into_iter().for_each(|target| reach(document, target, reached));
            }
            members.values().for_each(|member| reach(document, member, reached));
        }
        Value::Array(elements) => {
            elements.iter().for_each(|element| reach(document, element, reached));
        }
        _ => {}
    }
}
