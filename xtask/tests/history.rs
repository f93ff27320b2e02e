//! Tests that the check compares the published documents with the history of the main branch. Each
//! test creates its own repository.

use crate::checkout::{self, Checkout, files, published_problems};
use std::fs;
use std::path::Path;
use std::process::Command;
use testbed::{assert_text, str};
use xtask::check::Inputs;
use xtask::documents::V1;
use xtask::published::file_name;
use xtask::repository::Repository;

const NAME: &str = "spec/published/1.0.0.json";

fn git(root: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(root).args(["-c", "user.name=T", "-c", "user.email=t@t.example"]);
    command.args(["-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always"]);
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
}

/// Creates a checkout without a git repository. The checkout's published 1.0.0 is the current
/// document of version 1.
fn archive() -> Checkout {
    let checkout = Checkout::with(&files());
    checkout.put(NAME, &checkout.repository.read(V1.file).unwrap());
    assert!(NAME.ends_with(&file_name(&"1.0.0".parse().unwrap())));
    checkout
}

fn commit(checkout: &Checkout) {
    git(checkout.repository.root(), &["add", "."]);
    git(checkout.repository.root(), &["commit", "--quiet", "--message", "published"]);
}

fn repository() -> Checkout {
    let checkout = archive();
    git(checkout.repository.root(), &["init", "--quiet", "--initial-branch", "main"]);
    commit(&checkout);
    checkout
}

#[test]
fn an_edited_document_is_found() {
    let checkout = repository();
    let root = checkout.repository.root();
    let (_, clean) = checkout.check();
    assert!(clean.contains("by the history of main\n"), "{clean}");
    let text = checkout.repository.read(NAME).unwrap();
    checkout.put(NAME, &text.replace("\"Pro\"", "\"Max\""));
    let problems = published_problems(checkout.check());
    assert_text(
        &problems,
        str![[r#"
  spec/published/1.0.0.json
    expected: what was published in 1111111111111111111111111111111111111111
    found:    different content
    fix: git restore --source 1111111111111111111111111111111111111111 spec/published/1.0.0.json
"#]],
    );
    // The edit causes no other problem, because the current document is compared with the file as
    // first published.
    let (_, output) = checkout.check();
    assert_eq!(output.matches('✗').count(), 1, "{output}");
    commit(&checkout);
    assert_eq!(published_problems(checkout.check()), problems);
    git(root, &["checkout", "--quiet", "--detach"]);
    assert_eq!(published_problems(checkout.check()), problems);
}

#[test]
fn a_beta_may_be_removed_once_its_stable_version_is_published() {
    let beta = "spec/published/1.5.0-beta.1.json";
    let checkout = archive();
    let root = checkout.repository.root();
    checkout.put(beta, &checkout.repository.read(V1.file).unwrap());
    git(root, &["init", "--quiet", "--initial-branch", "main"]);
    commit(&checkout);
    fs::remove_file(root.join(beta)).unwrap();
    let problems = published_problems(checkout.check());
    assert!(problems.contains(beta) && problems.contains("found:    absent"), "{problems}");
    checkout.put("spec/published/1.5.0.json", &checkout.repository.read(V1.file).unwrap());
    let problems = published_problems(checkout.check());
    assert!(!problems.contains(beta), "{problems}");
}

#[test]
fn a_removed_document_is_found() {
    let checkout = repository();
    let root = checkout.repository.root();
    fs::remove_file(root.join(NAME)).unwrap();
    assert_text(
        &published_problems(checkout.check()),
        str![[r#"
  spec/published/1.0.0.json
    expected: what was published in 1111111111111111111111111111111111111111
    found:    absent
    fix: git restore --source 1111111111111111111111111111111111111111 spec/published/1.0.0.json
"#]],
    );
}

#[test]
fn versions_of_a_document_on_a_branch_were_not_published() {
    let checkout = repository();
    let root = checkout.repository.root();
    git(root, &["checkout", "--quiet", "-b", "topic"]);
    let second = "spec/published/1.0.1.json";
    for text in ["{}", "{ }"] {
        checkout.put(second, text);
        commit(&checkout);
    }
    git(root, &["checkout", "--quiet", "main"]);
    git(root, &["merge", "--quiet", "--no-ff", "--message", "merged", "topic"]);
    assert_eq!(published_problems(checkout.check()), "");
    checkout.put(second, "{}");
    assert_text(
        &published_problems(checkout.check()),
        str![[r#"
  spec/published/1.0.1.json
    expected: what was published in 1111111111111111111111111111111111111111
    found:    different content
    fix: git restore --source 1111111111111111111111111111111111111111 spec/published/1.0.1.json
"#]],
    );
}

#[test]
fn without_a_history_the_check_says_so() {
    let without = |repository: Repository| {
        let (_, output) = checkout::run(&Inputs::read(&repository, checkout::emitted));
        let line = output.lines().find(|line| line.contains("not compared")).unwrap_or(&output);
        line.split("because ").nth(1).unwrap_or(&output).to_string()
    };
    assert_eq!(without(archive().repository), "this is no git checkout");

    let checkout = repository();
    let root = checkout.repository.root();
    // Make a second commit, because a shallow clone of a single commit would be complete.
    checkout.put("note", "");
    commit(&checkout);
    let clone = tempfile::tempdir().unwrap();
    let (from, to) = (format!("file://{}", root.display()), clone.path().join("clone"));
    git(clone.path(), &["clone", "--quiet", "--depth", "1", &from, to.to_str().unwrap()]);
    let why = without(Repository::open(&to));
    assert!(why.starts_with("the checkout is shallow"), "{why}");

    for name in files().into_iter().chain([NAME]) {
        let text = checkout.repository.read(name).unwrap();
        checkout.put(&format!("vendor/store-orders/{name}"), &text);
    }
    let inside = Repository::open(&root.join("vendor/store-orders"));
    assert_eq!(without(inside), "this is no git checkout of its own");

    git(root, &["branch", "--quiet", "--move", "main", "trunk"]);
    assert_eq!(without(checkout.repository.clone()), "git knows no branch `main`");
}
