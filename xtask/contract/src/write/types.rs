//! The schemas as types.

use crate::Contract;
use crate::errors::{ErrorBody, ErrorVariant};
use crate::schemas::{
    Bounds, Field, Form, Held, Item, Record, Shape, Union, UnionVariant, Values, Wrapper,
};
use crate::status;
use crate::text::{comment, is_comment, literal};

/// The types of a document.
pub fn items(contract: &Contract<'_>) -> String {
    let forms = contract.reader.forms.iter().map(form);
    let patterns = contract.reader.patterns.iter().map(|(name, pattern)| {
        format!("static {name}: Pattern = Pattern::new({});\n\n", literal(pattern))
    });
    let items = contract.reader.items.iter().map(|item| match item {
        Item::Record(of) => record(of),
        Item::Values(of) => values(of, contract),
        Item::Wrapper(of) => wrapper(of),
        Item::Union(of) => union(of),
    });
    items.chain(forms).chain(patterns).collect()
}

fn form(form: &Form) -> String {
    let Form { name, instance, format } = form;
    format!(
        "/// The format `{format}`.\n#[derive(Debug)]\npub enum {name} {{}}\n\n\
         impl Form for {name} {{\n    const TYPE: InstanceType = InstanceType::{instance};\n    \
         const FORMAT: Option<&'static str> = Some({format:?});\n}}\n\n"
    )
}

fn record(record: &Record) -> String {
    let mut serde = container_rename(record);
    if record.is_closed {
        serde.push("deny_unknown_fields".to_string());
    }
    let derives = "Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema";
    let functions = record.fields.iter().map(|field| {
        let is_optional = !field.is_required && field.shape.default.is_none();
        default_function(&record.name, field)
            + &bound_function(&record.name, &field.name, &field.shape, is_optional)
    });
    let functions: String = functions.collect();
    format!(
        "{}#[derive({derives})]\n{}{}pub struct {} {{\n{}}}\n\n{functions}",
        commented(0, record.description.as_deref()),
        attribute(0, "serde", &serde),
        attribute(0, "schemars", &told(record.description.as_deref())),
        record.name,
        fields(record, true),
    )
}

/// The fields of a record, or of parameters, which nobody reads with serde.
pub fn fields(record: &Record, is_read: bool) -> String {
    let renames = container_rename(record);
    let is_renamed = renames.iter().any(|attribute| attribute.starts_with("rename_all"));
    fields_of(record, is_read, is_renamed)
}

fn fields_of(record: &Record, is_read: bool, is_renamed: bool) -> String {
    let one = |field: &Field| {
        let (ty, mut serde, schemars) = field_type(record, field, is_read);
        if !is_renamed && field.key != plain(&field.name) {
            serde.insert(0, format!("rename = {:?}", field.key));
        }
        format!(
            "{}{}{}    pub {}: {ty},\n",
            documented(4, field.shape.description.as_deref()),
            attribute(4, "serde", &serde),
            attribute(4, "schemars", &schemars),
            field.name,
        )
    };
    record.fields.iter().map(one).collect()
}

/// How the container renames its fields and itself.
pub fn container_rename(record: &Record) -> Vec<String> {
    let mut serde = Vec::new();
    if record.schema_name != record.name {
        serde.push(format!("rename = {:?}", record.schema_name));
    }
    let is_camel = |field: &Field| camel(plain(&field.name)) == field.key;
    let differs = record.fields.iter().any(|field| field.key != plain(&field.name));
    if differs && record.fields.iter().all(is_camel) {
        serde.push("rename_all = \"camelCase\"".to_string());
    }
    serde
}

fn plain(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}

/// As serde makes camelCase of a field's name.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_string();
    words.fold(first, |name, word| name + &capital(word))
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at_checked(1).unwrap_or_default();
    first.to_uppercase() + rest
}

