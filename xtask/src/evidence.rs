//! Checks that the current commit has passed `.ci/run`, according to `target/passed`. Also runs the
//! tests that publication and the external checks require.

use crate::history::Git;
use crate::repository::Repository;
use anyhow::{Context, ensure};
use std::collections::BTreeSet;
use std::process::Command;

/// A filter for `cargo test`. The selected tests fail if a documented part, such as a header,
/// occurs in none of their requests and responses.
const ALL_SEEN: &str = "every_documented_answer::";
/// A filter for `cargo test`. The selected tests compare the server's responses with the published
/// documents.
const REPLAY: &str = "published_documents::";
/// The end of a line that the tests of [`ALL_SEEN`] print. Such a line names a documented part,
/// such as a header, that the tests never saw in a request or response.
const NEVER_SEEN: &str = " was never seen";
/// The maximum number of output lines shown if no line ends with [`NEVER_SEEN`].
const MAX_LINES: usize = 40;

/// Checks one condition of publication. Returns the reasons not to publish, one line for each.
pub type Condition = fn(&Repository) -> anyhow::Result<Vec<String>>;

/// The conditions that `cargo xtask publish` checks. All must be met, because publication cannot be
/// undone.
pub const CONDITIONS: [Condition; 3] = [
    |repository| {
        let passed = check_passed(repository, &[CHANGE]);
        Ok(passed.err().into_iter().map(|error| format!("{error:#}")).collect())
    },
    |repository| run_tests(repository, ALL_SEEN, &[]),
    |repository| run_tests(repository, REPLAY, &[]),
];

/// A command of `.ci/run`, and the file in `target/passed` that contains the last commit on which
/// the command passed.
pub type Note = (&'static str, &'static str);
/// The pre-merge checks.
pub const CHANGE: Note = (".ci/run", "change");
/// The nightly tests. They include all tests that the pre-merge checks do not run.
pub const NIGHTLY: Note = (".ci/run nightly", "nightly");

/// Fails if the working tree has changes, or if a command in `notes` has not passed on the current
/// commit.
pub fn check_passed(repository: &Repository, notes: &[Note]) -> anyhow::Result<()> {
    let git = Git { repository };
    let changed = git.answer(&["status", "--porcelain"])?;
    ensure!(changed.is_empty(), "these files are not as in the commit:\n{changed}");
    let commit = git.answer(&["rev-parse", "HEAD"])?;
    for (command, name) in notes {
        let passed = repository.read(&format!("target/passed/{name}"));
        let is_this = passed.is_ok_and(|passed| passed.trim() == commit);
        ensure!(is_this, "commit {commit} has not passed `{command}` here");
    }
    Ok(())
}

/// Runs the integration tests whose names contain `tests`. Passes `arguments` to the test program.
///
/// Returns no lines if tests ran and passed. Otherwise returns the output lines that end with
/// [`NEVER_SEEN`]. Without such lines, returns the end of the output.
pub fn run_tests(
    repository: &Repository,
    tests: &str,
    arguments: &[&str],
) -> anyhow::Result<Vec<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--workspace", "--test", "store_orders", tests, "--"]).args(arguments);
    command.env("RUST_BACKTRACE", "0").current_dir(repository.root());
    let output = command.output().context("cannot run cargo")?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(verdict(tests, output.status.success(), &(text(&output.stderr) + &text(&output.stdout))))
}

/// Returns no lines if tests ran and passed, otherwise lines that say what failed. A run without
/// tests is a failure, because somebody may have renamed the tests.
fn verdict(tests: &str, succeeded: bool, output: &str) -> Vec<String> {
    let lines = || output.lines().map(str::to_string);
    let has_run = |line: &str| {
        line.strip_prefix("test result: ok. ").is_some_and(|counts| !counts.starts_with("0 "))
    };
    if succeeded && output.lines().any(has_run) {
        return Vec::new();
    }
    // Collect the lines in a set, because several tests may print the same line.
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
    use std::fs;

    #[test]
    fn only_an_unchanged_commit_with_a_note_has_passed() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        let repository = Repository::open(directory.path());
        let git = Git { repository: &repository };
        let who = ["-c", "user.name=a", "-c", "user.email=a@store.example"];
        let run = |arguments: &[&str]| git.answer(&[&who, arguments].concat()).unwrap();
        fs::write(file(".gitignore"), "/target\n").unwrap();
        run(&["init", "--quiet"]);
        run(&["add", "."]);
        run(&["commit", "--quiet", "--message", "a"]);
        let commit = run(&["rev-parse", "HEAD"]);
        let refused = || check_passed(&repository, &[CHANGE, NIGHTLY]).unwrap_err().to_string();

        fs::create_dir_all(file("target/passed")).unwrap();
        fs::write(file("target/passed/nightly"), &commit).unwrap();
        assert_eq!(refused(), format!("commit {commit} has not passed `.ci/run` here"));
        fs::write(file("target/passed/change"), format!("{commit}\n")).unwrap();
        check_passed(&repository, &[CHANGE, NIGHTLY]).unwrap();
        fs::write(file("target/passed/nightly"), "0123\n").unwrap();
        assert_eq!(refused(), format!("commit {commit} has not passed `.ci/run nightly` here"));
        assert_eq!(CONDITIONS[0](&repository).unwrap(), [""; 0]);
        fs::write(file("new"), "").unwrap();
        assert!(refused().ends_with("?? new"), "{}", refused());
        assert_eq!(CONDITIONS[0](&repository).unwrap(), [refused()]);
    }

    #[test]
    fn only_tests_that_ran_and_passed_are_evidence() {
        let passed = "test result: ok. 4 passed; 0 failed; 0 ignored\n";
        assert_eq!(verdict(REPLAY, true, passed), [""; 0]);
        assert!(!verdict(REPLAY, false, passed).is_empty());
        let none = "test result: ok. 0 passed; 0 failed; 0 ignored\n";
        assert_eq!(verdict(REPLAY, true, none).last().unwrap(), none.trim());
    }

    #[test]
    fn each_unobserved_promise_is_reported_once() {
        let output = "panicked at tests:\nlistOrders 418 was never seen\n\
                      getPet 200 field Pet.colour was never seen\nnote: x\n";
        let named = ["getPet 200 field Pet.colour was never seen", "listOrders 418 was never seen"];
        assert_eq!(verdict(ALL_SEEN, false, &output.repeat(2)), named);
    }

    #[test]
    fn other_failures_are_shown_as_they_are() {
        let output = format!("{}error: cannot compile\n", "warning\n".repeat(99));
        let shown = verdict(REPLAY, false, &output);
        assert_eq!(shown[0], "the tests published_documents:: did not pass:");
        assert_eq!((shown.len(), shown[40].as_str()), (41, "error: cannot compile"));
    }
}
