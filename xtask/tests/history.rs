//! The published documents are compared with the history of the main branch, in
//! repositories made for the purpose.

use crate::checkout::{self, Checkout, files};
use std::fs;
use std::path::Path;
use std::process::Command;
use xtask::Outcome;
use xtask::check::Inputs;
use xtask::documents::V1;
use xtask::published::{checksum, file_name};
use xtask::repository::Repository;

const NAME: &str = "spec/published/1.0.0.json";
const SUMS: &str = "spec/published/SHA256SUMS";

fn git(root: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(root).args(["-c", "user.name=T", "-c", "user.email=t@t.example"]);
    command.args(["-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always"]);
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
}

fn write(root: &Path, name: &str, text: &str) {
    fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
    fs::write(root.join(name), text).unwrap();
}

/// The real files, with the real document published as 1.0.0 and no git.
fn archive() -> Checkout {
    let checkout = Checkout::with(&files());
    publish(checkout.repository.root(), &checkout.repository.read(V1.file).unwrap());
    assert!(NAME.ends_with(&file_name(&"1.0.0".parse().unwrap())));
    checkout
}

/// Writes the published document and the checksum that fits it.
fn publish(root: &Path, text: &str) {
    write(root, NAME, text);
    write(root, SUMS, &format!("{}  1.0.0.json\n", checksum(text.as_bytes())));
}

fn commit(root: &Path) {
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "--message", "published"]);
}

/// These files on the main branch of a repository.
fn repository() -> Checkout {
    let root = archive();
    git(root.repository.root(), &["init", "--quiet", "--initial-branch", "main"]);
    commit(root.repository.root());
    root
}

fn run(root: &Path) -> (Outcome, String) {
    checkout::run(&Inputs::read(&Repository::at(root), checkout::emitted()))
}

const COMPARED: &str = "✓ spec/published holds what was published, by SHA256SUMS and by the \
                        history of main\n";

#[test]
fn an_edited_document_is_found_with_its_checksum_edited_too() {
    let root = repository();
    assert!(run(root.repository.root()).1.contains(COMPARED), "{}", run(root.repository.root()).1);
    let text = fs::read_to_string(root.repository.root().join(NAME)).unwrap();
    publish(root.repository.root(), &text.replace("\"Pro\"", "\"Max\""));
    let (outcome, found) = run(root.repository.root());
    assert_eq!(outcome, Outcome::Drift, "{found}");
    assert!(found.contains(&format!("{NAME}\n    was published in ")), "{found}");
    assert!(found.contains("with another content\n    fix: git restore --source "), "{found}");
    // A commit, also one on main, does not make it right.
    commit(root.repository.root());
    assert!(run(root.repository.root()).1.contains("with another content"));
    git(root.repository.root(), &["checkout", "--quiet", "--detach"]);
    assert!(run(root.repository.root()).1.contains("with another content"));
}

#[test]
fn a_removed_document_is_found_with_its_checksum_removed_too() {
    let root = repository();
    fs::remove_file(root.repository.root().join(NAME)).unwrap();
    write(root.repository.root(), SUMS, "");
    let (outcome, found) = run(root.repository.root());
    assert_eq!(outcome, Outcome::Drift);
    assert!(found.contains("and is missing\n"), "{found}");
}

#[test]
fn what_was_tried_on_a_branch_was_not_published() {
    let root = repository();
    git(root.repository.root(), &["checkout", "--quiet", "-b", "topic"]);
    let second = "spec/published/1.0.1.json";
    for text in ["{}", "{ }"] {
        write(root.repository.root(), second, text);
        commit(root.repository.root());
    }
    git(root.repository.root(), &["checkout", "--quiet", "main"]);
    git(root.repository.root(), &["merge", "--quiet", "--no-ff", "--message", "merged", "topic"]);
    let found = run(root.repository.root()).1;
    assert!(!found.contains("with another content"), "{found}");
    write(root.repository.root(), second, "{}");
    let found = run(root.repository.root()).1;
    assert!(found.contains(&format!("{second}\n    was published in ")), "{found}");
}

#[test]
fn without_a_history_the_check_says_so() {
    let archive = archive();
    let without = |root: &Path| {
        let (_, found) = run(root);
        let line = found.lines().find(|line| line.contains("not compared")).unwrap_or(&found);
        line.split("because ").nth(1).unwrap_or(&found).to_string()
    };
    assert_eq!(without(archive.repository.root()), "this is no git checkout");

    let root = repository();
    commit_again(root.repository.root());
    let clone = tempfile::tempdir().unwrap();
    let (from, to) =
        (format!("file://{}", root.repository.root().display()), clone.path().join("clone"));
    git(clone.path(), &["clone", "--quiet", "--depth", "1", &from, to.to_str().unwrap()]);
    assert!(without(&to).starts_with("the checkout is shallow"), "{}", without(&to));

    let inside = root.repository.root().join("vendor/store-orders");
    for name in files().into_iter().chain([NAME, SUMS]) {
        write(&inside, name, &fs::read_to_string(root.repository.root().join(name)).unwrap());
    }
    assert_eq!(without(&inside), "this is no git checkout of its own");

    git(root.repository.root(), &["branch", "--quiet", "--move", "main", "trunk"]);
    assert_eq!(without(root.repository.root()), "git knows no branch `main`");
}

/// A clone of one commit has all of it.
fn commit_again(root: &Path) {
    write(root, "note", "");
    commit(root);
}