/// The type of a field, and its attributes for serde and for schemars.
fn field_type(record: &Record, field: &Field, is_read: bool) -> (String, Vec<String>, Vec<String>) {
    let Shape { ty, is_nullable, default, .. } = &field.shape;
    let (mut serde, mut schemars) = (Vec::new(), Vec::new());
    let schema = if *is_nullable { format!("Option<{}>", ty.schema) } else { ty.schema.clone() };
    let rust = if *is_nullable { format!("Option<{}>", ty.rust) } else { ty.rust.clone() };
    let rust = match (field.is_required, default) {
        (true, _) if *is_nullable => {
            // `null` is a value, absence is none.
            if !is_read || bound(&field.shape).is_none() {
                serde.push("deserialize_with = \"Option::deserialize\"".to_string());
            }
            schemars.push(format!("with = \"Nullable<{}>\"", ty.schema));
            rust
        }
        (true, _) => rust,
        (false, Some(_)) => {
            serde.push(format!("default = {:?}", default_name(&record.name, field)));
            rust
        }
        (false, None) if *is_nullable => {
            if is_read && bound(&field.shape).is_some() {
                serde.push("default".to_string());
                serde.push("skip_serializing_if = \"Option::is_none\"".to_string());
            }
            rust
        }
        (false, None) => {
            serde.push("default".to_string());
            if is_read && bound(&field.shape).is_none() {
                serde.push("deserialize_with = \"not_null\"".to_string());
            }
            serde.push("skip_serializing_if = \"Option::is_none\"".to_string());
            schemars.push(format!("with = {schema:?}"));
            format!("Option<{rust}>")
        }
    };
    if is_read && bound(&field.shape).is_some() {
        serde.push(format!("deserialize_with = {:?}", bound_name(&record.name, &field.name)));
    }
    if schemars.is_empty() && schema != rust {
        schemars.push(format!("with = {schema:?}"));
    }
    schemars.extend(bounds(&field.shape.bounds));
    (rust, serde, schemars)
}

fn default_name(record: &str, field: &Field) -> String {
    format!(
        "{}_default",
        crate::names::snake(&format!("{}_{}", record, plain(&field.name))).unwrap_or_default()
    )
}

/// What an absent member means.
pub fn default_function(record: &str, field: &Field) -> String {
    let Some(default) = field.shape.default.as_ref().filter(|_| !field.is_required) else {
        return String::new();
    };
    let ty = &field.shape.ty.rust;
    let (ty, value) = match field.shape.is_nullable {
        true if default == "None" => (format!("Option<{ty}>"), default.clone()),
        true => (format!("Option<{ty}>"), format!("Some({default})")),
        false => (ty.clone(), default.clone()),
    };
    format!("fn {}() -> {ty} {{\n    {value}\n}}\n\n", default_name(record, field))
}

/// What a value has to keep besides its type, as serde does not know it.
fn bound(shape: &Shape) -> Option<String> {
    if shape.bounds == Bounds::default() {
        return None;
    }
    let (min, max) = shape.bounds.length;
    if shape.is_list {
        let max = max.map_or("usize::MAX".to_string(), |max| max.to_string());
        return Some(format!("Items::within({}, {max})", min.unwrap_or(0)));
    }
    shape.rule.clone()
}

fn bound_name(record: &str, field: &str) -> String {
    let name = crate::names::snake(&format!("{record}_{}", plain(field))).unwrap_or_default();
    format!("{name}_bounded")
}

fn bound_function(record: &str, field: &str, shape: &Shape, is_optional: bool) -> String {
    let Some(bound) = bound(shape) else { return String::new() };
    let (ty, name) = (&shape.ty.rust, bound_name(record, field));
    let (ty, read, some) = match (shape.is_nullable, is_optional) {
        (true, _) => (format!("Option<{ty}>"), "bounded_or_null", ""),
        (false, true) => (format!("Option<{ty}>"), "bounded", ".map(Some)"),
        (false, false) => (ty.clone(), "bounded", ""),
    };
    format!(
        "fn {name}<'de, D: Deserializer<'de>>(deserializer: D) -> Result<{ty}, D::Error> {{\n    \
         {read}(deserializer, &{bound}){some}\n}}\n\n"
    )
}

fn bounds(bounds: &Bounds) -> Vec<String> {
    let pair = |least: Option<String>, greatest: Option<String>| {
        let least = least.map(|bound| format!("min = {bound}"));
        let greatest = greatest.map(|bound| format!("max = {bound}"));
        least.into_iter().chain(greatest).collect::<Vec<_>>().join(", ")
    };
    let mut all = Vec::new();
    let range = pair(bounds.range.0.clone(), bounds.range.1.clone());
    if !range.is_empty() {
        all.push(format!("range({range})"));
    }
    let text = |bound: Option<u64>| bound.map(|bound| bound.to_string());
    let length = pair(text(bounds.length.0), text(bounds.length.1));
    if !length.is_empty() {
        all.push(format!("length({length})"));
    }
    if let Some(pattern) = &bounds.pattern {
        all.push(format!("regex(pattern = {})", literal(pattern)));
    }
    all
}

