//! Finds every difference between two JSON values.
//!
//! The order of keys is ignored. The order of elements and the type of numbers matter, so 1 differs
//! from 1.0.

use crate::pointer::pointer_to;
use serde_json::Value;

/// A place in which two values differ. `left` or `right` is `None` if that value has nothing in
/// this place. A JSON `null` is `Some`.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference<'a> {
    pub pointer: String,
    pub left: Option<&'a Value>,
    pub right: Option<&'a Value>,
}

/// Returns every difference, in the order of the left value. Within an object, keys that exist only
/// in the right object come last.
pub fn differences<'a>(left: &'a Value, right: &'a Value) -> Vec<Difference<'a>> {
    let mut differences = Vec::new();
    compare("", Some(left), Some(right), &mut differences);
    differences
}

pub fn differing_pointers(left: &Value, right: &Value) -> Vec<String> {
    differences(left, right).into_iter().map(|difference| difference.pointer).collect()
}

pub fn pointers(value: &Value) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut add = |token: &str, member: &Value| {
        let parent = pointer_to("", token);
        all.extend(pointers(member).into_iter().map(|pointer| parent.clone() + &pointer));
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(key, member)| add(key, member)),
        Value::Array(elements) => {
            (0..).zip(elements).for_each(|(index, element)| add(&index.to_string(), element));
        }
        _ => {}
    }
    all
}

/// Returns all leaves (scalars and empty containers) in `value`, with their pointers. `pointer` is
/// the pointer of `value`.
pub fn leaves<'a>(pointer: &str, value: &'a Value) -> Vec<(String, &'a Value)> {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(key, member)| (pointer_to(pointer, key), member)).collect()
        }
        Value::Array(elements) => {
            let elements = elements.iter().enumerate();
            elements
                .map(|(index, value)| (pointer_to(pointer, &index.to_string()), value))
                .collect()
        }
        _ => Vec::new(),
    };
    if inner.is_empty() {
        return vec![(pointer.to_string(), value)];
    }
    inner.into_iter().flat_map(|(pointer, value)| leaves(&pointer, value)).collect()
}

fn compare<'a>(
    pointer: &str,
    left: Option<&'a Value>,
    right: Option<&'a Value>,
    found: &mut Vec<Difference<'a>>,
) {
    match (left, right) {
        // Most values are equal. This arm comes first, so no JSON pointers are built for the
        // members of equal values.
        _ if left == right => {}
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let only_right = right.iter().filter(|(key, _)| !left.contains_key(*key));
            for (key, value) in left {
                compare(&pointer_to(pointer, key), Some(value), right.get(key), found);
            }
            for (key, value) in only_right {
                compare(&pointer_to(pointer, key), None, Some(value), found);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            compare_elements(pointer, left, right, found);
        }
        _ => found.push(Difference { pointer: pointer.to_string(), left, right }),
    }
}

/// Compares elements by position. Skips the equal elements at both ends, so that one inserted
/// element is one difference.
fn compare_elements<'a>(
    pointer: &str,
    left: &'a [Value],
    right: &'a [Value],
    found: &mut Vec<Difference<'a>>,
) {
    let same_start = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    let shorter = left.len().min(right.len());
    let same_end = left
        .iter()
        .rev()
        .zip(right.iter().rev())
        .take(shorter - same_start)
        .take_while(|(left, right)| left == right)
        .count();
    let longer = left.len().max(right.len());
    for position in same_start..longer - same_end {
        let element =
            |side: &'a [Value]| side.get(position).filter(|_| position + same_end < side.len());
        compare(&pointer_to(pointer, &position.to_string()), element(left), element(right), found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_order_of_keys_is_ignored() {
        assert!(differing_pointers(&json!({"a": 1, "b": 2}), &json!({"b": 2, "a": 1})).is_empty());
    }

    #[test]
    fn the_order_of_elements_matters() {
        assert_eq!(differing_pointers(&json!([1, 2, 3]), &json!([1, 3, 2])), ["/1", "/2"]);
    }

    #[test]
    fn an_element_in_front_is_one_difference() {
        assert_eq!(differing_pointers(&json!(["x", "y"]), &json!(["w", "x", "y"])), ["/0"]);
        assert_eq!(differing_pointers(&json!(["x", "x"]), &json!(["x"])), ["/1"]);
        assert_eq!(
            differing_pointers(&json!(["a", "b", "c"]), &json!(["a", "z", "y", "c"])),
            ["/1", "/2"]
        );
    }

    #[test]
    fn every_value_has_a_pointer() {
        assert_eq!(pointers(&json!({"a/": [1, {}]})), ["", "/a~1", "/a~1/0", "/a~1/1"]);
    }
}
