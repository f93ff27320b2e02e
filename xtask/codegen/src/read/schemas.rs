//! Converts the schemas of the document to types of the model.

use super::Reader;
use crate::model::{
    Enum, EnumUse, ErrorRecord, Field, IntegerFormat, Item, Record, Type, has_bounds,
};
use crate::names::{ident, pascal};
use crate::node::Node;
use crate::subset;
use heck::ToUpperCamelCase;
use proc_macro2::Ident;

/// Schemars stores bounds as 64-bit floating-point numbers, which represent every integer up to
/// this one exactly.
const MAX_EXACT_BOUND: i64 = 1 << 53;

const ERROR_CODE: &str = "/components/schemas/Error/properties/code";

impl<'a> Reader<'a> {
    /// Reads the schemas in `components`. Refuses a schema that is recursive or not an object.
    pub(super) fn component_schemas(&mut self) {
        let schemas = self.root.get_path(&["components", "schemas"]);
        let schemas: Vec<_> = schemas.iter().flat_map(Node::members).collect();
        // Components get their names before inline schemas, so that a conflict of names is reported
        // at the inline schema.
        let names: Vec<_> =
            schemas.iter().map(|(key, node)| self.claim_name(node, pascal(key), key)).collect();
        for ((key, node), name) in schemas.iter().zip(names) {
            let Some(name) = name else { continue };
            if self.refers_to(node, &node.pointer, &mut Vec::new()) {
                let fix = "refer to the other by an id";
                self.refuse(node, "is recursive, which is not supported", fix);
                continue;
            }
            if node.text("type") == Some("object") {
                self.record(node, name, key);
            } else {
                let fix = "write it where it is used, or make it an object";
                self.refuse(node, "a named schema of this type is not supported", fix);
            }
        }
    }

    fn refers_to(&self, node: &Node<'a>, start: &str, seen: &mut Vec<String>) -> bool {
        if let Some(target) = node.text("$ref").and_then(|text| self.root.target(text)) {
            if target.pointer == start {
                return true;
            }
            if seen.contains(&target.pointer) {
                return false;
            }
            seen.push(target.pointer.clone());
            return self.refers_to(&target, start, seen);
        }
        let members = node.members().filter(|(key, _)| !key.starts_with("x-"));
        let inner: Vec<_> = members.map(|(_, inner)| inner).chain(node.elements()).collect();
        inner.iter().any(|inner| self.refers_to(inner, start, seen))
    }

    fn record(&mut self, node: &Node<'a>, name: Ident, key: &str) {
        self.check_keys(node, &subset::OBJECT);
        let required: Vec<_> = node.get("required").iter().flat_map(Node::elements).collect();
        let properties = node.get("properties");
        let mut fields: Vec<Field> = Vec::new();
        for (key, property) in properties.iter().flat_map(Node::members) {
            let others = fields.iter().map(|field| (&field.name, field.key.as_str()));
            let Some(field_name) = self.member_name(&property, key, others) else { continue };
            let hint = format!("{name}{}", key.to_upper_camel_case());
            let Some(ty) = self.schema(&property, &hint) else { continue };
            if let Some(default) = property.get("default") {
                let fix = "say in its description what an absent member means";
                self.refuse(&default, "the default of a member is not supported", fix);
            }
            fields.push(Field {
                name: field_name,
                key: key.to_string(),
                description: self.description(&property),
                ty,
                is_required: required.iter().any(|name| name.value == key),
                default: None,
            });
        }
        for required in &required {
            let key = required.value.as_str().unwrap_or_default();
            if properties.as_ref().is_none_or(|properties| properties.get(key).is_none()) {
                let problem = format!("{key:?} is required, but not a property");
                self.refuse(required, problem, "add the property");
            }
        }
        if !required.is_sorted_by_key(|name| name.value.as_str()) {
            let place = node.get("required").unwrap_or(node.clone());
            let fix = "write them in alphabetical order";
            self.refuse(&place, "dropshot emits required members in another order", fix);
        }
        if properties.is_none() {
            self.refuse(node, "an object without `properties` is not supported", "list them");
        }
        let description = self.description(node);
        self.items.push(Item::Record(Record { name, key: key.to_string(), description, fields }));
    }

