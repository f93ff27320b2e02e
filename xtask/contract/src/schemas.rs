//! Schemas of a document, read as Rust types.

use crate::facts::is_schema_fact;
use crate::names::{pascal, shouty, snake, type_name};
use crate::node::Node;
use crate::refusal::Refusal;
use serde_json::Value;
use std::collections::BTreeMap;

/// Beyond it dropshot, which has bounds as floating-point numbers, loses digits.
const MAX_EXACT: i64 = 1 << 53;

/// A Rust type, and the type whose schema it has where that is another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// The type.
    pub rust: String,
    /// The type with its schema.
    pub schema: String,
}

impl Type {
    fn plain(rust: &str) -> Type {
        Type { rust: rust.to_string(), schema: rust.to_string() }
    }

    fn with(rust: &str, schema: &str) -> Type {
        Type { rust: rust.to_string(), schema: schema.to_string() }
    }

    fn inside(&self, outer: &str) -> Type {
        let inside = |inner: &str| outer.replace('_', inner);
        Type { rust: inside(&self.rust), schema: inside(&self.schema) }
    }
}

/// What a schema says of a value besides its type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// The least and the greatest number, as Rust writes them.
    pub range: (Option<String>, Option<String>),
    /// The least and the greatest length.
    pub length: (Option<u64>, Option<u64>),
    /// The regular expression that a text matches.
    pub pattern: Option<String>,
}

/// A schema.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Its type.
    pub ty: Type,
    /// Its bounds.
    pub bounds: Bounds,
    /// Its description.
    pub description: Option<String>,
    /// Whether `null` is a value.
    pub is_nullable: bool,
    /// The value of an absent member, in Rust.
    pub default: Option<String>,
    /// How a parameter of it is read; `None` if a parameter cannot have it.
    pub rule: Option<String>,
    /// Whether it is a list.
    pub is_list: bool,
}

/// A type that the document needs.
#[derive(Clone, Debug)]
pub enum Item {
    /// An object.
    Record(Record),
    /// The values of a text.
    Values(Values),
    /// A text or a number with bounds of its own, or a named schema that is no object.
    Wrapper(Wrapper),
    /// One of several forms.
    Union(Union),
}

impl Item {
    /// Its name in Rust.
    pub fn name(&self) -> &str {
        match self {
            Item::Record(record) => &record.name,
            Item::Values(values) => &values.name,
            Item::Wrapper(wrapper) => &wrapper.name,
            Item::Union(union) => &union.name,
        }
    }
}

/// An object with known members.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its name in Rust.
    pub name: String,
    /// Its name in the document.
    pub schema_name: String,
    /// Its description.
    pub description: Option<String>,
    /// Its members, in the document's order.
    pub fields: Vec<Field>,
    /// Whether other members are refused.
    pub is_closed: bool,
}

/// A member of an object, or a parameter.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name in Rust.
    pub name: String,
    /// Its name in the document.
    pub key: String,
    /// Whether it is always there.
    pub is_required: bool,
    /// Its schema.
    pub shape: Shape,
}

/// The values that a text may have.
#[derive(Clone, Debug)]
pub struct Values {
    /// The name in Rust.
    pub name: String,
    /// The name in the document.
    pub schema_name: String,
    /// What the type is, for a comment.
    pub about: String,
    /// The description of a schema with a name of its own.
    pub description: Option<String>,
    /// Variants, values, and what the document says of each.
    pub values: Vec<(String, String, Option<String>)>,
    /// Whether values may be added: the schema is then that of any text.
    pub is_extensible: bool,
}

/// A type around another.
#[derive(Clone, Debug)]
pub struct Wrapper {
    /// The name in Rust.
    pub name: String,
    /// The name in the document.
    pub schema_name: String,
    /// What is wrapped.
    pub shape: Shape,
}

/// A value of one of several forms.
#[derive(Clone, Debug)]
pub struct Union {
    /// The name in Rust.
    pub name: String,
    /// The name in the document.
    pub schema_name: String,
    /// The description.
    pub description: Option<String>,
    /// The member that tells the forms apart; without it, each form is its only member or text.
    pub tag: Option<String>,
    /// The forms.
    pub variants: Vec<UnionVariant>,
}

/// A form of a value.
#[derive(Clone, Debug)]
pub struct UnionVariant {
    /// The name in Rust.
    pub name: String,
    /// What the tag, the member or the text is.
    pub key: String,
    /// The description.
    pub description: Option<String>,
    /// What it holds.
    pub held: Held,
}

