//! Where a comparison is: the JSON pointer, and what the changelog calls it.

use crate::compare::pointer_to;

/// The name of the document as a whole.
const DOCUMENT: &str = "the API";

/// A pointer and the name that the changelog uses for what is there: `Order.id`,
/// `listOrders 401`, `listOrders 200 X-Total`, `getPet petId`.
#[derive(Clone, Debug)]
pub(super) struct Location {
    pub pointer: String,
    pub name: String,
    /// Whether the name is that of a schema or a field: fields follow after a dot.
    is_schema: bool,
}

impl Location {
    /// The document as a whole.
    pub fn document() -> Location {
        Location { pointer: String::new(), name: DOCUMENT.to_string(), is_schema: false }
    }

    /// A member without a name of its own.
    pub fn member(&self, key: &str) -> Location {
        Location { pointer: pointer_to(&self.pointer, key), ..self.clone() }
    }

    /// A member that callers know by this name alone.
    pub fn named_member(&self, key: &str, name: &str) -> Location {
        self.member(key).named(name)
    }

    /// A member that callers know as this part of what is here.
    pub fn part(&self, key: &str, part: &str) -> Location {
        self.member(key).named(&self.name_of(part))
    }

    /// What the changelog calls a part of what is here. The document's parts are
    /// known by themselves.
    pub fn name_of(&self, part: &str) -> String {
        if self.name == DOCUMENT { part.to_string() } else { format!("{} {part}", self.name) }
    }

    /// A field of the schema here.
    pub fn field(&self, key: &str, field: &str) -> Location {
        let dot = if self.is_schema { "." } else { " " };
        Location {
            pointer: pointer_to(&self.pointer, key),
            name: format!("{}{dot}{field}", self.name),
            is_schema: true,
        }
    }

    /// This place under another name.
    pub fn named(&self, name: &str) -> Location {
        Location { name: name.to_string(), is_schema: false, ..self.clone() }
    }

    /// This place, where the schema with this name is.
    pub fn schema(&self, name: &str) -> Location {
        Location { name: name.to_string(), is_schema: true, ..self.clone() }
    }
}
