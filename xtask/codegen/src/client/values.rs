//! Writes the extensible enums (`x-extensible-enum`), to which the API may add values. The versions
//! share enums of the same name, so that callers can compare values of different versions.

use super::Version;
use super::for_rust::extensible_enums;
use crate::names::pascal;
use crate::refusal::{Refusal, Refusals};
use std::fmt::Write;

struct MergedEnum {
    name: String,
    property: String,
    description: String,
    /// The values, each with its description.
    values: Vec<(String, String)>,
}

/// Returns the Rust source of the extensible enums. If several versions list the same value, the
/// last of `versions` decides the value's description.
pub fn values(versions: &[Version<'_>]) -> Result<String, Refusals> {
    let mut enums: Vec<MergedEnum> = Vec::new();
    for (name, property, schema) in
        versions.iter().flat_map(|version| extensible_enums(version.document))
    {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_string();
        let description = text(&schema["description"]);
        let position = enums.iter().position(|other| other.name == name).unwrap_or(enums.len());
        if position == enums.len() {
            enums.push(MergedEnum { name, property, description, values: Vec::new() });
        }
        let Some(merged) = enums.get_mut(position) else { continue };
        for value in schema["x-extensible-enum"].as_array().into_iter().flatten().map(text) {
            let about = schema["x-enumDescriptions"].get(&value).map(text).unwrap_or_default();
            match merged.values.iter_mut().find(|(other, _)| *other == value) {
                Some((_, description)) => *description = about,
                None => merged.values.push((value, about)),
            }
        }
    }
    let mut code = String::from(
        "//! Extensible enums, to which the API may add values.\n\n\
         use crate::extensible_enum::extensible_enum;\n",
    );
    for merged in &enums {
        code += &write_enum(merged)?;
    }
    Ok(code)
}

fn write_enum(merged: &MergedEnum) -> Result<String, Refusals> {
    let MergedEnum { name, property, description, values } = merged;
    let comment = |indent: &str, text: &str| {
        let lines = text.lines().map(|line| format!("{indent}/// {line}\n"));
        lines.collect::<String>()
    };
    let mut code = format!("\nextensible_enum! {{\n{}", comment("    ", description));
    let _ = writeln!(code, "    {name}, {property:?} {{");
    for (value, about) in values {
        let Some(variant) = pascal(value).filter(|variant| variant != "Other") else {
            let problem = format!("the value {value:?} of {name} has no name in Rust");
            return Err(Refusals(vec![Refusal::new("", problem, "rename it")]));
        };
        code += &comment("        ", about);
        let _ = writeln!(code, "        {variant} = {value:?},");
    }
    Ok(code + "    }\n}\n")
}