    /// Reads the type of a schema, and refuses an inline object. Names an inline enum after `hint`.
    pub(super) fn schema(&mut self, node: &Node<'a>, hint: &str) -> Option<Type> {
        if node.get("$ref").is_some() {
            return self.schema_reference(node);
        }
        match node.text("type") {
            Some("boolean") => {
                self.check_keys(node, &subset::BOOLEAN);
                Some(Type::Boolean)
            }
            Some("integer") => self.integer(node),
            Some("string") if is_enum(node) => {
                let name = self.claim_name(node, pascal(hint), hint)?;
                self.enumeration(node, name)
            }
            Some("string") => self.text(node),
            Some("array") => self.list(node, hint),
            Some("object") => {
                self.refuse(node, "an object has no name here", "write it in components/schemas");
                None
            }
            _ => {
                let fix = "write boolean, integer, string, array or a $ref";
                self.refuse(node, "a schema of this form is not supported", fix);
                None
            }
        }
    }

    fn schema_reference(&mut self, node: &Node<'a>) -> Option<Type> {
        let (key, _) = self.component(node, "schemas")?;
        Some(Type::Record(pascal(key)?))
    }

    fn integer(&mut self, node: &Node<'a>) -> Option<Type> {
        self.check_keys(node, &subset::INTEGER);
        let format = match node.text("format") {
            None => IntegerFormat::Plain,
            Some("int32") => IntegerFormat::Bits32,
            Some("int64") => IntegerFormat::Bits64,
            Some(other) => {
                let problem = format!("an integer of the format {other:?} is not supported");
                self.refuse(node, problem, "write int32, int64, or none");
                return None;
            }
        };
        let [min, max] = ["minimum", "maximum"].map(|key| {
            let bound = node.get(key)?;
            let largest = match format {
                IntegerFormat::Bits32 => i64::from(i32::MAX),
                _ => MAX_EXACT_BOUND,
            };
            let exact = bound.value.as_i64().filter(|bound| (-largest..=largest).contains(bound));
            if exact.is_none() {
                let problem =
                    format!("`{key}` must be an integer between -{largest} and {largest}");
                self.refuse(&bound, problem, "leave it out: the type has bounds");
            }
            exact
        });
        Some(Type::Integer { format, min, max })
    }

    fn text(&mut self, node: &Node<'a>) -> Option<Type> {
        self.check_keys(node, &subset::STRING);
        let pattern = node.get("pattern").and_then(|pattern| self.pattern(&pattern));
        match node.text("format") {
            None => Some(Type::Text { pattern }),
            Some("date-time") => {
                if pattern.is_some() {
                    let problem = "a date-time with a pattern is not supported";
                    self.refuse(node, problem, "leave out the pattern");
                }
                Some(Type::DateTime)
            }
            Some(other) => {
                let problem = format!("a string of the format {other:?} is not supported");
                self.refuse(node, problem, "write date-time, or a pattern");
                None
            }
        }
    }

    fn pattern(&mut self, node: &Node<'a>) -> Option<String> {
        let pattern = node.value.as_str()?;
        // Documents use JavaScript's regular expressions. Refuse shorthands, because Rust reads
        // them differently. In Rust, `\d` matches the digits of all scripts.
        let mut shorthands = ["\\d", "\\w", "\\s", "\\b"].into_iter();
        let has_shorthand = shorthands.any(|shorthand| pattern.to_lowercase().contains(shorthand));
        if regex::Regex::new(pattern).is_err() {
            let problem = "the regular expression has what Rust's have not, such as look-around";
            self.refuse(node, problem, "write it without");
        } else if has_shorthand {
            let fix = "write a class such as [0-9]";
            self.refuse(node, "\\d, \\w, \\s and \\b are not supported", fix);
        }
        Some(pattern.to_string())
    }

    fn list(&mut self, node: &Node<'a>, hint: &str) -> Option<Type> {
        let is_body = node.pointer.ends_with("/content/application~1json/schema");
        self.check_keys(node, if is_body { &subset::ARRAY_AS_BODY } else { &subset::ARRAY });
        let Some(items) = node.get("items") else {
            self.refuse(node, "an array needs `items`", "add it");
            return None;
        };
        let item = Box::new(self.schema(&items, &format!("{hint}Item"))?);
        for key in ["description", "default"] {
            if let Some(member) = items.get(key) {
                let problem = format!("`{key}` of the items of an array is not supported");
                self.refuse(&member, problem, "leave it out");
            }
        }
        if matches!(*item, Type::List(_)) {
            self.refuse(&items, "an array of arrays is not supported", "name an object");
        }
        // The generated types of list elements cannot have bounds.
        if has_bounds(&item) {
            self.refuse(
                &items,
                "bounds of the items of an array are not supported",
                "leave them out",
            );
        }
        Some(Type::List(item))
    }

