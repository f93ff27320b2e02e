//! The files of a version of the client: progenitor's client, and what stands over it.

mod blocking;
mod calls;
mod operations;
mod records;
mod requests;
mod root;
mod test;
mod testing;
mod values;

use super::Version;
use super::errors::Errors;
use super::model::{Argument, Held, Operation, Parameter};
use super::progenitor::Core;
use super::read::Source;
use crate::text::comment;
use regex::{Captures, Regex};
use serde_json::Value;
use std::collections::BTreeMap;

/// What the files are written from.
pub struct Parts<'a> {
    pub version: &'a Version<'a>,
    /// The client that is reached without naming a version, and the others beside it.
    pub is_main: bool,
    pub others: &'a [Version<'a>],
    pub source: Source<'a>,
    pub operations: Vec<Operation>,
    pub main_module: &'a str,
}

impl Parts<'_> {
    /// The files: names below `src`, and texts that are not formatted yet.
    pub fn files(&self) -> Vec<(String, String)> {
        let module = self.version.module;
        let file = |name: &str, text: String| (format!("{module}/{name}.rs"), text);
        let mut files = vec![
            (format!("{module}.rs"), root::root(self)),
            file("http", http(self.core())),
            file("operations", operations::operations(self)),
            file("records", records::records(self)),
            file("testing", testing::testing(self)),
            file("blocking", blocking::blocking(self)),
        ];
        if self.has_values() {
            files.push(file("values", values::values(self)));
        }
        if self.is_main {
            files.push(file("errors", values::errors(self)));
        }
        files
    }

    /// A test that calls each operation once.
    pub fn test(&self) -> String {
        test::test(self)
    }

    fn core(&self) -> &Core {
        self.source.core
    }

    fn errors(&self) -> &Errors {
        self.source.errors
    }

    fn has_values(&self) -> bool {
        !self.source.rust.enums.is_empty()
    }

    /// The path in which its addresses end, such as `/v1`.
    fn base_path(&self) -> String {
        crate::values::base_path(&self.source.root)
    }

    fn info(&self, key: &str) -> &str {
        let info = self.source.root.get("info");
        info.and_then(|info| info.text(key)).unwrap_or_default()
    }
}

fn http(core: &Core) -> String {
    format!("//! Progenitor's client, which each call goes through.\n\n{}", core.code)
}

/// The paragraphs of a comment, with what is kept for code as such.
fn paragraphs(indent: usize, paragraphs: &[String]) -> String {
    let texts = paragraphs.iter().filter(|text| !text.is_empty());
    let texts: Vec<_> = texts.map(|text| comment(indent, &for_rustdoc(text))).collect();
    texts.join(&format!("{:indent$}///\n", ""))
}

/// An element of a list in a comment, which begins with `mark`.
fn item(indent: usize, mark: &str, text: &str) -> String {
    let lines = comment(indent + 2, &format!("{mark}{}", for_rustdoc(text)));
    let lines = lines.lines().enumerate().map(|(index, line)| {
        let mark = if index == 0 { "-" } else { " " };
        let text = line.trim_start().trim_start_matches("///");
        format!("{:indent$}/// {mark}{text}\n", "")
    });
    lines.collect()
}

/// Angle brackets outside of code are no tags.
fn for_rustdoc(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(index, part)| match index % 2 {
        0 => part.replace('<', "\\<").replace('[', "\\["),
        _ => part.to_string(),
    });
    parts.collect::<Vec<_>>().join("`")
}

/// The attribute of a deprecated operation.
fn deprecation(operation: &Operation) -> String {
    operation
        .deprecated
        .as_ref()
        .map_or(String::new(), |note| format!("#[deprecated(note = {note:?})]\n"))
}

/// What the value of a response is.
fn value(operation: &Operation) -> String {
    match &operation.outcome {
        Some(_) => format!("{}Outcome", operation.type_name),
        None if operation.empty.is_empty() => operation.success.clone(),
        None => format!("Option<{}>", operation.success),
    }
}