fn attribute(indent: usize, name: &str, parts: &[String]) -> String {
    if parts.is_empty() {
        return String::new();
    }
    format!("{:indent$}#[{name}({})]\n", "", parts.join(", "))
}

/// A description, as a comment that schemars reads; where it cannot, for schemars besides.
fn documented(indent: usize, description: Option<&str>) -> String {
    commented(indent, description) + &attribute(indent, "schemars", &told(description))
}

fn commented(indent: usize, description: Option<&str>) -> String {
    let shown = description.map(|text| text.trim_start_matches('#').trim());
    shown.map(|text| comment(indent, text)).unwrap_or_default()
}

/// What schemars has to be told of a description, after `derive`.
fn told(description: Option<&str>) -> Vec<String> {
    let odd = description.filter(|text| !is_comment(text));
    odd.map(|text| format!("description = {}", literal(text))).into_iter().collect()
}

fn wrapper(wrapper: &Wrapper) -> String {
    let Wrapper { name, schema_name, shape } = wrapper;
    let mut serde = Vec::new();
    if schema_name != name {
        serde.push(format!("rename = {schema_name:?}"));
    }
    let mut schemars = bounds(&shape.bounds);
    if shape.ty.schema != shape.ty.rust {
        schemars.insert(0, format!("with = {:?}", shape.ty.schema));
    }
    let own = bound(shape).map(|_| format!("deserialize_with = {:?}", bound_name(name, "")));
    let own: Vec<_> = own.into_iter().collect();
    let schemars = attribute(0, "serde", &own) + &attribute(0, "schemars", &schemars);
    format!(
        "{}#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]\n{}\
         pub struct {name}({schemars}pub {});\n\n{}",
        commented(0, shape.description.as_deref()),
        attribute(0, "serde", &serde)
            + &attribute(0, "schemars", &told(shape.description.as_deref())),
        shape.ty.rust,
        bound_function(name, "", shape, false),
    )
}

fn union(union: &Union) -> String {
    let mut serde = Vec::new();
    if union.schema_name != union.name {
        serde.push(format!("rename = {:?}", union.schema_name));
    }
    serde.extend(union.tag.as_ref().map(|tag| format!("tag = {tag:?}")));
    let variant = |variant: &UnionVariant| {
        let UnionVariant { name, key, description, held } = variant;
        let held = match held {
            Held::Nothing => String::new(),
            Held::Value(shape) => {
                let ty = if shape.is_nullable {
                    format!("Option<{}>", shape.ty.rust)
                } else {
                    shape.ty.rust.clone()
                };
                let schema = if shape.is_nullable {
                    format!("Option<{}>", shape.ty.schema)
                } else {
                    shape.ty.schema.clone()
                };
                let mut schemars = bounds(&shape.bounds);
                if schema != ty {
                    schemars.insert(0, format!("with = {schema:?}"));
                }
                format!("({}{ty})", attribute(0, "schemars", &schemars))
            }
            Held::Fields(of) => {
                let record = Record {
                    name: union.name.clone(),
                    schema_name: union.name.clone(),
                    description: None,
                    fields: of.clone(),
                    is_closed: false,
                };
                // The fields of a variant are as public as it is.
                format!(
                    " {{\n{}    }}",
                    fields_of(&record, true, false).replace("    pub ", "    ")
                )
            }
        };
        let comment = documented(4, description.as_deref());
        format!("{comment}    #[serde(rename = {key:?})]\n    {name}{held},\n")
    };
    let about = commented(0, union.description.as_deref());
    format!(
        "{about}#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]\n{}pub enum {} {{\n{}}}\n\n",
        attribute(0, "serde", &serde)
            + &attribute(0, "schemars", &told(union.description.as_deref())),
        union.name,
        union.variants.iter().map(variant).collect::<String>(),
    ) + &union_defaults(union)
}

fn union_defaults(union: &Union) -> String {
    let of_variant = |variant: &UnionVariant| match &variant.held {
        Held::Fields(fields) => fields
            .iter()
            .map(|field| {
                let is_optional = !field.is_required && field.shape.default.is_none();
                default_function(&union.name, field)
                    + &bound_function(&union.name, &field.name, &field.shape, is_optional)
            })
            .collect(),
        _ => String::new(),
    };
    union.variants.iter().map(of_variant).collect()
}