    fn enumeration(&mut self, node: &Node<'a>, name: Ident) -> Option<Type> {
        let (closed, extensible) = (node.get("enum"), node.get("x-extensible-enum"));
        self.check_enum_keys(node);
        if closed.is_some() && extensible.is_some() {
            self.refuse(node, "has `enum` and `x-extensible-enum`", "leave one of them out");
        }
        let is_extensible = extensible.is_some();
        let descriptions = node.get("x-enumDescriptions");
        let mut values: Vec<(Ident, String, Option<String>)> = Vec::new();
        let listed = extensible.or(closed)?;
        for value in listed.elements() {
            let text = value.value.as_str();
            let variant =
                self.require_name(&value, text.and_then(pascal), text.unwrap_or_default());
            let (Some(text), Some(variant)) = (text, variant) else { continue };
            if values.iter().any(|(other, ..)| *other == variant) {
                let problem = format!("is named {variant} in Rust, as another value is");
                self.refuse(&value, problem, "rename one of them");
            }
            let about = descriptions.as_ref().and_then(|all| all.text(text));
            if about.is_none() && node.pointer == ERROR_CODE {
                let problem = format!("the error code {text:?} has no description");
                self.refuse(&value, problem, format!("add {text:?} to x-enumDescriptions"));
            }
            values.push((variant, text.to_string(), about.map(str::to_string)));
        }
        for (text, about) in descriptions.iter().flat_map(Node::members) {
            if !values.iter().any(|(_, value, _)| value == text) {
                self.refuse(
                    &about,
                    "describes a value that is not listed",
                    "list it, or remove it",
                );
            }
        }
        if values.is_empty() {
            self.refuse(&listed, "an enum without values is not supported", "list them");
        }
        let key = node.pointer.trim_start_matches('/').to_string();
        self.items.push(Item::Enum(Enum {
            name: name.clone(),
            aliases: Vec::new(),
            key,
            values,
            is_extensible,
        }));
        Some(Type::Enum(EnumUse { name, is_extensible }))
    }

    /// Refuses keys that the generator would ignore in an enum.
    pub(super) fn check_enum_keys(&mut self, node: &Node<'a>) {
        for key in ["format", "pattern"] {
            if let Some(member) = node.get(key) {
                let problem = format!("an enum with `{key}` is not supported");
                self.refuse(&member, problem, "leave it out");
            }
        }
        self.check_keys(node, &subset::STRING);
    }

    /// Finds the record `Error`. Its required members must be `code`, `message` and `status`, in
    /// this order.
    pub(super) fn error_record(&mut self) -> Option<ErrorRecord> {
        let place = self.root.get_path(&["components", "schemas"]).unwrap_or(self.root.clone());
        let record = self.items.iter().find_map(|item| match item {
            Item::Record(record) if record.key == "Error" => Some(record),
            _ => None,
        });
        let types = record.map(|record| {
            let fields = record.fields.iter().filter(|field| field.is_required);
            fields.map(|field| (field.key.as_str(), &field.ty)).collect::<Vec<_>>()
        });
        let error_record = match types.as_deref() {
            Some(
                [
                    ("code", Type::Enum(codes)),
                    ("message", Type::Text { .. }),
                    ("status", Type::Integer { .. }),
                ],
            ) if codes.is_extensible => {
                Some(ErrorRecord { name: ident("Error"), codes: codes.name.clone() })
            }
            _ => None,
        };
        if error_record.is_none() && self.refusals.is_empty() {
            let problem = "has no schema Error of `code` (with `x-extensible-enum`), `message` and \
                           `status`, all required";
            self.refuse(&place, problem, "add it: it is the body of every error");
        }
        error_record
    }
}

fn is_enum(node: &Node<'_>) -> bool {
    node.get("enum").is_some() || node.get("x-extensible-enum").is_some()
}
