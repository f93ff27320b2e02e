//! Compares schemas. A schema describes a set of values that callers send or receive. Each keyword
//! restricts this set independently, so the keywords are compared one by one.

use super::change::Verdict;
use super::findings::{ComparedPlace, Direction, Findings, shorten};
use codegen::pointer::component;
use serde_json::{Value, json};

/// Compares the old and the new schema of a value. An absent schema allows everything.
pub(super) fn compare(found: &mut Findings, at: &ComparedPlace<'_>, direction: Direction) {
    let any = json!({});
    let schema = at.component().map_or(at.clone(), |name| at.schema(name));
    let schema = schema.with(at.old.or(Some(&any)), at.new.or(Some(&any)));
    report_rename(found, at, &schema);
    let (old, new) = (keyword(schema.old, "type"), keyword(schema.new, "type"));
    let is_retyped = old != new;
    found.each(&schema, |found, member| match member.key {
        "type" => found.breaking(member, member.transition()),
        // If the type changes, comparing other keywords is meaningless.
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
        "enum" | "minimum" | "maximum" => {
            bound(found, member, direction);
        }
        _ => found.other(member),
    });
}

/// Reports a value that now refers to another component, because generated clients name the value's
/// type after the component.
fn report_rename(found: &mut Findings, at: &ComparedPlace<'_>, schema: &ComparedPlace<'_>) {
    let (old, new) = (at.old.and_then(component), at.new.and_then(component));
    if let (Some(old), Some(new)) = (old, new)
        && old != new
    {
        let description =
            format!("takes the place of {old}, and with it the type in generated clients");
        found.addition(&schema.schema(new), description);
    }
}

fn keyword<'a>(schema: Option<&'a Value>, key: &str) -> Option<&'a Value> {
    schema?.get(key)
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn field(
    found: &mut Findings,
    schema: &ComparedPlace<'_>,
    member: &ComparedPlace<'_>,
    direction: Direction,
) {
    let place = member.field(member.key);
    let is_required = list(keyword(schema.new, "required")).iter().any(|name| name == member.key);
    match (place.old, place.new, direction) {
        (Some(_), Some(_), _) => compare(found, &place, direction),
        (Some(_), _, Direction::Sent) => found.breaking(&place, "is no longer accepted"),
        (Some(_), _, Direction::Received) => found.breaking(&place, "is no longer sent"),
        (_, _, Direction::Sent) if is_required => {
            found.breaking(&place, "is a new field that must be sent");
        }
        (_, _, Direction::Sent) => found.addition(&place, "is a new field to send"),
        _ => found.addition(&place, "is a new field"),
    }
}

/// Compares `required`. Skips added and removed fields, because [`field`] reports them.
fn required(
    found: &mut Findings,
    schema: &ComparedPlace<'_>,
    member: &ComparedPlace<'_>,
    direction: Direction,
) {
    let (old, new) = (list(member.old), list(member.new));
    let is_field = |schema: Option<&Value>, name: &str| {
        keyword(schema, "properties").is_some_and(|fields| fields.get(name).is_some())
    };
    let stays = |name: &&str| is_field(schema.old, name) == is_field(schema.new, name);
    let only_in = |one: &[Value], other: &[Value]| -> Vec<String> {
        let names = one.iter().filter(|name| !other.contains(name)).filter_map(Value::as_str);
        names.filter(stays).map(str::to_string).collect()
    };
    for name in only_in(old, new) {
        found.add(&member.field(&name), direction.more(), "is no longer required");
    }
    for name in only_in(new, old) {
        found.add(&member.field(&name), direction.fewer(), "is required");
    }
}

/// Compares `enum`, which is complete, or `x-extensible-enum`, to which values may be added.
/// `fewer` is the verdict on a removed value, and `more` is the verdict on a new value.
fn values(found: &mut Findings, member: &ComparedPlace<'_>, fewer: Verdict, more: Verdict) {
    let (old, new) = (list(member.old), list(member.new));
    let place = |value: &Value| {
        let text = shorten(Some(value));
        member.named(value.as_str().unwrap_or(&text))
    };
    for value in old.iter().filter(|value| !new.contains(value)) {
        found.add(&place(value), fewer, format!("is no longer a value of {}", member.name));
    }
    for value in new.iter().filter(|value| !old.contains(value)) {
        found.add(&place(value), more, format!("is a new value of {}", member.name));
    }
}

/// Compares a bound. An `enum` that only one of the schemas has counts as a bound.
fn bound(found: &mut Findings, member: &ComparedPlace<'_>, direction: Direction) {
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
