//! Controls of the search: the server's decisions with one wait, comparison or step taken out. Each
//! breaks a promise, and the search finds it. They are compiled without cargo, from copies.

use anyhow::{Context, ensure};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Each is found within this time.
const LIMIT: Duration = Duration::from_secs(60);

/// A file of the server's decisions, what is taken out of it, and what stays.
struct Mutant {
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

const fn mutant(file: &'static str, from: &'static str, to: &'static str) -> Mutant {
    Mutant { file, from, to }
}

const MUTANTS: [Mutant; 14] = [
    // A lease that never ends; an answer that is not judged; a look that is as young as its question.
    mutant(
        "lease.rs",
        "self.renewed.is_some_and(|sent| now < sent + LEASE)",
        "self.renewed.is_some_and(|_| now == now)",
    ),
    mutant("journal.rs", "if !lease.is_valid(now) {", "if false && !lease.is_valid(now) {"),
    mutant("lease.rs", "self.renewed.map(|sent| sent.min(asked))", "self.renewed.map(|_| asked)"),
    mutant(
        "lease.rs",
        "now <= as_of + KEYS_CURRENT_FOR",
        "now <= now.max(as_of + KEYS_CURRENT_FOR)",
    ),
    // No wait: of the first session, after another server, after a session that was opened again.
    mutant("lease.rs", "return Wait { until: opened + LEASE }", "return Wait { until: opened }"),
    mutant(
        "lease.rs",
        "if server_before == server { opened } else { opened + LEASE }",
        "if server_before == server { opened } else { opened }",
    ),
    mutant(
        "lease.rs",
        "Wait { until: own.max(wait.until) }",
        "Wait { until: own.max(own.min(wait.until)) }",
    ),
    mutant("lease.rs", "if now < self.until {", "if false && now < self.until {"),
    // Whose journal it is.
    mutant(
        "journal.rs",
        "generation + u64::from(!is_known)",
        "generation + u64::from(!is_known && false)",
    ),
    mutant(
        "journal.rs",
        "        self.saw(generation, change);\n",
        "        let _ = (generation, change);\n",
    ),
    // What a list lacks.
    mutant(
        "list.rs",
        "if !stored.has_more_than(self.snapshot) {",
        "if !stored.has_more_than(self.known) {",
    ),
    mutant(
        "change_numbers.rs",
        "generation == self.generation && before == self.number",
        "generation == self.generation && before <= number",
    ),
    mutant("list.rs", "self.known.generation == generation && is_lacking", "is_lacking"),
    mutant(
        "change_numbers.rs",
        "self.generation != other.generation || self.number > other.number",
        "self.number > other.number",
    ),
];

impl Mutant {
    /// The file without it.
    fn text(&self) -> anyhow::Result<String> {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let file = package.join("../../src/store/agreement").join(self.file);
        let text = std::fs::read_to_string(file)?;
        ensure!(text.matches(self.from).count() == 1, "{}: {:?}", self.file, self.from);
        Ok(text.replace(self.from, self.to))
    }
}

/// After what time the search finds that the mutant breaks a promise.
fn search(mutant: &Mutant, directory: &Path) -> anyhow::Result<Option<Duration>> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let copy = |from: &Path, to: &str| -> anyhow::Result<()> {
        let to = directory.join(to);
        std::fs::create_dir_all(&to)?;
        for file in std::fs::read_dir(from)? {
            let file = file?;
            std::fs::copy(file.path(), to.join(file.file_name()))?;
        }
        Ok(())
    };
    copy(&package.join("src"), "tests/protocol/src")?;
    copy(&package.join("../../src/store/agreement"), "src/store/agreement")?;
    std::fs::write(directory.join("src/store/agreement").join(mutant.file), mutant.text()?)?;
    let program = directory.join("search");
    let compiled = Command::new("rustc")
        .args(["--edition", "2024", "--test", "-C", "opt-level=3", "--cap-lints", "allow", "-o"])
        .args([&program, &directory.join("tests/protocol/src/lib.rs")])
        .output()?;
    ensure!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let began = Instant::now();
    let mut searching = Command::new(&program)
        .arg("no_world")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let lines = BufReader::new(searching.stdout.take().context("it is piped")?).lines();
    let found = lines
        .map_while(Result::ok)
        .find(|line| line.starts_with("test ") && line.ends_with("FAILED"));
    let after = began.elapsed();
    // One broken promise is enough.
    let _ = searching.kill();
    searching.wait()?;
    Ok(found.map(|_| after))
}

#[test]
fn each_mutant_is_of_the_present_source() {
    MUTANTS.iter().try_for_each(|mutant| mutant.text().map(drop)).unwrap();
}

#[test]
#[ignore = "takes minutes; .ci/run nightly"]
fn each_mutant_breaks_a_promise() {
    let mut missed = Vec::new();
    for mutant in &MUTANTS {
        let directory = tempfile::tempdir().unwrap();
        let what = format!("{}: {:?}", mutant.file, mutant.from);
        match search(mutant, directory.path()).unwrap() {
            Some(after) if after < LIMIT => println!("found within {after:.1?}: {what}"),
            Some(after) => missed.push(format!("found only within {after:.1?}: {what}")),
            None => missed.push(format!("not found: {what}")),
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
