//! Formats generated code as if it were handwritten: with empty lines between items, and in the
//! style of this repository.

use std::io::{self, Write};
use std::process::{Command, Output, Stdio};
use syn::Item;

const STYLE: [&str; 4] = ["--edition", "2024", "--config", "use_small_heuristics=Max"];

pub fn print(file: syn::File) -> String {
    let (mut text, mut was_use) = (String::new(), false);
    for item in file.items {
        let is_use = matches!(item, Item::Use(_));
        if !(text.is_empty() || is_use && was_use) {
            text.push('\n');
        }
        was_use = is_use;
        let has_members = matches!(item, Item::Impl(_) | Item::Trait(_));
        let file = syn::File { shebang: None, attrs: Vec::new(), items: vec![item] };
        let item = prettyplease::unparse(&file);
        text += &if has_members { separate_members(&item) } else { item };
    }
    text
}

fn separate_members(item: &str) -> String {
    let (mut text, mut has_ended) = (String::new(), false);
    for line in item.lines() {
        let member = line.strip_prefix("    ").filter(|rest| !rest.starts_with(' '));
        let starts = ["///", "#[", "fn ", "pub fn ", "pub const fn ", "async fn "];
        if has_ended
            && member.is_some_and(|rest| starts.iter().any(|start| rest.starts_with(start)))
        {
            text.push('\n');
        }
        let is_code = member.is_some_and(|rest| !rest.starts_with("///"));
        has_ended = is_code && line.ends_with(['}', ';']);
        text += line;
        text.push('\n');
    }
    text
}

pub fn format(code: &str) -> io::Result<String> {
    let mut rustfmt = rustfmt();
    let mut rustfmt = rustfmt
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(explain_missing_rustfmt)?;
    // This cannot deadlock, because rustfmt reads all of its input before it writes its output.
    if let Some(mut stdin) = rustfmt.stdin.take() {
        stdin.write_all(code.as_bytes())?;
    }
    let output = require_success(rustfmt.wait_with_output()?)?;
    String::from_utf8(output.stdout).map_err(io::Error::other)
}

fn rustfmt() -> Command {
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(STYLE).stderr(Stdio::piped());
    rustfmt
}

fn explain_missing_rustfmt(error: io::Error) -> io::Error {
    let reason =
        format!("rustfmt cannot be run: {error}; `rustup component add rustfmt` installs it");
    io::Error::new(error.kind(), reason)
}

fn require_success(output: Output) -> io::Result<Output> {
    if output.status.success() {
        return Ok(output);
    }
    let reason = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(io::Error::other(format!("rustfmt refuses the generated code: {reason}")))
}
