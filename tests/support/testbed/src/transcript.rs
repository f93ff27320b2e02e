//! Runs command-line sessions and compares their output with what a test or document shows.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::child_process::output;
use crate::program::without_settings;
use chrono::{NaiveDateTime, TimeDelta, Utc};
use regex::{Captures, Regex};
use snapbox::data::Inline;
use snapbox::{Assert, IntoData};
use std::path::{Path, PathBuf};
use std::process::Command;

/// `without_times` replaces times about this many days from now: recent times (0) and expiries of
/// keys.
const VALID_DAYS: [i64; 4] = [0, 1, 7, 90];

/// Marks the end of a command's output. No command prints this string.
const END: &str = "\u{1e}end of a command\u{1e}";

/// Asserts that a string is as expected. `[..]` matches any part of a line, and a line of `...`
/// matches any lines. A name in brackets stands for a value that differs in each run.
/// `SNAPSHOTS=overwrite` updates the expectation in the source.
#[track_caller]
pub fn assert_text(actual: &str, expected: Inline) {
    let actual = normalize_run(&anstream::adapter::strip_str(actual).to_string());
    let actual = actual.strip_suffix('\n').unwrap_or(&actual).to_string();
    // Do not normalize paths, because that would replace every backslash in the text by a slash.
    Assert::new().action_env("SNAPSHOTS").normalize_paths(false).eq(actual, expected);
}

/// A console session that a document shows, with what a test needs to run it.
#[derive(Debug)]
pub struct Console<'a> {
    /// The document's path, relative to the repository.
    pub page: &'a str,
    /// The session's lines. A trailing `…` matches the rest of a line, and a line that is only `…`
    /// matches any lines. JSON may be shown over several lines.
    pub text: &'a str,
    /// Shell code that runs before the session.
    pub setup: &'a str,
    /// Pairs of a string in the document and its replacement in the test, such as a path.
    pub real: &'a [(&'a str, String)],
}

/// Returns the `console` blocks below this second-level heading of a document in this checkout.
#[track_caller]
pub fn consoles(page: &str, heading: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let (_, section) = text.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("```console\n").skip(1).map(|rest| {
        let block = rest.split("```").next().unwrap();
        let indent = block.len() - block.trim_start().len();
        let lines = block.lines().map(|line| line.get(indent..).unwrap_or_default());
        lines.map(|line| format!("{line}\n")).collect::<String>()
    });
    blocks.collect()
}

#[track_caller]
pub(crate) fn assert_console(program: &Path, directory: &Path, console: &Console<'_>) {
    let errors = tempfile::NamedTempFile::new().unwrap();
    shell(program, directory, errors.path()).check(console);
}

pub(crate) struct Shell {
    /// The command that starts `sh`. The script is added to its arguments.
    pub command: Command,
    /// The file to which the commands write their errors. For a container, the path inside the
    /// container.
    pub errors: PathBuf,
}

fn shell(program: &Path, directory: &Path, errors: &Path) -> Shell {
    let mut command = Command::new("sh");
    let program_directory = program.parent().unwrap().display();
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{program_directory}:{path}"));
    // Programs must print in English, and curl must reach the loopback without a proxy.
    command.env("LC_ALL", "C").env("no_proxy", "*");
    command.current_dir(directory);
    Shell { command: without_settings(command), errors: errors.to_path_buf() }
}

impl Shell {
    /// Runs a document's console session. Asserts that the commands print what the document shows.
    #[track_caller]
    pub(crate) fn check(self, console: &Console<'_>) {
        let shown = parse_commands(console.text);
        let typed = shown.iter().map(|command| {
            console
                .real
                .iter()
                .fold(command.clone(), |text, (shown, real)| text.replace(shown, real))
        });
        let outputs = self.run(console.setup, &typed.collect::<Vec<_>>());
        let actual = shown.iter().zip(outputs).map(|(command, output)| {
            let output =
                console.real.iter().fold(output, |text, (shown, real)| text.replace(real, shown));
            let command = command.replace('\n', "\n> ");
            format!("$ {command}\n{}", replace_all(output, &[(r"(?m)^(?:!|\(\d+\))(?: |$)", "")]))
        });
        let actual =
            normalize_for_document(&format!("{}\n", actual.collect::<String>().trim_end()));
        let shown = with_compact_json(console.text.trim_end());
        let expected = normalize_for_document(&format!("{shown}\n"));
        let expected = replace_all(expected, &[("(?m)^…$", "...")]).replace("…\n", "[..]\n");
        let result = Assert::new().normalize_paths(false).try_eq(
            Some(&console.page),
            actual.into_data(),
            expected.into_data(),
        );
        if let Err(error) = result {
            panic!("{}: {error}", console.page);
        }
    }

