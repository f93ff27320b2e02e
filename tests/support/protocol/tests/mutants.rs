//! Negative controls of the protocol model's search. Each mutant is a copy of `src/store/agreement`
//! in which one wait, comparison or action is missing or wrong. The search must find a promise that
//! the mutant breaks.
//!
//! No mutant removes the following code, because no promise breaks without it:
//! - `read.max` in `page`, `Opening::record` for the first change, and the comparisons in `publish`
//!   that decide whether `position` moves. The tests of `list.rs` and the conformance tests of
//!   PostgreSQL check this code.
//! - `is_all` after a read of all rows. Without it, a list may show only some of the orders that
//!   one transaction imported.
//! - `is_awaited` and `record_answer`. The test of `shared_queries.rs` checks both.
//!
//! Two other mutants are left out because they do not compile. One would keep `next` in
//! `shared_queries.rs`, and one would call `Opening::record` before the commit is confirmed.

use anyhow::{Context, ensure};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const DECISIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../src/store/agreement");

/// Maximum time for the search to find a broken promise in a mutant.
const LIMIT: Duration = Duration::from_secs(60);

/// Each mutant replaces the first string with the second in a file of `src/store/agreement`.
const MUTANTS: [(&str, &str); 32] = [
    // lease.rs
    ("now < sent + LEASE", "now < now + LEASE"),
    ("sent.min(asked)", "asked"),
    ("sent.min(asked)", "sent.max(asked)"),
    ("return OldLeaseWait { until: opened + LEASE }", "return OldLeaseWait { until: opened }"),
    ("if server_before == server { opened } else { opened + LEASE }", "opened"),
    ("until: earliest.max(wait.until)", "until: earliest"),
    ("if now < self.until {", "if false {"),
    // journal.rs
    ("if !lease.is_valid(now) {", "if false {"),
    ("u64::from(!self.is_known)", "0"),
    ("if !is_known {", "if false {"),
    ("self.advance(history, change);", ""),
    ("is_none_or(|(history, last)| (*history, last.number) < position)", "is_none_or(|_| true)"),
    // key_cache.rs
    ("as_of + KEYS_CURRENT_FOR", "as_of + KEYS_CURRENT_FOR + KEYS_CURRENT_FOR"),
    ("!cached.has_more_than(read)", "true"),
    ("KeysCatchUp::Empty(stored)", "KeysCatchUp::Current"),
    // list.rs
    ("stored.has_more_than(self.snapshot_position)", "stored.has_more_than(self.position)"),
    ("if stored.history != self.position.history {", "if false {"),
    ("if !stored.has_more_than(self.position) {", "if true {"),
    ("if !after.has_more_than(self.position) =>", "=>"),
    ("if position != self.position {", "if true {"),
    ("self.pending_removals = R::default();", "remove_done(&mut self.pending_removals);"),
    // position.rs
    ("before == self =>", "before.history == self.history =>"),
    ("before == self =>", "before.number == self.number =>"),
    ("self.history != other.history || ", ""),
    (" || self.number > other.number", ""),
    ("self.number == 0", "false"),
    // reading.rs
    ("(after.history == history).then_some(rows)", "Some(rows)"),
    ("reached: before, is_all: before == last", "reached: last, is_all: true"),
    ("if is_full { read } else { read.max(before.number) }", "read.max(before.number)"),
    ("is_all: !is_full", "is_all: true"),
    // shared_queries.rs
    (" && self.under_way < most", ""),
    ("self.under_way += 1;", ""),
];

/// Replaces the string `from` with `to` in the file that contains `from`. Returns the file's name
/// and new content. Fails unless `from` occurs exactly once in all files together.
fn mutate((from, to): (&str, &str)) -> anyhow::Result<(PathBuf, String)> {
    let mut result = None;
    for file in std::fs::read_dir(Path::new(DECISIONS))? {
        let path = file?.path();
        let text = std::fs::read_to_string(&path)?;
        for _ in text.matches(from) {
            let name = path.file_name().context("it is a file")?;
            let before = result.replace((name.into(), text.replace(from, to)));
            ensure!(before.is_none(), "{from:?} is there twice");
        }
    }
    result.with_context(|| format!("{from:?} is not there"))
}

/// Returns the time until the search finds a broken promise in the mutant, or `None` if it finds
/// none.
fn search(mutant: (&str, &str), directory: &Path) -> anyhow::Result<Option<Duration>> {
    let copy = |from: &Path, to: &str| -> anyhow::Result<()> {
        let to = directory.join(to);
        std::fs::create_dir_all(&to)?;
        for file in std::fs::read_dir(from)? {
            let file = file?;
            std::fs::copy(file.path(), to.join(file.file_name()))?;
        }
        Ok(())
    };
    copy(Path::new("src"), "tests/support/protocol/src")?;
    copy(Path::new(DECISIONS), "src/store/agreement")?;
    let (file, text) = mutate(mutant)?;
    std::fs::write(directory.join("src/store/agreement").join(file), text)?;
    let program = directory.join("search");
    let compiled = Command::new("rustc")
        .args(["--edition", "2024", "--test", "-C", "opt-level=3", "--cap-lints", "allow", "-o"])
        .args([&program, &directory.join("tests/support/protocol/src/lib.rs")])
        .output()?;
    ensure!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let started = Instant::now();
    let mut searching = Command::new(&program)
        .args(["no_world", "--nocapture", "--test-threads=8"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let lines = BufReader::new(searching.stderr.take().context("it is piped")?).lines();
    // A search that fails for another reason than a broken promise has not detected the mutant.
    let broken = lines.map_while(Result::ok).find(|line| line.starts_with("broken promise: "));
    let elapsed = started.elapsed();
    // One broken promise is enough to detect the mutant.
    let _ = searching.kill();
    searching.wait()?;
    Ok(broken.map(|_| elapsed))
}

#[test]
fn each_mutant_applies_to_the_current_source() {
    MUTANTS.into_iter().try_for_each(|mutant| mutate(mutant).map(drop)).unwrap();
}

#[test]
#[ignore = "takes minutes; .ci/run nightly"]
fn each_mutant_breaks_a_promise() {
    let mut missed = Vec::new();
    for mutant in MUTANTS {
        let directory = tempfile::tempdir().unwrap();
        match search(mutant, directory.path()).unwrap() {
            Some(after) if after < LIMIT => println!("found within {after:.1?}: {mutant:?}"),
            Some(after) => missed.push(format!("found only within {after:.1?}: {mutant:?}")),
            None => missed.push(format!("not found: {mutant:?}")),
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
