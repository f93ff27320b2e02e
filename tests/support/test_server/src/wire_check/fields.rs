//! Labels for the fields of a body, such as `Order.shipDate`. Tests must see every label of the
//! schema in some response.

use codegen::pointer::component;
use serde_json::Value;
use std::collections::BTreeSet;

/// The fields and listed values of a schema, including those of nested schemas.
pub struct Fields {
    fields: Vec<Field>,
    items: Option<Box<Fields>>,
    /// The values that `x-extensible-enum` lists, each with its label.
    values: Vec<(Value, String)>,
}

struct Field {
    name: String,
    label: String,
    below: Fields,
}

impl Fields {
    /// Reads a schema whose references are resolved. Labels contain the name of the schema's
    /// component, or else `name`.
    pub fn new(schema: &Value, name: &str) -> Fields {
        let name = component(schema).unwrap_or(name);
        let properties = schema["properties"].as_object().into_iter().flatten();
        let field = |(key, schema): (&String, &Value)| Field {
            name: key.clone(),
            label: format!(" field {name}.{key}"),
            below: Fields::new(schema, &format!("{name}.{key}")),
        };
        let values = schema["x-extensible-enum"].as_array().into_iter().flatten();
        let label = |value: &Value| format!(" value {name} {}", value.as_str().unwrap_or_default());
        Fields {
            fields: properties.map(field).collect(),
            items: schema.get("items").map(|items| Box::new(Fields::new(items, name))),
            values: values.map(|value| (value.clone(), label(value))).collect(),
        }
    }

    /// Returns the labels of all fields and values in the schema.
    pub fn promised(&self) -> Vec<&str> {
        let mut promised: Vec<_> = self.values.iter().map(|(_, label)| label.as_str()).collect();
        for field in &self.fields {
            promised.push(&field.label);
            promised.extend(field.below.promised());
        }
        promised.extend(self.items.iter().flat_map(|items| items.promised()));
        promised
    }

    /// Adds to `shown` the labels of the fields and listed values that the body contains.
    pub fn shown<'a>(&'a self, body: &Value, shown: &mut BTreeSet<&'a str>) {
        let values = self.values.iter().filter(|(value, _)| value == body);
        shown.extend(values.map(|(_, label)| label.as_str()));
        for field in &self.fields {
            if let Some(value) = body.get(&field.name) {
                shown.insert(&field.label);
                field.below.shown(value, shown);
            }
        }
        if let (Some(items), Value::Array(elements)) = (&self.items, body) {
            elements.iter().for_each(|element| items.shown(element, shown));
        }
    }
}