    #[track_caller]
    fn run(mut self, setup: &str, commands: &[String]) -> Vec<String> {
        let script = commands.iter().map(|command| {
            format!(
                "exec 2>\"$ERRORS\"\n{command}\n\
                 status=$?; [ $status = 0 ] && mark='!' || mark=\"($status)\"\n\
                 [ $status = 0 ] || [ -s \"$ERRORS\" ] || echo \"$mark\"\n\
                 sed \"s/^/$mark /\" \"$ERRORS\"; printf '{END}'\n"
            )
        });
        let (errors, script) = (self.errors.display(), script.collect::<String>());
        let shell = self.command.arg("-c").arg(format!("ERRORS='{errors}'\n{setup}\n{script}"));
        let output = output(shell, b"").unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.contains('\u{1b}'), "colours are for terminals: {}", normalize_run(&text));
        let mut outputs: Vec<_> = text.split_terminator(END).map(str::to_string).collect();
        assert_eq!(outputs.len(), commands.len(), "{}", normalize_run(&text));
        for output in
            outputs.iter_mut().filter(|output| !output.is_empty() && !output.ends_with('\n'))
        {
            output.push('\n');
        }
        outputs
    }
}

/// Joins the lines of each JSON value, because documents wrap JSON but programs print it on one
/// line. A value begins at a line with only `{` or `[`, and ends at the line with the closing
/// bracket.
fn with_compact_json(text: &str) -> String {
    let block = Regex::new(r"(?ms)^(?:\{$.*?^\}|\[$.*?^\])$").unwrap();
    let compact = |block: &Captures<'_>| {
        let value: serde_json::Value = serde_json::from_str(&block[0]).unwrap();
        value.to_string()
    };
    block.replace_all(text, compact).into_owned()
}

