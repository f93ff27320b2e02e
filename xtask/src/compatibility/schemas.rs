//! Schemas: the set of values that callers send or receive. Each keyword narrows the set by
//! itself, so each is judged by itself.

use super::change::Verdict;
use super::findings::{Direction, Findings, Place, shorten};
use codegen::pointer::component;
use serde_json::{Value, json};

/// Compares two schemas of one value; without one, everything is allowed.
pub(super) fn compare(found: &mut Findings, at: &Place<'_>, direction: Direction) {
    let any = json!({});
    let schema = at.component().map_or(at.clone(), |name| at.schema(name));
    let schema = schema.with(at.old.or(Some(&any)), at.new.or(Some(&any)));
    renamed(found, at, &schema);
    let (old, new) = (keyword(schema.old, "type"), keyword(schema.new, "type"));
    let is_retyped = old != new;
    found.each(&schema, |found, member| match member.key {
        "type" => found.breaking(member, member.transition()),
        // Of another type, no keyword says anything about the old one.
        _ if is_retyped => {}
        "description" | "example" | "x-enumDescriptions" => found.text(member),
        "deprecated" => found.deprecation(member),
        "properties" => {
            found.each(member, |found, member| field(found, &schema, member, direction))
        }
        "required" => required(found, &schema, member, direction),
        "items" => compare(found, member, direction),
        "x-extensible-enum" => values(found, member, Verdict::Breaking, Verdict::Addition),
        "enum" if member.both().is_some() => {
            values(found, member, direction.fewer(), direction.more());
        }
        "enum" | "minimum" | "minLength" | "minItems" | "maximum" | "maxLength" | "maxItems" => {
            bound(found, member, direction);
        }
        _ => found.other(member),
    });
}

/// Another component is the same on the wire, but generated clients name the type after it. Where
/// the old one is gone, that is reported of it.
fn renamed(found: &mut Findings, at: &Place<'_>, schema: &Place<'_>) {
    let (old, new) = (at.old.and_then(component), at.new.and_then(component));
    if let (Some(old), Some(new)) = (old, new)
        && old != new
    {
        let described =
            format!("takes the place of {old}, and with it the type in generated clients");
        found.addition(&schema.schema(new), described);
    }
}

fn keyword<'a>(schema: Option<&'a Value>, key: &str) -> Option<&'a Value> {
    schema?.get(key)
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn field(found: &mut Findings, schema: &Place<'_>, member: &Place<'_>, direction: Direction) {
    let at = member.field(member.key);
    let is_required = list(keyword(schema.new, "required")).iter().any(|name| name == member.key);
    match (at.old, at.new, direction) {
        (Some(_), Some(_), _) => compare(found, &at, direction),
        (Some(_), _, Direction::Sent) => found.breaking(&at, "is no longer accepted"),
        (Some(_), _, Direction::Received) => found.breaking(&at, "is no longer sent"),
        (_, _, Direction::Sent) if is_required => {
            found.breaking(&at, "is a new field that must be sent");
        }
        (_, Some(_), Direction::Sent) => {
            // What callers sent under this name as a further field must stay allowed.
            if let Some(further) = keyword(schema.old, "additionalProperties")
                && !further.is_boolean()
            {
                compare(found, &at.with(Some(further), at.new), direction);
            }
            found.addition(&at, "is a new field to send");
        }
        // A caller who was promised other further fields, or none, may reject a new one.
        _ if keyword(schema.old, "additionalProperties").is_some() => {
            found.breaking(&at, "is a new field where further fields were promised");
        }
        _ => found.addition(&at, "is a new field"),
    }
}

/// Which fields must be there. Fields that were added or removed are reported as such.
fn required(found: &mut Findings, schema: &Place<'_>, member: &Place<'_>, direction: Direction) {
    let (old, new) = (list(member.old), list(member.new));
    let is_field = |of: Option<&Value>, name: &str| {
        keyword(of, "properties").is_some_and(|fields| fields.get(name).is_some())
    };
    let stays = |name: &&str| is_field(schema.old, name) == is_field(schema.new, name);
    let only_in = |one: &[Value], other: &[Value]| -> Vec<String> {
        let only = one.iter().filter(|name| !other.contains(name)).filter_map(Value::as_str);
        only.filter(stays).map(str::to_string).collect()
    };
    for name in only_in(old, new) {
        found.add(&member.field(&name), direction.more(), "is no longer required");
    }
    for name in only_in(new, old) {
        found.add(&member.field(&name), direction.fewer(), "is required");
    }
}

/// Lists of values: `enum`, which is complete, and `x-extensible-enum`, which lists those that
/// programs may know while others may follow. Each is a promise, and a new one is announced.
fn values(found: &mut Findings, member: &Place<'_>, fewer: Verdict, more: Verdict) {
    let (old, new) = (list(member.old), list(member.new));
    let at = |value: &Value| {
        let text = shorten(Some(value));
        member.named(value.as_str().unwrap_or(&text))
    };
    for value in old.iter().filter(|value| !new.contains(value)) {
        found.add(&at(value), fewer, format!("is no longer a value of {}", member.name));
    }
    for value in new.iter().filter(|value| !old.contains(value)) {
        found.add(&at(value), more, format!("is a new value of {}", member.name));
    }
}

/// A bound, or a list of all values, that only one schema has; or a bound that changes.
fn bound(found: &mut Findings, member: &Place<'_>, direction: Direction) {
    let number = |value: Option<&Value>| value.and_then(Value::as_i64);
    let verdict = match (member.old, member.new, number(member.old), number(member.new)) {
        (None, ..) => direction.fewer(),
        (_, None, ..) => direction.more(),
        (_, _, Some(old), Some(new)) if (new > old) == member.key.starts_with("max") => {
            direction.more()
        }
        (_, _, Some(_), Some(_)) => direction.fewer(),
        _ => return found.other(member),
    };
    found.add(member, verdict, member.transition());
}
