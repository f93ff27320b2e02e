//! Whether tests pass: those that see on the wire all that the documents promise, and others.

use crate::repository::Repository;
use anyhow::Context;
use std::collections::BTreeSet;
use std::process::Command;

/// The tests that hold the documents in `spec` against what both servers send.
const TESTS: &str = "every_documented_answer::";
/// How these tests end the line of a promise that they did not see.
const NEVER_SEEN: &str = " was never seen";
/// Of an output that names no promise, such as that of a compiler.
const MAX_LINES: usize = 40;

/// What keeps the documents from being published, a line each; nothing, if every status, header,
/// code and field that they promise was seen.
pub type Evidence = dyn Fn(&Repository) -> anyhow::Result<Vec<String>>;

/// Compiles and runs the tests of the documents.
pub fn of_tests(repository: &Repository) -> anyhow::Result<Vec<String>> {
    of(repository, TESTS, &[])
}

/// Compiles and runs the tests of this name, with these arguments of their program.
pub fn of(repository: &Repository, tests: &str, arguments: &[&str]) -> anyhow::Result<Vec<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--workspace", "--test", "store_orders", tests, "--"]).args(arguments);
    command.env("RUST_BACKTRACE", "0").current_dir(repository.root());
    let output = command.output().context("cannot run cargo")?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(verdict(tests, output.status.success(), &(text(&output.stderr) + &text(&output.stdout))))
}

/// What the output of the tests says.
fn verdict(tests: &str, succeeded: bool, output: &str) -> Vec<String> {
    let lines = || output.lines().map(str::to_string);
    let has_run = |line: &str| {
        line.strip_prefix("test result: ok. ").is_some_and(|counts| !counts.starts_with("0 "))
    };
    if succeeded && output.lines().any(has_run) {
        return Vec::new();
    }
    // Several tests may miss the same.
    let unseen: BTreeSet<_> = lines().filter(|line| line.ends_with(NEVER_SEEN)).collect();
    if !unseen.is_empty() {
        return unseen.into_iter().collect();
    }
    let count = output.lines().count();
    let last = lines().skip(count.saturating_sub(MAX_LINES));
    [format!("the tests {tests} did not pass:")].into_iter().chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_that_ran_and_passed_are_evidence() {
        let passed = "test result: ok. 4 passed; 0 failed; 0 ignored\n";
        assert_eq!(verdict(TESTS, true, passed), [""; 0]);
        assert!(!verdict(TESTS, false, passed).is_empty());
        let none = "test result: ok. 0 passed; 0 failed; 0 ignored\n";
        assert_eq!(verdict(TESTS, true, none).last().unwrap(), none.trim());
    }

    #[test]
    fn each_promise_that_was_not_seen_is_named_once() {
        let of_one = "panicked at tests:\nlistOrders 418 was never seen\n\
                      getPet 200 field Pet.colour was never seen\nnote: x\n";
        let named = ["getPet 200 field Pet.colour was never seen", "listOrders 418 was never seen"];
        assert_eq!(verdict(TESTS, false, &of_one.repeat(2)), named);
    }

    #[test]
    fn other_failures_are_shown_as_they_are() {
        let output = format!("{}error: cannot compile\n", "warning\n".repeat(99));
        let shown = verdict(TESTS, false, &output);
        assert_eq!(shown[0], "the tests every_documented_answer:: did not pass:");
        assert_eq!((shown.len(), shown[40].as_str()), (41, "error: cannot compile"));
    }
}
