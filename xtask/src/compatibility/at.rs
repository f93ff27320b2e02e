//! Where a comparison stands: the place in the document, and the nearest thing
//! that has a name for callers.

use crate::compare::pointer_to;

/// A place and the name of what stands there.
#[derive(Clone, Debug)]
pub(super) struct At {
    /// JSON pointer.
    pub place: String,
    /// What the changelog would call it.
    pub name: String,
}

impl At {
    /// The document as a whole.
    pub fn document() -> At {
        At { place: String::new(), name: "the API".to_string() }
    }

    /// A member without a name of its own.
    pub fn member(&self, key: &str) -> At {
        At { place: pointer_to(&self.place, key), name: self.name.clone() }
    }

    /// A member that callers know by this name.
    pub fn named(&self, key: &str, name: &str) -> At {
        At { place: pointer_to(&self.place, key), name: name.to_string() }
    }
}