fn values(values: &Values, contract: &Contract<'_>) -> String {
    let Values { name, schema_name, values: list, is_extensible, .. } = values;
    let mut serde = Vec::new();
    if schema_name != name {
        serde.push(format!("rename = {schema_name:?}"));
    }
    let variant = |(variant, value, about): &(String, String, Option<String>)| {
        // A comment would become a description in the schema.
        let comment = match about {
            Some(about) if *is_extensible => comment(4, about),
            _ if *is_extensible => format!("    /// `{value}`.\n"),
            _ => String::new(),
        };
        format!("{comment}    #[serde(rename = {value:?})]\n    {variant},\n")
    };
    let pair = |(variant, value, _): &(String, String, Option<String>)| {
        format!("        ({value:?}, {name}::{variant}),\n")
    };
    let arm = |(variant, value, _): &(String, String, Option<String>)| {
        format!("            {name}::{variant} => {value:?},\n")
    };
    let about = match &values.description {
        Some(description) => commented(0, Some(description)),
        None => format!("/// The values at `{}`.\n", values.about.trim_start_matches('/')),
    };
    let about = if *is_extensible || values.description.is_some() { about } else { String::new() };
    let derive = if *is_extensible { "" } else { ", JsonSchema" };
    let told = if *is_extensible { Vec::new() } else { told(values.description.as_deref()) };
    let schemars = attribute(0, "schemars", &told);
    format!(
        "{about}#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize{derive})]\n{}\
         pub enum {name} {{\n{}}}\n\n\
         impl {name} {{\n    /// Every value, with its text in the document.\n    \
         pub const VALUES: &'static [(&'static str, {name})] = &[\n{}    ];\n\n    \
         /// The value's text in the document.\n    \
         pub const fn as_str(self) -> &'static str {{\n        match self {{\n{}        }}\n    }}\n{}}}\n\n",
        attribute(0, "serde", &serde) + &schemars,
        list.iter().map(variant).collect::<String>(),
        list.iter().map(pair).collect::<String>(),
        list.iter().map(arm).collect::<String>(),
        code_methods(values, contract),
    )
}

/// What the examples of errors say of codes.
fn code_methods(values: &Values, contract: &Contract<'_>) -> String {
    let name = &values.name;
    let errors: Vec<&ErrorVariant> = contract.operations.iter().flat_map(|of| &of.errors).collect();
    let is_of = |error: &&&ErrorVariant, code: &str| match &error.body {
        ErrorBody::Record(_, fields) => {
            error.code == code && fields.iter().any(|(field, _)| field.shape.ty.rust == *name)
        }
        _ => false,
    };
    let found: Vec<_> = values
        .values
        .iter()
        .map(|(variant, code, _)| (variant, errors.iter().find(|error| is_of(error, code))))
        .collect();
    if found.iter().all(|(_, error)| error.is_none()) {
        return String::new();
    }
    let arms = |value: &dyn Fn(&ErrorVariant) -> Option<String>| -> String {
        let arm = |(variant, error): &(&String, Option<&&ErrorVariant>)| {
            let value = error.and_then(|error| value(error));
            let value = value.map_or("None".to_string(), |value| format!("Some({value})"));
            format!("            {name}::{variant} => {value},\n")
        };
        found.iter().map(arm).collect()
    };
    let message = |error: &ErrorVariant| {
        let fields = match &error.body {
            ErrorBody::Record(_, fields) => fields,
            _ => return None,
        };
        let (field, _) = fields
            .iter()
            .find(|(field, fixed)| fixed.is_none() && field.shape.ty.rust == "String")?;
        error.example.get(&field.key)?.as_str().map(literal)
    };
    let status = |error: &ErrorVariant| match &error.status {
        crate::errors::ErrorStatus::One(constant) => (100..600)
            .find(|number| status::names(*number).is_some_and(|(_, own)| own == *constant))
            .map(|number: u16| number.to_string()),
        crate::errors::ErrorStatus::Any => None,
    };
    format!(
        "\n    /// The status of the code, where an operation has it.\n    pub const fn status(self) -> Option<u16> {{\n        match self {{\n{}        }}\n    }}\n\
         \n    /// The text of the code's first example.\n    pub const fn example(self) -> Option<&'static str> {{\n        match self {{\n{}        }}\n    }}\n",
        arms(&status),
        arms(&message),
    )
}
