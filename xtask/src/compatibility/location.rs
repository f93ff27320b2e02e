//! Where a comparison is: the JSON pointer, and the nearest thing that callers
//! know by name.

use crate::compare::pointer_to;

/// A pointer and the name that the changelog uses for what is there.
#[derive(Clone, Debug)]
pub(super) struct Location {
    pub pointer: String,
    pub name: String,
}

impl Location {
    /// The document as a whole.
    pub fn document() -> Location {
        Location { pointer: String::new(), name: "the API".to_string() }
    }

    /// A member without a name of its own.
    pub fn member(&self, key: &str) -> Location {
        Location { pointer: pointer_to(&self.pointer, key), name: self.name.clone() }
    }

    /// A member that callers know by this name.
    pub fn named_member(&self, key: &str, name: &str) -> Location {
        Location { pointer: pointer_to(&self.pointer, key), name: name.to_string() }
    }
}