/// A parameter of a public method.
fn taken(parameter: &Parameter) -> String {
    let Argument { ty, held, .. } = &parameter.argument;
    let name = &parameter.name;
    match (held, parameter.place.as_str()) {
        (Held::Reference, "body") => format!("{name}: &{ty}"),
        (Held::Value, _) => format!("{name}: {ty}"),
        _ => format!("{name}: impl Into<{ty}>"),
    }
}

/// A parameter as a value of its type.
fn converted(parameter: &Parameter) -> String {
    match (parameter.argument.held, parameter.place.as_str()) {
        (Held::Reference, "body") => format!("{}.clone()", parameter.name),
        (Held::Value, _) => parameter.name.clone(),
        _ => format!("{}.into()", parameter.name),
    }
}

/// What progenitor's method is given of a value that is kept in this place.
fn given(parameter: &Parameter, place: &str) -> String {
    let name = &parameter.name;
    match (parameter.argument.held, parameter.argument.is_optional) {
        (Held::Text, true) => format!("{place}{name}.as_deref()"),
        (Held::Reference, true) => format!("{place}{name}.as_ref()"),
        (Held::Value, _) => format!("{place}{name}"),
        (_, false) => format!("&{place}{name}"),
    }
}

/// Whether an integer is one from 0 on that `u32` has.
fn is_small(parameter: &Parameter) -> bool {
    let bound = |key: &str| parameter.schema.get(key).and_then(Value::as_u64);
    let is_u32 = bound("maximum").is_some_and(|of| of <= u32::MAX.into());
    parameter.argument.ty == "i64" && bound("minimum").is_some() && is_u32
}

/// A file: what it is about, the imports of which the code makes use, and the code.
fn file(about: &str, body: &str, uses: &[(&str, &str)]) -> String {
    let (body, types) = shortened(body);
    let types = types.iter().map(|(name, path)| (name.as_str(), path.as_str()));
    let uses: Vec<_> = uses.iter().copied().chain(types).collect();
    let used = uses.iter().filter(|(name, _)| is_used(&body, name));
    let used: Vec<_> = used.map(|(_, path)| *path).collect();
    format!("//! {about}\n\n{}\n{body}", imports(&used))
}

/// Code with the names of types instead of their paths, and these paths.
fn shortened(body: &str) -> (String, BTreeMap<String, String>) {
    let mut types = BTreeMap::new();
    let pattern = Regex::new(r"crate::\w+::(?:http::types|values)::(\w+)");
    let Ok(pattern) = pattern else { return (body.to_string(), types) };
    let body = pattern.replace_all(body, |found: &Captures<'_>| {
        types.insert(found[1].to_string(), found[0].to_string());
        found[1].to_string()
    });
    (body.into_owned(), types)
}

/// A line for each module.
fn imports(paths: &[&str]) -> String {
    let mut modules: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (module, name) in paths.iter().filter_map(|path| path.rsplit_once("::")) {
        modules.entry(module).or_default().push(name);
    }
    let line = |(module, names): (&str, Vec<&str>)| match names.as_slice() {
        [name] => format!("use {module}::{name};\n"),
        names => format!("use {module}::{{{}}};\n", names.join(", ")),
    };
    modules.into_iter().map(line).collect()
}

/// Whether code uses a name by itself.
fn is_used(code: &str, name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| line.match_indices(name).map(move |found| (line, found.0))).any(
        |(line, start)| {
            let before = line.get(..start).and_then(|text| text.chars().next_back());
            let after = line.get(start + name.len()..).and_then(|text| text.chars().next());
            let is_part = |before: char| is_letter(before) || before == ':' || before == '.';
            !before.is_some_and(is_part) && !after.is_some_and(is_letter)
        },
    )
}

/// Whether the client has this name for itself.
pub fn is_own(name: &str) -> bool {
    root::OWN.contains(&name)
}
