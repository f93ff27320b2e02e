//! Sessions of a command line that are run and compared, and the one comparison of texts that
//! stand in tests.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

use crate::program::without_settings;
use chrono::{TimeDelta, Utc};
use regex::Regex;
use snapbox::data::Inline;
use snapbox::{Assert, IntoData, Redactions};
use std::path::Path;
use std::process::{Command, Stdio};

/// Ends the output of a command of a session. No command prints it.
const END: &str = "\u{1e}end of a command\u{1e}";

/// Asserts what a text says. `[..]` stands for any part of a line, a line of `...` for any lines,
/// and a name in brackets for what differs from run to run. `SNAPSHOTS=overwrite` writes what the
/// text says into the test, which otherwise writes nothing.
#[track_caller]
pub fn assert_text(actual: &str, expected: Inline) {
    let actual = anstream::adapter::strip_str(actual).to_string();
    let actual = actual.strip_suffix('\n').unwrap_or(&actual).to_string();
    assert().eq(actual, expected);
}

/// Replaces what differs from run to run.
fn assert() -> Assert {
    let days = [0, 1].map(|ago| (Utc::now() - TimeDelta::days(ago)).format("%F").to_string());
    let today = format!("(?:{})", days.join("|"));
    let mut varying = Redactions::new();
    for (name, pattern) in [
        ("[KEY]", "sto_[a-z]+_(?<redacted>[0-9A-Za-z]{40,})"),
        ("[ID]", "key_(?<redacted>[0-9A-Za-z]{12})"),
        ("[PORT]", r"(?:127\.0\.0\.1|localhost):(?<redacted>[3-6]\d{4})\b"),
        ("[PID]", r"\bpid (?<redacted>\d+)"),
        ("[TIME]", &format!(r"{today}T\d\d:\d\d:\d\d(?:\.\d+)?Z")),
        ("[MINUTE]", &format!(r"{today} \d\d:\d\dZ")),
        ("[DAY]", &today),
        ("[DIRECTORY]", r"/tmp/\.tmp\w{6}\b"),
        ("[COMMIT]", r"\b[0-9a-f]{40}\b"),
        ("[LINES]", r"@@ (?<redacted>-\d+(?:,\d+)? \+\d+(?:,\d+)?) @@"),
        ("[NUMBER]", r"\((?<redacted>\d+) characters\)"),
        ("[SUM]", r"\b[0-9a-f]{64}\b"),
    ] {
        varying.insert(name, Regex::new(pattern).unwrap()).unwrap();
    }
    Assert::new().action_env("SNAPSHOTS").normalize_paths(false).redact_with(varying)
}

/// Runs the commands of a session, `$ COMMAND` with more lines of it after `> `, in one shell in
/// this directory. Asserts what each prints: lines of standard error begin with `! `, and a
/// status other than 0 is a last line such as `(3)`.
#[track_caller]
pub(crate) fn assert_session(program: &Path, directory: &Path, expected: Inline) {
    let commands = commands(&expected.clone().into_data().to_string());
    let outputs = run(program, directory, &commands, "! ");
    let shown = commands
        .iter()
        .zip(&outputs)
        .map(|(command, output)| format!("$ {}\n{output}", command.replace('\n', "\n> ")));
    assert_text(&shown.collect::<String>(), expected);
}

/// The commands of a session.
fn commands(session: &str) -> Vec<String> {
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

/// What each command prints, in one shell.
fn run(program: &Path, directory: &Path, commands: &[String], error_mark: &str) -> Vec<String> {
    let errors = tempfile::NamedTempFile::new().unwrap();
    let script = commands.iter().map(|command| {
        format!(
            "{{ {command}\n}} 2>\"$ERRORS\"; status=$?; sed 's/^/{error_mark}/' \"$ERRORS\"\n\
             [ $status = 0 ] || echo \"($status)\"; echo '{END}'\n"
        )
    });
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(script.collect::<String>());
    let own = program.parent().unwrap().display();
    let path = std::env::var("PATH").unwrap_or_default();
    shell.env("PATH", format!("{own}:{path}")).env("ERRORS", errors.path());
    shell.current_dir(directory).stdin(Stdio::null());
    let output = without_settings(shell).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let outputs: Vec<_> = text.split_terminator(&format!("{END}\n")).map(str::to_string).collect();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(outputs.len(), commands.len(), "{text}{error}");
    outputs
}