/// Replaces values that may differ from run to run, such as times, with names such as `TIME`.
fn normalize_for_document(text: &str) -> String {
    let patterns = [
        (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", "TIME"),
        (r"\b\d{4}-\d\d-\d\d \d\d:\d\dZ", "MINUTE"),
        (r"\b\d{4}-\d\d-\d\d\b", "DAY"),
        (r"(date: |notAfter=)\w.*GMT", "${1}DATE"),
        (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UUID"),
        (r#"(W/")[0-9a-f-]+"#, "${1}TAG"),
        (r#"(x-ratelimit-reset: |content-length: |"latency_us":|curl/)[\d.]+"#, "${1}NUMBER"),
        (r"( as of |under way for |_fds |avg\d+=|total=)[\d.]+", "${1}NUMBER"),
        (r"( heard )\d+ seconds?( ago)", "${1}NUMBER${2}"),
        // This pattern must precede the pattern for ids, which would also match 16 digits after a
        // decimal point.
        (r"(_age_seconds )[1-9][\d.]*", "${1}NUMBER"),
        (r"\b[0-9a-f]{16}(?:[0-9a-f]{16})?\b", "ID"),
        (r"(?m)^ *\d+% .*", "SHARE AND DISK"),
        (r#"("user":")[^"]+"#, "${1}USER"),
        (r"\r\n", "\n"),
        // Remove the empty line that documents may have between two commands.
        (r"\n\n\$ ", "\n$$ "),
    ];
    replace_all(normalize_run(text), &patterns)
}

fn replace_all(text: String, patterns: &[(&str, &str)]) -> String {
    patterns.iter().fold(text, |text, (pattern, shown)| {
        Regex::new(pattern).unwrap().replace_all(&text, *shown).into_owned()
    })
}

/// Replaces each value that differs between runs. Most values become a name, such as `[PORT]`.
///
/// Keys, key ids and hashes become repeated digits, such as `222`. Equal values get equal digits.
/// The length stays the same, so tables keep their column widths.
fn normalize_run(text: &str) -> String {
    let patterns = [
        (r"((?:127\.0\.0\.1|0\.0\.0\.0|localhost):)[3-6]\d{4}\b", "${1}[PORT]"),
        (r#"\b(pid |pid":)\d+"#, "${1}[PID]"),
        (r"/tmp/\.tmp\w{6}\b", "[DIRECTORY]"),
        (r"\(2\) \n(?:\(2\) Usage: .*\n\(2\) \n)?\(2\) For more information, try '--help'.\n", ""),
        (r"(@@ )-\d+(?:,\d+)? \+\d+(?:,\d+)?( @@)", "${1}[LINES]${2}"),
        (r"(\()\d+( characters\))", "${1}[NUMBER]${2}"),
    ];
    let mut text = replace_all(text.to_string(), &patterns);
    for pattern in [
        "(sto_[a-z]+_)([0-9A-Za-z]{30,})",
        r"(key_)([0-9A-Za-z]{12})\b",
        r"()\b([0-9a-f]{40})\b",
        r"()\b([0-9a-f]{64})\b",
    ] {
        let mut distinct: Vec<String> = Vec::new();
        text = Regex::new(pattern)
            .unwrap()
            .replace_all(&text, |captures: &Captures<'_>| {
                let number = distinct.iter().position(|other| *other == captures[2]);
                let number = number.unwrap_or_else(|| {
                    distinct.push(captures[2].to_string());
                    distinct.len() - 1
                });
                let digit = (number + 1).to_string();
                format!("{}{}", &captures[1], digit.repeat(captures[2].len() / digit.len()))
            })
            .into_owned();
    }
    text
}

/// Runs the commands of a session in one shell in this directory, and asserts their output.
///
/// - `$ ` begins a command, and `> ` each further line of the command.
/// - `! ` begins a line of standard error.
/// - If the command failed, its exit status, such as `(3) `, replaces `! `.
/// - If the command failed without a message, the exit status alone is the last line.
#[track_caller]
pub(crate) fn assert_session(program: &Path, directory: &Path, expected: Inline) {
    let commands = parse_commands(&expected.clone().into_data().to_string());
    let errors = tempfile::NamedTempFile::new().unwrap();
    let outputs = shell(program, directory, errors.path()).run("", &commands);
    let shown = commands
        .iter()
        .zip(&outputs)
        .map(|(command, output)| format!("$ {}\n{output}", command.replace('\n', "\n> ")));
    assert_text(&without_times(&shown.collect::<String>()), expected);
}

/// Replaces recent times with placeholders: times of the last hour, expiry times of keys that were
/// issued in the last hour, and dates of both. Keeps other times, such as fixed times in tests.
fn without_times(text: &str) -> String {
    let now = Utc::now().naive_utc();
    let is_recent = |time: NaiveDateTime| {
        VALID_DAYS.into_iter().any(|days| {
            let since = now - (time - TimeDelta::days(days));
            (TimeDelta::seconds(-10)..TimeDelta::hours(1)).contains(&since)
        })
    };
    let mut text = text.to_string();
    for (pattern, format, shown) in [
        (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", "%FT%T%.fZ", "YYYY-MM-DDThh:mm:ssZ"),
        (r"\b\d{4}-\d\d-\d\d \d\d:\d\dZ", "%F %RZ", "YYYY-MM-DD hh:mmZ"),
    ] {
        let name_recent =
            |captures: &Captures<'_>| match NaiveDateTime::parse_from_str(&captures[0], format) {
                Ok(time) if is_recent(time) => shown.to_string(),
                _ => captures[0].to_string(),
            };
        text = Regex::new(pattern).unwrap().replace_all(&text, name_recent).into_owned();
    }
    // A command of the last hour may have run before midnight. So also replace yesterday's date,
    // and the expiry dates of keys that were issued yesterday.
    let begins = [now, now - TimeDelta::hours(1)];
    let days = begins.into_iter().flat_map(|begin| {
        VALID_DAYS.map(|days| (begin + TimeDelta::days(days)).format(" %F").to_string())
    });
    days.fold(text, |text, day| text.replace(&day, " YYYY-MM-DD"))
}

fn parse_commands(session: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    for line in session.lines() {
        match (line.strip_prefix("$ "), line.strip_prefix("> "), commands.last_mut()) {
            (Some(command), ..) => commands.push(command.to_string()),
            (_, Some(more), Some(last)) => last.push_str(&format!("\n{more}")),
            _ => {}
        }
    }
    assert!(!commands.is_empty(), "no command: {session}");
    commands
}
