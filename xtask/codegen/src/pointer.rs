//! JSON pointers (RFC 6901), and the references that contain them.

use serde_json::Value;

/// The key that [`resolve_references`] adds to each object that replaces a reference. Its value is
/// the reference, such as `#/components/schemas/Order`.
pub const COMPONENT: &str = "x-component";

/// Appends a key or an index to a JSON pointer. Escapes `~` and `/` in the key (RFC 6901).
pub fn pointer_to(parent: &str, token: &str) -> String {
    format!("{parent}/{}", token.replace('~', "~0").replace('/', "~1"))
}

/// Sets the value at the pointer, or adds a missing member. Returns `None` if the parent or the
/// array element does not exist.
pub fn put(document: &mut Value, pointer: &str, value: Value) -> Option<()> {
    match parent(document, pointer)? {
        (Value::Object(members), key) => {
            members.insert(key, value);
        }
        (Value::Array(elements), index) => {
            *elements.get_mut(index.parse::<usize>().ok()?)? = value;
        }
        _ => return None,
    }
    Some(())
}

/// Removes and returns the value at the pointer. Returns `None` if the pointer is empty or leads to
/// no value.
pub fn take(document: &mut Value, pointer: &str) -> Option<Value> {
    match parent(document, pointer)? {
        // `shift_remove` keeps the order of the other members.
        (Value::Object(members), key) => members.shift_remove(&key),
        (Value::Array(elements), index) => {
            let index = index.parse().ok().filter(|index| *index < elements.len())?;
            Some(elements.remove(index))
        }
        _ => None,
    }
}

fn parent<'a>(document: &'a mut Value, pointer: &str) -> Option<(&'a mut Value, String)> {
    let (parent, token) = pointer.rsplit_once('/')?;
    Some((document.pointer_mut(parent)?, token.replace("~1", "/").replace("~0", "~")))
}

pub fn target<'a>(document: &'a Value, reference: &str) -> Option<&'a Value> {
    document.pointer(reference.strip_prefix('#')?)
}

/// Returns `value` with each reference replaced by its target. If the target is an object, adds the
/// member [`COMPONENT`], whose value is the reference.
///
/// A reference stays if its target is not in the document. A reference within its own target also
/// stays, because replacing it would never end.
pub fn resolve_references(document: &Value, value: &Value) -> Value {
    resolve_within(document, value, &[])
}

fn resolve_within(document: &Value, value: &Value, enclosing: &[&str]) -> Value {
    match value {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            let reference = reference.filter(|reference| !enclosing.contains(reference));
            let target = reference.and_then(|reference| target(document, reference));
            if let (Some(reference), Some(target)) = (reference, target) {
                let enclosing = [enclosing, &[reference]].concat();
                let mut target = resolve_within(document, target, &enclosing);
                if let Value::Object(members) = &mut target {
                    members.insert(COMPONENT.to_string(), reference.into());
                }
                return target;
            }
            let members = members.iter();
            members
                .map(|(key, member)| (key.clone(), resolve_within(document, member, enclosing)))
                .collect()
        }
        Value::Array(elements) => {
            elements.iter().map(|element| resolve_within(document, element, enclosing)).collect()
        }
        other => other.clone(),
    }
}

/// Returns the name of the component that a resolved value comes from.
pub fn component(value: &Value) -> Option<&str> {
    Some(value.get(COMPONENT)?.as_str()?.rsplit_once('/')?.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_is_replaced_added_and_removed() {
        let mut document = json!({ "a/b": [1, 2], "c": {} });
        put(&mut document, "/a~1b/1", json!(3)).unwrap();
        put(&mut document, "/c/~0", json!(4)).unwrap();
        assert_eq!(document, json!({ "a/b": [1, 3], "c": { "~": 4 } }));
        assert_eq!(take(&mut document, "/a~1b/0"), Some(json!(1)));
        assert_eq!(take(&mut document, "/c/~0"), Some(json!(4)));
        assert_eq!(document, json!({ "a/b": [3], "c": {} }));
        for nowhere in ["", "/a~1b/1", "/a~1b/-", "/d/e", "/a~1b/0/x"] {
            assert_eq!(put(&mut document, nowhere, json!(5)), None, "{nowhere}");
            assert_eq!(take(&mut document, nowhere), None, "{nowhere}");
        }
        assert_eq!(document, json!({ "a/b": [3], "c": {} }));
    }

    #[test]
    fn references_are_resolved_and_targets_keep_their_names() {
        let document = json!({ "components": {
            "headers": { "H": { "schema": { "$ref": "#/components/schemas/S" } } },
            "schemas": { "S": { "type": "string" } },
        }, "x": [{ "$ref": "#/components/headers/H" }] });
        let header = &resolve_references(&document, &document["x"])[0];
        let reference = "#/components/schemas/S";
        assert_eq!(header["schema"], json!({ "type": "string", "x-component": reference }));
        assert_eq!((component(header), component(&header["schema"])), (Some("H"), Some("S")));
    }

    #[test]
    fn a_cycle_of_references_ends() {
        let reference = json!({ "$ref": "#/components/schemas/Tree" });
        let document = json!({ "components": { "schemas": { "Tree": { "items": reference } } } });
        let tree = json!({ "items": reference, "x-component": "#/components/schemas/Tree" });
        assert_eq!(resolve_references(&document, &reference), tree);
    }
}
