//! The rules of oasdiff, an independent tool, by families of its rule ids (`*` is
//! any text, `|` separates): for each, the pairs that hold our verdict, or why it
//! does not apply to JSON over OpenAPI 3.0. All 515 rule ids of its commit
//! 4553c69d belong to one.

use crate::pairs;
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn every_family_of_rules_has_pairs_or_a_reason() {
    let known: BTreeSet<String> = pairs::all().into_iter().map(|pair| pair.row).collect();
    let families: Vec<Value> = serde_json::from_str(include_str!("families.json")).unwrap();
    let mut seen = BTreeSet::new();
    for family in &families {
        let name = family["family"].as_str().unwrap();
        assert!(seen.insert(name), "{name} is listed twice");
        let rows = family["rows"].as_array().map_or(&[][..], Vec::as_slice);
        let reason = family["reason"].as_str().unwrap_or_default();
        assert!(!rows.is_empty() || !reason.is_empty(), "{name} has neither pairs nor a reason");
        for row in rows {
            assert!(known.contains(row.as_str().unwrap()), "{name}: there is no pair {row}");
        }
    }
    assert!(families.len() > 40);
}
