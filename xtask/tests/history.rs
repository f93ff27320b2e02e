//! The published documents are compared with the history of the main branch, in
//! repositories made for the purpose.

use crate::checkout::{self, Checkout, files, of_published};
use std::fs;
use std::path::Path;
use std::process::Command;
use testbed::{assert_text, str};
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
    checkout::run(&Inputs::read(&Repository::at(root), checkout::emitted))
}

#[test]
fn an_edited_document_is_found_with_its_checksum_edited_too() {
    let checkout = repository();
    let root = checkout.repository.root();
    let (_, clean) = run(root);
    assert!(clean.contains("by SHA256SUMS and by the history of main\n"), "{clean}");
    let text = fs::read_to_string(root.join(NAME)).unwrap();
    publish(root, &text.replace("\"Pro\"", "\"Max\""));
    let found = of_published(run(root));
    assert_text(
        &found,
        str![[r#"
  spec/published/1.0.0.json
    expected: what was published in 1111111111111111111111111111111111111111
    found:    another content
    fix: git restore --source 1111111111111111111111111111111111111111 spec/published/1.0.0.json, and its line in SHA256SUMS
"#]],
    );
    // A commit, also one on main, does not make it right.
    commit(root);
    assert_eq!(of_published(run(root)), found);
    git(root, &["checkout", "--quiet", "--detach"]);
    assert_eq!(of_published(run(root)), found);
}

#[test]
fn a_removed_document_is_found_with_its_checksum_removed_too() {
    let checkout = repository();
    let root = checkout.repository.root();
    fs::remove_file(root.join(NAME)).unwrap();
    write(root, SUMS, "");
    assert_text(
        &of_published(run(root)),
        str![[r#"
  spec/published/1.0.0.json
    expected: what was published in 1111111111111111111111111111111111111111
    found:    absent
    fix: git restore --source 1111111111111111111111111111111111111111 spec/published/1.0.0.json, and its line in SHA256SUMS
"#]],
    );
}

#[test]
fn what_was_tried_on_a_branch_was_not_published() {
    let checkout = repository();
    let root = checkout.repository.root();
    git(root, &["checkout", "--quiet", "-b", "topic"]);
    let second = "spec/published/1.0.1.json";
    for text in ["{}", "{ }"] {
        write(root, second, text);
        commit(root);
    }
    git(root, &["checkout", "--quiet", "main"]);
    git(root, &["merge", "--quiet", "--no-ff", "--message", "merged", "topic"]);
    // It lacks its checksum, and nothing else.
    assert_text(
        &of_published(run(root)),
        str![[r#"
  spec/published/1.0.1.json
    expected: absent
    found:    a document that SHA256SUMS does not have
    fix: git rm spec/published/1.0.1.json; only `cargo xtask publish` writes there
"#]],
    );
    write(root, second, "{}");
    assert_text(
        &of_published(run(root)),
        str![[r#"
...
    expected: what was published in 1111111111111111111111111111111111111111
    found:    another content
    fix: git restore --source 1111111111111111111111111111111111111111 spec/published/1.0.1.json, and its line in SHA256SUMS
"#]],
    );
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
