//! Controls of the search: the server's decisions with one wait, comparison or step taken out. Each
//! breaks a promise, and the search finds it. They are compiled without cargo, from copies.
//!
//! Left out is what breaks no promise:
//! - The comparisons of `publish` that move `reflected_after_removals`, `read.max` of a page, and the first to be seen in
//!   `confirmed`: lists would be read anew again and again, or no answer would count. The tests of
//!   `list.rs` and the conformance of PostgreSQL find that. To see it before the commit was
//!   confirmed does not compile.
//! - `is_all` of a whole read: a list may then show a part of a step of an import, with nothing missing
//!   that it claims.
//! - `is_awaited`, `answered` and the exchange of `next` in `questions.rs`: questions that nobody asked,
//!   none at all, or code that does not compile. The test of `questions.rs` finds the former two.

use anyhow::{Context, ensure};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const DECISIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../src/store/agreement");

/// Each is found within this time.
const LIMIT: Duration = Duration::from_secs(60);

/// What is taken out of a file of `src/store/agreement`, and what stays.
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
    ("self.advance(generation, change);", ""),
    (
        "is_none_or(|(generation, last)| (*generation, last.number) < position)",
        "is_none_or(|_| true)",
    ),
    // keys.rs
    ("now <= as_of + KEYS_CURRENT_FOR", "true"),
    ("!cached.has_more_than(read)", "true"),
    ("KeysCatchUp::Empty(stored)", "KeysCatchUp::Current"),
    // list.rs
    ("stored.has_more_than(self.applied)", "stored.has_more_than(self.reflected_after_removals)"),
    ("if stored.generation != reflected.generation {", "if false {"),
    ("if !stored.has_more_than(reflected) {", "if true {"),
    ("if !after.has_more_than(reflected) =>", "=>"),
    ("if reflected != self.reflected_after_removals {", "if true {"),
    ("if is_same {", "if true {"),
    // change_numbers.rs
    ("generation == self.generation && before == self.number", "generation == self.generation"),
    (" generation == self.generation && before", " before"),
    ("self.generation != other.generation || ", ""),
    (" || self.number > other.number", ""),
    ("self.number == 0", "false"),
    // reading.rs
    ("(after.generation == generation).then_some(rows)", "Some(rows)"),
    ("reached: before, is_all: before == last", "reached: last, is_all: true"),
    ("if is_full { read } else { read.max(before.number) }", "read.max(before.number)"),
    ("is_all: !is_full", "is_all: true"),
    // questions.rs
    (" && self.under_way < most", ""),
    ("self.under_way += 1;", ""),
];

/// The file's name, and its text without this.
fn mutated((from, to): (&str, &str)) -> anyhow::Result<(PathBuf, String)> {
    let mut found = None;
    for file in std::fs::read_dir(Path::new(DECISIONS))? {
        let path = file?.path();
        let text = std::fs::read_to_string(&path)?;
        for _ in text.matches(from) {
            let name = path.file_name().context("it is a file")?;
            let before = found.replace((name.into(), text.replace(from, to)));
            ensure!(before.is_none(), "{from:?} is there twice");
        }
    }
    found.with_context(|| format!("{from:?} is not there"))
}

/// After what time the search finds that the mutant breaks a promise.
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
    let (file, text) = mutated(mutant)?;
    std::fs::write(directory.join("src/store/agreement").join(file), text)?;
    let program = directory.join("search");
    let compiled = Command::new("rustc")
        .args(["--edition", "2024", "--test", "-C", "opt-level=3", "--cap-lints", "allow", "-o"])
        .args([&program, &directory.join("tests/support/protocol/src/lib.rs")])
        .output()?;
    ensure!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let began = Instant::now();
    let mut searching = Command::new(&program)
        .args(["no_world", "--nocapture", "--test-threads=8"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let lines = BufReader::new(searching.stderr.take().context("it is piped")?).lines();
    // Any other failure does not count.
    let found = lines.map_while(Result::ok).find(|line| line.starts_with("broken promise: "));
    let after = began.elapsed();
    // One broken promise is enough.
    let _ = searching.kill();
    searching.wait()?;
    Ok(found.map(|_| after))
}

#[test]
fn each_mutant_is_of_the_present_source() {
    MUTANTS.into_iter().try_for_each(|mutant| mutated(mutant).map(drop)).unwrap();
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