/// What a form of a value holds.
#[derive(Clone, Debug)]
pub enum Held {
    /// Nothing.
    Nothing,
    /// A value.
    Value(Box<Shape>),
    /// Members.
    Fields(Vec<Field>),
}

/// A format that no Rust type has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The name of its marker.
    pub name: String,
    /// The type of OpenAPI, as schemars names it.
    pub instance: &'static str,
    /// The format.
    pub format: String,
}

/// Reads schemas, and keeps the types that they need and the places that no type has.
#[derive(Debug)]
pub struct Reader<'a> {
    /// The document.
    pub root: Node<'a>,
    /// The types so far.
    pub items: Vec<Item>,
    /// The formats so far.
    pub forms: Vec<Form>,
    /// The regular expressions of parameters so far, by the names of constants.
    pub patterns: Vec<(String, String)>,
    /// The places that no type has.
    pub refusals: Vec<Refusal>,
    names: BTreeMap<String, String>,
    are_components_read: bool,
}

impl<'a> Reader<'a> {
    /// A reader of this document.
    pub fn new(root: Node<'a>) -> Reader<'a> {
        Reader {
            root,
            items: Vec::new(),
            forms: Vec::new(),
            patterns: Vec::new(),
            refusals: Vec::new(),
            names: BTreeMap::new(),
            are_components_read: false,
        }
    }

    /// Notes a place that no code can be made of.
    pub fn refuse(&mut self, node: &Node<'_>, found: impl Into<String>, fix: impl Into<String>) {
        let refusal = Refusal::new(&node.pointer, found, fix);
        if !self.refusals.contains(&refusal) {
            self.refusals.push(refusal);
        }
    }

    /// Refuses each key that is none of these, and no `x-` field.
    pub fn only(&mut self, node: &Node<'_>, what: &str, keys: &[&str]) {
        for (key, member) in node.members() {
            if !keys.contains(&key) && !key.starts_with("x-") {
                self.refuse(
                    &member,
                    format!("{what} with `{key}` is not supported"),
                    "leave it out",
                );
            }
        }
    }

    /// The name of a new type or constant, unless another has it.
    pub fn claim(&mut self, node: &Node<'_>, name: Option<String>, of: &str) -> Option<String> {
        let Some(name) = name else {
            self.refuse(
                node,
                format!("{of:?} is no name in Rust"),
                "rename it: letters, then letters, digits or _",
            );
            return None;
        };
        match self.names.get(&name) {
            Some(other) if *other != node.pointer => {
                let other = other.clone();
                self.refuse(
                    node,
                    format!("is named {name} in Rust, as {other} is"),
                    "rename one of them",
                );
                None
            }
            _ => {
                self.names.insert(name.clone(), node.pointer.clone());
                Some(name)
            }
        }
    }

    /// Reads the schemas of `components`.
    pub fn components(&mut self) {
        let schemas = self.root.at(&["components", "schemas"]);
        for (name, node) in schemas.iter().flat_map(Node::members) {
            if self.is_recursive(&node, &node.pointer, &mut Vec::new()) {
                self.refuse(
                    &node,
                    "is recursive, which is not supported",
                    "refer to the other by an id",
                );
                continue;
            }
            if let Some(rust) = self.claim(&node, type_name(name), name) {
                self.named(&node, &rust, name);
            }
        }
        self.are_components_read = true;
    }

    /// Keeps a type that the document needs.
    pub fn push(&mut self, item: Item) {
        if !self.items.iter().any(|other| other.name() == item.name()) {
            self.items.push(item);
        }
    }

    fn is_recursive(&self, node: &Node<'a>, start: &str, seen: &mut Vec<String>) -> bool {
        if let Some(target) = node.text("$ref").and_then(|text| self.root.target(text)) {
            if target.pointer == start {
                return true;
            }
            if seen.contains(&target.pointer) {
                return false;
            }
            seen.push(target.pointer.clone());
            return self.is_recursive(&target, start, seen);
        }
        let inner: Vec<_> = match node.value {
            Value::Object(_) => node
                .members()
                .filter(|(key, _)| !key.starts_with("x-") && !["example", "default"].contains(key))
                .map(|(_, inner)| inner)
                .collect(),
            _ => node.elements().collect(),
        };
        inner.iter().any(|inner| self.is_recursive(inner, start, seen))
    }

    /// What stands here, or what its reference leads to among the components of this kind.
    pub fn component(&mut self, node: &Node<'a>, kind: &str) -> Option<Node<'a>> {
        let Some(reference) = node.text("$ref") else { return Some(node.clone()) };
        let target = self.root.target(reference).filter(|target| {
            reference.starts_with(&format!("#/components/{kind}/")) && target.text("$ref").is_none()
        });
        if target.is_none() {
            self.refuse(node, format!("{reference} is none of components/{kind}"), "refer to one");
        }
        target
    }

    /// The type of a schema with a name of its own.
    fn named(&mut self, node: &Node<'a>, rust: &str, schema_name: &str) {
        for key in ["nullable", "default"] {
            if let Some(member) = node.get(key).filter(|_| key == "default" || node.is(key)) {
                self.refuse(
                    &member,
                    format!("a named schema with `{key}` is not supported"),
                    "write it where it is used",
                );
            }
        }
        if node.text("type") == Some("object") && has_members(node) {
            self.record(node, rust, schema_name);
            return;
        }
        let is_text = node.text("type") == Some("string");
        if is_text
            && (node.value.get("enum").is_some() || node.value.get("x-extensible-enum").is_some())
        {
            self.values(node, rust, schema_name, node.text("description").map(str::to_string));
            return;
        }
        if node.get("oneOf").is_some() {
            let description = node.text("description").map(str::to_string);
            self.union(node, rust, schema_name, description);
            return;
        }
        let inner = format!("{rust}Inner");
        let Some(shape) = self.shape(node, &inner) else { return };
        let (name, schema_name) = (rust.to_string(), schema_name.to_string());
        self.push(Item::Wrapper(Wrapper { name, schema_name, shape }));
    }

    fn record(&mut self, node: &Node<'a>, rust: &str, schema_name: &str) {
        let known = ["type", "properties", "required", "additionalProperties", "nullable"];
        self.schema_keys(node, &known);
        let required: Vec<_> = node.get("required").iter().flat_map(Node::elements).collect();
        let is_required = |key: &str| required.iter().any(|name| name.value == key);
        let mut fields: Vec<Field> = Vec::new();
        let properties = node.get("properties");
        for (key, property) in properties.iter().flat_map(Node::members) {
            let Some(name) = self.field_name(&property, key, &fields) else { continue };
            let hint = format!("{rust}{}", pascal(key).unwrap_or_default());
            if let Some(shape) = self.shape(&property, &hint) {
                fields.push(Field {
                    name,
                    key: key.to_string(),
                    is_required: is_required(key),
                    shape,
                });
            }
        }
        for name in &required {
            let key = name.value.as_str().unwrap_or_default();
            if properties.as_ref().is_none_or(|properties| properties.get(key).is_none()) {
                self.refuse(
                    name,
                    format!("{key:?} is required and no property"),
                    "add the property",
                );
            }
        }
        let additional = node.get("additionalProperties");
        if let Some(additional) =
            additional.as_ref().filter(|additional| *additional.value != false)
        {
            self.refuse(
                additional,
                "more members beside `properties` are not supported",
                "leave it out, or write false",
            );
        }
        self.push(Item::Record(Record {
            name: rust.to_string(),
            schema_name: schema_name.to_string(),
            description: node.text("description").map(str::to_string),
            fields,
            is_closed: additional.is_some(),
        }));
    }

    /// The name of a field, unless it is none in Rust or another field's.
    pub fn field_name(&mut self, node: &Node<'_>, key: &str, fields: &[Field]) -> Option<String> {
        let Some(name) = snake(key) else {
            self.refuse(
                node,
                format!("{key:?} is no name in Rust"),
                "rename it: letters, then letters, digits or _",
            );
            return None;
        };
        if let Some(other) = fields.iter().find(|field| field.name == name) {
            let other = &other.key;
            self.refuse(
                node,
                format!("is named {name} in Rust, as {other:?} is"),
                "rename one of them",
            );
            return None;
        }
        Some(name)
    }

    fn schema_keys(&mut self, node: &Node<'_>, known: &[&str]) {
        let what = format!("a schema of {}", node.text("type").unwrap_or("no type"));
        for (key, member) in node.members() {
            if !known.contains(&key)
                && key != "description"
                && key != "default"
                && !is_schema_fact(key)
            {
                self.refuse(
                    &member,
                    format!("{what} with `{key}` is not supported"),
                    "leave it out",
                );
            }
        }
    }

    /// A schema, wherever it stands. A type that it needs is named after `hint`.
    pub fn shape(&mut self, node: &Node<'a>, hint: &str) -> Option<Shape> {
        if !node.value.is_object() {
            self.refuse(node, "a schema must be an object", "write one");
            return None;
        }
        let mut shape = match (node.text("$ref"), node.text("type")) {
            (Some(reference), _) => self.reference(node, reference),
            (None, Some("string")) => self.string(node, hint),
            (None, Some("integer")) => self.integer(node),
            (None, Some("number")) => self.number(node),
            (None, Some("boolean")) => self.boolean(node),
            (None, Some("array")) => self.array(node, hint),
            (None, Some("object")) => self.object(node, hint),
            (None, Some(other)) => {
                self.refuse(
                    node,
                    format!("there is no type {other:?} in OpenAPI 3.0"),
                    "write one of its types",
                );
                None
            }
            (None, None) => self.untyped(node, hint),
        }?;
        shape.description = shape.description.or(node.text("description").map(str::to_string));
        shape.is_nullable |= node.is("nullable");
        if let Some(default) = node.get("default") {
            shape.default = self.default(&default, &shape);
        }
        Some(shape)
    }

    fn reference(&mut self, node: &Node<'a>, reference: &str) -> Option<Shape> {
        for (key, member) in node.members().filter(|(key, _)| *key != "$ref") {
            self.refuse(
                &member,
                format!("`{key}` beside `$ref` has no effect"),
                "write allOf with the one $ref",
            );
        }
        let name = reference.strip_prefix("#/components/schemas/");
        let target = name.and_then(|name| self.root.at(&["components", "schemas", name]));
        let (Some(name), Some(target)) = (name, target) else {
            self.refuse(node, format!("{reference} leads to no schema of components"), "add it");
            return None;
        };
        let rust = type_name(name)?;
        if self.are_components_read && !self.items.iter().any(|item| item.name() == rust) {
            // It is refused where it stands.
            return None;
        }
        let is_values = target.text("type") == Some("string") && target.value.get("enum").is_some();
        let rule = if is_values {
            Some(format!("OneOf({rust}::VALUES)"))
        } else {
            let wrapped = self.items.iter().find_map(|item| match item {
                Item::Wrapper(wrapper) if wrapper.name == rust => wrapper.shape.rule.clone(),
                _ => None,
            });
            wrapped.map(|rule| format!("Wrapped({rule}, {rust})"))
        };
        Some(Shape { rule, ..of_type(Type::plain(&rust)) })
    }

    fn untyped(&mut self, node: &Node<'a>, hint: &str) -> Option<Shape> {
        if node.get("oneOf").is_some() {
            let name = self.claim(node, Some(hint.to_string()), hint)?;
            self.union(node, &name, &name, None)?;
            return Some(of_type(Type::with(&name, &format!("Inline<{name}>"))));
        }
        let Some(all) = node.get("allOf") else {
            for key in ["anyOf", "not"] {
                if let Some(member) = node.get(key) {
                    self.refuse(
                        &member,
                        format!("`{key}` is not supported"),
                        "write one object with optional members",
                    );
                    return None;
                }
            }
            self.schema_keys(node, &["nullable"]);
            return Some(of_type(Type::plain("serde_json::Value")));
        };
        self.schema_keys(node, &["allOf", "nullable"]);
        let parts: Vec<_> = all.elements().collect();
        match parts.as_slice() {
            [one] if one.text("$ref").is_some() => self.shape(one, ""),
            _ => {
                self.refuse(
                    &all,
                    "`allOf` of anything but one $ref is not supported",
                    "write one object with all members",
                );
                None
            }
        }
    }

    fn boolean(&mut self, node: &Node<'a>) -> Option<Shape> {
        self.schema_keys(node, &["type", "nullable"]);
        Some(Shape { rule: Some("Boolean".to_string()), ..of_type(Type::plain("bool")) })
    }

    fn integer(&mut self, node: &Node<'a>) -> Option<Shape> {
        self.schema_keys(node, &["type", "format", "minimum", "maximum", "nullable"]);
        let (mut min, max) =
            (self.integer_bound(node, "minimum")?, self.integer_bound(node, "maximum")?);
        let ty = match node.text("format") {
            None => Type::with("i64", "Of<PlainInteger>"),
            Some("int64") => Type::plain("i64"),
            Some("int32") => Type::plain("i32"),
            Some(format) => {
                let (rust, is_unsigned) = other_integer(format);
                // Its own schema has `minimum: 0`.
                if is_unsigned && min == Some(0) {
                    min = None;
                    Type::plain(rust)
                } else if !is_unsigned && rust != "i64" {
                    Type::plain(rust)
                } else {
                    Type::with(rust, &format!("Of<{}>", self.form("Integer", format)?))
                }
            }
        };
        let bound = |bound: Option<i64>| bound.map(|bound| bound.to_string());
        let range = (bound(min), bound(max));
        let rule = match &range {
            (None, None) => format!("Integer::<{}>::ANY", ty.rust),
            (min, max) => {
                format!("Integer::<{}>::within({}, {})", ty.rust, option(min), option(max))
            }
        };
        let bounds = Bounds { range, ..Bounds::default() };
        Some(Shape { bounds, rule: Some(rule), ..of_type(ty) })
    }

    fn integer_bound(&mut self, node: &Node<'a>, key: &str) -> Option<Option<i64>> {
        let Some(bound) = node.get(key) else { return Some(None) };
        let exact = bound.value.as_i64().filter(|bound| (-MAX_EXACT..=MAX_EXACT).contains(bound));
        if exact.is_none() {
            self.refuse(
                &bound,
                format!("`{key}` must be an integer between -2^53 and 2^53"),
                "leave it out, the type has bounds",
            );
            return None;
        }
        Some(exact)
    }

    fn number(&mut self, node: &Node<'a>) -> Option<Shape> {
        self.schema_keys(node, &["type", "format", "minimum", "maximum", "nullable"]);
        let ty = match node.text("format") {
            None => Type::with("f64", "Of<PlainNumber>"),
            Some("double") => Type::plain("f64"),
            Some("float") => Type::plain("f32"),
            Some(format) => Type::with("f64", &format!("Of<{}>", self.form("Number", format)?)),
        };
        let bound = |key: &str| node.value.get(key).and_then(Value::as_f64);
        let text = |bound: Option<f64>| bound.map(|bound| format!("{bound:?}"));
        let range = (text(bound("minimum")), text(bound("maximum")));
        let (min, max) = (range.0.clone(), range.1.clone());
        let rule = match (&min, &max) {
            (None, None) => "Number::ANY".to_string(),
            _ => format!(
                "Number::within({}, {})",
                min.unwrap_or("f64::MIN".to_string()),
                max.unwrap_or("f64::MAX".to_string())
            ),
        };
        if ty.rust == "f32" && range != (None, None) {
            self.refuse(
                node,
                "bounds of a number of format float are not supported",
                "write double",
            );
        }
        let rule = (ty.rust == "f64").then_some(rule);
        Some(Shape { bounds: Bounds { range, ..Bounds::default() }, rule, ..of_type(ty) })
    }

    fn string(&mut self, node: &Node<'a>, hint: &str) -> Option<Shape> {
        if node.value.get("enum") == Some(&serde_json::json!([null])) {
            self.schema_keys(node, &["type", "enum", "nullable"]);
            return Some(of_type(Type::plain("()")));
        }
        if node.value.get("enum").is_some() || node.value.get("x-extensible-enum").is_some() {
            let name = self.claim(node, Some(hint.to_string()), hint)?;
            let is_extensible = self.values(node, &name, &name, None)?;
            let schema =
                if is_extensible { "String".to_string() } else { format!("Inline<{name}>") };
            let rule = Some(format!("OneOf({name}::VALUES)"));
            return Some(Shape { rule, ..of_type(Type::with(&name, &schema)) });
        }
        self.schema_keys(
            node,
            &["type", "format", "minLength", "maxLength", "pattern", "nullable"],
        );
        let (ty, rule) = match node.text("format") {
            Some("date-time") => (Type::plain("DateTime<Utc>"), Some("Time")),
            Some("date") => (Type::plain("NaiveDate"), Some("Day")),
            Some("uuid") => (
                Type::with("String", &format!("Of<{}>", self.form("String", "uuid")?)),
                Some("UuidText"),
            ),
            Some(format) => {
                (Type::with("String", &format!("Of<{}>", self.form("String", format)?)), None)
            }
            None => (Type::plain("String"), None),
        };
        let length = |key: &str| node.value.get(key).and_then(Value::as_u64);
        let length = (length("minLength"), length("maxLength"));
        let pattern = match node.get("pattern") {
            Some(pattern) => Some(self.pattern(&pattern)?),
            None => None,
        };
        let bounds = Bounds { length, pattern, ..Bounds::default() };
        if rule.is_some() && bounds != Bounds::default() {
            self.refuse(
                node,
                "a format that is a type of its own takes no bounds",
                "leave them out",
            );
        }
        let rule = Some(rule.map_or_else(|| self.text_rule(&bounds, hint), str::to_string));
        Some(Shape { bounds, rule, ..of_type(ty) })
    }

    fn text_rule(&mut self, bounds: &Bounds, hint: &str) -> String {
        let rule = match bounds.length {
            (None, None) => "Text::ANY".to_string(),
            (min, max) => {
                let max = max.map_or("usize::MAX".to_string(), |max| max.to_string());
                format!("Text::within({}, {max})", min.unwrap_or(0))
            }
        };
        let Some(pattern) = &bounds.pattern else { return rule };
        let name = shouty(hint).unwrap_or_default();
        self.patterns.push((name.clone(), pattern.clone()));
        format!("{rule}.of_form(&{name})")
    }

    fn pattern(&mut self, node: &Node<'a>) -> Option<String> {
        let pattern = node.value.as_str()?;
        // In Rust these have letters and digits of every script, in a document those of ASCII.
        let has_shorthand =
            ["\\d", "\\w", "\\s", "\\b"].iter().any(|of| pattern.to_lowercase().contains(of));
        match regex::Regex::new(pattern) {
            Err(_) => self.refuse(
                node,
                "the regular expression has what Rust's have not, such as look-around",
                "write it without",
            ),
            Ok(_) if has_shorthand => self.refuse(
                node,
                "\\d, \\w, \\s and \\b are not supported",
                "write a class such as [0-9]",
            ),
            Ok(_) => return Some(pattern.to_string()),
        }
        None
    }

    fn array(&mut self, node: &Node<'a>, hint: &str) -> Option<Shape> {
        self.schema_keys(node, &["type", "items", "minItems", "maxItems", "nullable"]);
        let Some(items) = node.get("items") else {
            self.refuse(node, "an array needs `items`", "add it");
            return None;
        };
        let inner = self.inner(&items, &format!("{hint}Item"))?;
        let length = |key: &str| node.value.get(key).and_then(Value::as_u64);
        let bounds =
            Bounds { length: (length("minItems"), length("maxItems")), ..Bounds::default() };
        let ty = inner.ty.inside("Vec<_>");
        Some(Shape { bounds, is_list: true, ..of_type(ty) })
    }

    /// A schema inside another, or as a body, where bounds need a type of their own.
    pub fn inner(&mut self, node: &Node<'a>, hint: &str) -> Option<Shape> {
        let shape = self.shape(node, hint)?;
        let ty = if shape.is_nullable { shape.ty.inside("Option<_>") } else { shape.ty.clone() };
        if shape.bounds == Bounds::default()
            && shape.description.is_none()
            && shape.default.is_none()
        {
            return Some(Shape { ty, ..shape });
        }
        let name = self.claim(node, Some(hint.to_string()), hint)?;
        let rule = None;
        let ty = Type::with(&name, &format!("Inline<{name}>"));
        let ty = if shape.is_nullable { ty.inside("Option<_>") } else { ty };
        let wrapped = Shape { is_nullable: false, ..shape };
        self.push(Item::Wrapper(Wrapper { schema_name: name.clone(), name, shape: wrapped }));
        Some(Shape { rule, ..of_type(ty) })
    }

    fn object(&mut self, node: &Node<'a>, hint: &str) -> Option<Shape> {
        if has_members(node) {
            let name = self.claim(node, Some(hint.to_string()), hint)?;
            self.record(node, &name, &name);
            return Some(of_type(Type::with(&name, &format!("Inline<{name}>"))));
        }
        self.schema_keys(node, &["type", "additionalProperties", "nullable"]);
        let map = Type::plain("serde_json::Map<String, serde_json::Value>");
        match node.get("additionalProperties") {
            None => Some(of_type(Type { schema: "Of<AnyObject>".to_string(), ..map })),
            Some(additional) if *additional.value == true => Some(of_type(map)),
            Some(additional) => {
                let inner = self.inner(&additional, &format!("{hint}Value"))?;
                Some(of_type(inner.ty.inside("BTreeMap<String, _>")))
            }
        }
    }

    /// The type for the values of a text; whether values may be added.
    fn values(
        &mut self,
        node: &Node<'a>,
        rust: &str,
        schema_name: &str,
        description: Option<String>,
    ) -> Option<bool> {
        self.schema_keys(node, &["type", "enum", "nullable"]);
        let is_extensible = node.value.get("enum").is_none();
        let list = node.get(if is_extensible { "x-extensible-enum" } else { "enum" })?;
        let about = node.get("x-enumDescriptions");
        let mut values: Vec<(String, String, Option<String>)> = Vec::new();
        for value in list.elements() {
            let text = value.value.as_str();
            let Some((text, variant)) = text.and_then(|text| Some((text, pascal(text)?))) else {
                self.refuse(&value, "is no name in Rust", "write a word of letters and digits");
                continue;
            };
            if values.iter().any(|(other, ..)| *other == variant) {
                self.refuse(
                    &value,
                    format!("is named {variant} in Rust, as another value is"),
                    "rename one of them",
                );
                continue;
            }
            let about = about.as_ref().and_then(|about| about.text(text)).map(str::to_string);
            values.push((variant, text.to_string(), about));
        }
        self.push(Item::Values(Values {
            name: rust.to_string(),
            schema_name: schema_name.to_string(),
            about: node.pointer.clone(),
            description,
            values,
            is_extensible,
        }));
        Some(is_extensible)
    }

    /// The marker of a format that no Rust type has.
    fn form(&mut self, instance: &'static str, format: &str) -> Option<String> {
        let name = format!("{}{instance}", pascal(format)?);
        let form = Form { name: name.clone(), instance, format: format.to_string() };
        if !self.forms.contains(&form) {
            self.forms.push(form);
        }
        Some(name)
    }

    fn default(&mut self, node: &Node<'a>, shape: &Shape) -> Option<String> {
        let text = match (node.value, shape.ty.rust.as_str()) {
            (Value::Null, _) if shape.is_nullable => Some("None".to_string()),
            (Value::Array(list), _) if shape.is_list && list.is_empty() => {
                Some("Vec::new()".to_string())
            }
            (Value::Bool(value), "bool") => Some(value.to_string()),
            (Value::Number(number), "f64" | "f32") => {
                number.as_f64().map(|number| format!("{number:?}"))
            }
            (Value::Number(number), _) if number.is_i64() => Some(number.to_string()),
            (Value::String(text), "String") => Some(format!("{text:?}.to_string()")),
            (Value::String(text), _) => {
                let is_value = |(_, value, _): &&(String, String, Option<String>)| value == text;
                let of_type = |item: &Item| match item {
                    Item::Values(values) if values.name == shape.ty.rust => {
                        let variant = values.values.iter().find(is_value)?.0.clone();
                        Some(format!("{}::{variant}", values.name))
                    }
                    _ => None,
                };
                self.items.iter().find_map(of_type)
            }
            _ => None,
        };
        if text.is_none() {
            self.refuse(
                node,
                "a `default` of this type is not supported",
                "say it in the description",
            );
        }
        text
    }
}

/// A schema of this type, and nothing else.
fn of_type(ty: Type) -> Shape {
    Shape {
        ty,
        bounds: Bounds::default(),
        description: None,
        is_nullable: false,
        default: None,
        rule: None,
        is_list: false,
    }
}

fn has_members(node: &Node<'_>) -> bool {
    node.value.get("properties").is_some()
        || node.value.get("additionalProperties").is_some_and(|additional| *additional == false)
}

/// The type of an integer of this format, and whether it has no negative values.
fn other_integer(format: &str) -> (&'static str, bool) {
    match format {
        "int8" => ("i8", false),
        "int16" => ("i16", false),
        "uint8" => ("u8", true),
        "uint16" => ("u16", true),
        "uint32" => ("u32", true),
        "uint64" => ("u64", true),
        "uint" => ("usize", true),
        _ => ("i64", false),
    }
}

fn option(bound: &Option<String>) -> String {
    bound.as_ref().map_or("None".to_string(), |bound| format!("Some({bound})"))
}
