//! `oneOf`, read as an enum: the forms that serde and schemars have for one.

use crate::facts::is_schema_fact;
use crate::names::pascal;
use crate::node::Node;
use crate::schemas::{Field, Held, Item, Reader, Union, UnionVariant};
use serde_json::Value;

impl<'a> Reader<'a> {
    /// Reads `oneOf` as an enum of this name.
    pub fn union(
        &mut self,
        node: &Node<'a>,
        rust: &str,
        schema_name: &str,
        description: Option<String>,
    ) -> Option<()> {
        let forms: Vec<_> = node.get("oneOf").iter().flat_map(Node::elements).collect();
        self.union_keys(node, &["oneOf", "nullable", "default", "description"]);
        let tag = tag(&forms);
        let mut variants: Vec<UnionVariant> = Vec::new();
        for form in &forms {
            for variant in self.forms_of(form, rust, tag.as_deref())? {
                if variants.iter().any(|other| other.name == variant.name) {
                    self.refuse(
                        form,
                        format!("is named {} in Rust, as another form is", variant.name),
                        "rename one of them",
                    );
                    return None;
                }
                variants.push(variant);
            }
        }
        self.push(Item::Union(Union {
            name: rust.to_string(),
            schema_name: schema_name.to_string(),
            description,
            tag,
            variants,
        }));
        Some(())
    }

    /// The forms that an element of `oneOf` has: several, if it is an enum of texts.
    fn forms_of(
        &mut self,
        form: &Node<'a>,
        rust: &str,
        tag: Option<&str>,
    ) -> Option<Vec<UnionVariant>> {
        let description = form.text("description").map(str::to_string);
        let properties: Vec<_> = form.get("properties").iter().flat_map(Node::members).collect();
        let is_object = form.text("type") == Some("object");
        let found = match (tag, values(form), properties.as_slice()) {
            (None, Some(texts), _) => {
                self.union_keys(form, &["type", "enum", "description"]);
                texts.into_iter().map(|text| (text, Held::Nothing)).collect()
            }
            (None, None, [(key, inner)]) if is_wrapping(form, key) => {
                let known = ["type", "properties", "required", "additionalProperties"];
                self.union_keys(form, &[&known[..], &["description"]].concat());
                let hint = format!("{rust}{}", pascal(key).unwrap_or_default());
                vec![(key.to_string(), Held::Value(Box::new(self.shape(inner, &hint)?)))]
            }
            (Some(tag), None, _) if is_object && form.get("additionalProperties").is_none() => {
                self.union_keys(form, &["type", "properties", "required", "description"]);
                self.tag_keys(form, tag);
                let key = form.at(&["properties", tag]).and_then(|tag| values(&tag))?.pop()?;
                let fields = self.tagged_fields(form, rust, &key, tag)?;
                let held = if fields.is_empty() { Held::Nothing } else { Held::Fields(fields) };
                vec![(key, held)]
            }
            _ => {
                self.refuse(
                    form,
                    "is no form of `oneOf` that is supported",
                    "write objects with one required member of a single value that tells them \
                     apart",
                );
                return None;
            }
        };
        let mut variants = Vec::new();
        for (key, held) in found {
            let Some(name) = pascal(&key) else {
                self.refuse(
                    form,
                    format!("{key:?} is no name in Rust"),
                    "rename it: letters, then letters, digits or _",
                );
                return None;
            };
            variants.push(UnionVariant { name, key, description: description.clone(), held });
        }
        Some(variants)
    }

    /// Refuses what no enum has, a default among it.
    fn union_keys(&mut self, node: &Node<'a>, known: &[&str]) {
        for (key, member) in node.members() {
            if !known.contains(&key) && !is_schema_fact(key) {
                self.refuse(
                    &member,
                    format!("a form with `{key}` is not supported"),
                    "leave it out",
                );
            }
        }
    }

    /// The member that tells a form apart has its value alone, and each required one is there.
    fn tag_keys(&mut self, form: &Node<'a>, tag: &str) {
        let properties = form.get("properties");
        if let Some(tag) = properties.as_ref().and_then(|properties| properties.get(tag)) {
            self.union_keys(&tag, &["type", "enum"]);
        }
        for name in form.get("required").iter().flat_map(Node::elements) {
            let key = name.value.as_str().unwrap_or_default();
            if properties.as_ref().is_none_or(|properties| properties.get(key).is_none()) {
                self.refuse(
                    &name,
                    format!("{key:?} is required and no property"),
                    "add the property",
                );
            }
        }
    }

    fn tagged_fields(
        &mut self,
        form: &Node<'a>,
        rust: &str,
        key: &str,
        tag: &str,
    ) -> Option<Vec<Field>> {
        let mut fields: Vec<Field> = Vec::new();
        let properties = form.get("properties");
        for (member, property) in properties.iter().flat_map(Node::members) {
            if member == tag {
                continue;
            }
            let name = self.field_name(&property, member, &fields)?;
            let hint = [rust, key, member].map(|part| pascal(part).unwrap_or_default()).concat();
            let shape = self.shape(&property, &hint)?;
            let is_required = is_required(form, member);
            fields.push(Field { name, key: member.to_string(), is_required, shape });
        }
        Some(fields)
    }
}

/// The texts of a schema that has no other.
fn values(schema: &Node<'_>) -> Option<Vec<String>> {
    let texts = schema.get("enum").filter(|_| schema.text("type") == Some("string"))?;
    texts.elements().map(|text| text.value.as_str().map(str::to_string)).collect()
}

/// The one required member of all forms with a single value.
fn tag(forms: &[Node<'_>]) -> Option<String> {
    let first = forms.first()?.get("properties")?;
    let is_tag = |form: &Node<'_>, key: &str| {
        let member = form.at(&["properties", key]);
        let has_one =
            member.and_then(|member| values(&member)).is_some_and(|texts| texts.len() == 1);
        has_one && is_required(form, key)
    };
    let mut keys = first.members().map(|(key, _)| key);
    keys.find(|key| forms.iter().all(|form| is_tag(form, key))).map(str::to_string)
}

fn is_required(form: &Node<'_>, key: &str) -> bool {
    form.get("required").iter().flat_map(Node::elements).any(|name| name.value == key)
}

/// Whether the form is an object with this member and no other.
fn is_wrapping(form: &Node<'_>, key: &str) -> bool {
    form.text("type") == Some("object")
        && is_required(form, key)
        && form.value.get("additionalProperties") == Some(&Value::Bool(false))
}
