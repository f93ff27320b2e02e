//! Checks that `cargo xtask external-checks` names the command that installs missing tools. Also
//! checks that the tools' versions are pinned.

use std::fs;
use xtask::external_checks::{ExternalCheckArgs, run_external_checks};
use xtask::repository::Repository;

#[test]
fn missing_tools_are_named_with_the_command_that_installs_them() {
    let root = tempfile::tempdir().unwrap();
    let directory = "tests/external_checks";
    fs::create_dir_all(root.path().join(directory)).unwrap();
    for name in ["requirements.txt", "package.json", "package-lock.json", ".npmrc"] {
        let name = format!("{directory}/{name}");
        let pins = Repository::here().read(&name).unwrap();
        fs::write(root.path().join(name), pins).unwrap();
    }
    let all = ExternalCheckArgs { checks: Vec::new(), install: false };
    let error = run_external_checks(&all, &Repository::open(root.path()), &mut Vec::new());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("`cargo xtask external-checks --install`"), "{error}");
    assert!(!root.path().join("target").exists());
}

#[test]
fn every_pin_is_exact_and_names_no_registry() {
    let read =
        |name: &str| Repository::here().read(&format!("tests/external_checks/{name}")).unwrap();
    let lock = read("package-lock.json");
    assert!(lock.contains("\"integrity\"") && !lock.contains("\"resolved\""));
    let requirements = read("requirements.txt");
    let unpinned = requirements
        .lines()
        .filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()))
        .filter(|line| !line.contains("=="));
    assert_eq!(unpinned.collect::<Vec<_>>(), [""; 0]);
    assert!(requirements.contains("--hash=sha256:") && !requirements.contains("://"));
    assert!(!requirements.contains("--index-url") && !requirements.contains("--find-links"));
}
