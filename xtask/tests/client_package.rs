//! Checks the client's package before publication: its files, dependencies, documentation and
//! changelog, and the required version of Rust.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use xtask::client_command::fill_in_client_command;
use xtask::documents::DOCUMENTS;
use xtask::repository::{CLIENT_README, PAGES, Repository};

const PACKAGE: &str = "store-orders-client";

fn cargo(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO"));
    let output = command.args(arguments).current_dir(Repository::here().root()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {} failed: {error}", arguments.join(" "));
    String::from_utf8(output.stdout).unwrap()
}

fn files_of_the_package() -> Vec<String> {
    let files = cargo(&["package", "--list", "--allow-dirty", "--package", PACKAGE]);
    files.lines().map(str::to_string).collect()
}

/// The name and the version of a package. The version has no leading `v`.
type Id = (String, String);

/// Returns the client's package and its dependencies, for every feature and operating system.
/// Leaves out dependencies that only tests need.
fn dependencies() -> BTreeSet<Id> {
    let tree = cargo(&[
        "tree",
        "--locked",
        "--all-features",
        "--target",
        "all",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
        "--format",
        "{p}",
        "--package",
        PACKAGE,
    ]);
    let id = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, version) = (words.next()?, words.next()?);
        Some((name.to_string(), version.trim_start_matches('v').to_string()))
    };
    tree.lines().filter_map(id).collect()
}

fn packages(arguments: &[&str]) -> Vec<Value> {
    let metadata = cargo(&[&["metadata", "--locked", "--format-version", "1"], arguments].concat());
    let mut metadata: Value = serde_json::from_str(&metadata).unwrap();
    serde_json::from_value(metadata["packages"].take()).unwrap()
}

fn client() -> Value {
    packages(&["--no-deps"]).into_iter().find(|package| package["name"] == PACKAGE).unwrap()
}

fn rust_versions() -> BTreeMap<Id, Option<String>> {
    let text = |package: &Value, key: &str| package[key].as_str().map(str::to_string);
    let id_and_rust_version = |package: &Value| {
        let id = (text(package, "name").unwrap(), text(package, "version").unwrap());
        (id, text(package, "rust_version"))
    };
    packages(&["--all-features"]).iter().map(id_and_rust_version).collect()
}

/// Returns the three numbers of a version. A missing number is 0, so `1.88` and `1.88.0` are equal.
fn numbers(version: &str) -> Vec<u64> {
    let mut numbers: Vec<_> = version.split('.').map(|number| number.parse().unwrap()).collect();
    numbers.resize(3, 0);
    numbers
}

#[test]
fn rust_version_is_the_highest_that_its_dependencies_declare() {
    let versions = rust_versions();
    let mut client_version = None;
    let mut highest = Vec::new();
    let mut declared_by = String::new();
    let dependencies = dependencies();
    assert!(dependencies.len() > 100, "{dependencies:?}");
    assert!(dependencies.iter().any(|(name, _)| name == "native-tls"), "{dependencies:?}");
    for id in &dependencies {
        let declared = versions.get(id).unwrap_or_else(|| panic!("{id:?} is in no metadata"));
        if id.0 == PACKAGE {
            client_version = declared.clone();
        } else if let Some(declared) = declared.as_deref().map(numbers)
            && declared > highest
        {
            highest = declared;
            declared_by = id.0.clone();
        }
    }
    let client_version = client_version.unwrap();
    assert_eq!(
        numbers(&client_version),
        highest,
        "api/client/Cargo.toml declares {client_version}, and {declared_by} {highest:?}; fix: declare that"
    );
}

#[test]
fn the_readme_names_the_rust_version_and_every_feature() {
    let client = client();
    let readme = Repository::here().read("api/client/README.md").unwrap();
    let version = format!("Rust {} ", client["rust_version"].as_str().unwrap());
    assert!(readme.contains(&version), "{version} is missing");
    let features = client["features"].as_object().unwrap();
    for feature in features.keys().filter(|feature| *feature != "default") {
        assert!(readme.contains(&format!("\n| `{feature}`")), "{feature} is missing");
    }
}

/// Doctests compile the program of the client's README, but nothing compiles the program of the
/// repository's README. So the two programs must be equal.
#[test]
fn both_readmes_have_the_same_program() {
    let programs = ["README.md", CLIENT_README].map(|name| {
        let text = Repository::here().read(name).unwrap();
        let (_, program) = text.split_once("```rust\n").unwrap();
        program.split("```").next().unwrap().to_string()
    });
    assert_eq!(programs[0], programs[1]);
}

#[test]
fn each_text_adds_the_crate_as_its_manifest_allows() {
    let repository = Repository::here();
    let works = fill_in_client_command(&repository, "cargo add store-orders-client").unwrap();
    let texts = [CLIENT_README.to_string(), format!("{PAGES}/llms.txt")];
    let texts = DOCUMENTS.iter().map(|source| source.file.to_string()).chain(texts);
    for name in texts {
        let text = repository.read(&name).unwrap();
        let commands =
            text.split("cargo add ").skip(1).map(|rest| rest.split(['\n', '\\', '`']).next());
        let commands = commands
            .flatten()
            .filter(|command| command.contains(PACKAGE) || command.contains("api/client"));
        let commands: Vec<_> = commands.collect();
        assert!(!commands.is_empty(), "{name} does not say how to add {PACKAGE}");
        for command in commands {
            assert_eq!(format!("cargo add {command}"), works, "{name}");
        }
    }
}

/// While the client's manifest has no `repository`, the documents show a `cargo add` command with
/// the path of a checkout. This command must work in a directory that contains the checkout as
/// `store-orders`.
#[test]
fn a_program_next_to_a_checkout_can_add_the_crate() {
    let directory = tempfile::tempdir().unwrap();
    let checkout = Repository::here().root().to_path_buf();
    std::os::unix::fs::symlink(checkout, directory.path().join("store-orders")).unwrap();
    let without_manifest = Repository::open(directory.path());
    let command =
        fill_in_client_command(&without_manifest, "cargo add store-orders-client").unwrap();
    let (_, added) = command.split_once("cargo ").unwrap();
    let cargo = |arguments: &str| {
        let mut command = Command::new(env!("CARGO"));
        let output = command.args(arguments.split(' ')).current_dir(&directory).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "cargo {arguments}: {error}");
    };
    cargo("init --quiet --vcs none --name program");
    cargo(&format!("{added} --offline"));
    let manifest = without_manifest.read("Cargo.toml").unwrap();
    assert!(manifest.contains("store-orders-client = {"), "{manifest}");
}

#[test]
fn the_changelog_begins_with_the_version_in_the_manifest() {
    let changelog = Repository::here().read("api/client/CHANGELOG.md").unwrap();
    let (_, newest) = changelog.split_once("\n## ").unwrap();
    let newest = newest.lines().next().unwrap();
    assert_eq!(newest, client()["version"].as_str().unwrap());
}

/// The crate's users write Rust, so its documentation must not explain how JavaScript or HTTP
/// requests represent values.
#[test]
fn the_documentation_of_the_crate_is_about_rust() {
    for file in files_of_the_package()
        .iter()
        .filter(|file| *file == "README.md" || file.ends_with(".rs") && file.starts_with("src/"))
    {
        let text = Repository::here().read(&format!("api/client/{file}")).unwrap();
        for other in ["JavaScript", "%2B", "plain decimal"] {
            assert!(!text.contains(other), "{file} mentions {other}");
        }
    }
}

/// Links to Rust items work only in rustdoc, so the README must not have such links.
#[test]
fn every_link_in_the_readme_is_an_address() {
    let readme = Repository::here().read(CLIENT_README).unwrap();
    for event in pulldown_cmark::Parser::new(&readme) {
        let pulldown_cmark::Event::Start(pulldown_cmark::Tag::Link { dest_url, .. }) = event else {
            continue;
        };
        assert!(dest_url.starts_with("https://") || dest_url.starts_with('#'), "{dest_url}");
    }
}

#[test]
fn the_package_contains_the_texts_and_the_source() {
    let files = files_of_the_package();
    for name in ["README.md", "CHANGELOG.md", "LICENSE", "src/lib.rs"] {
        assert!(files.iter().any(|file| file == name), "{name} is missing in {files:?}");
    }
    let repository = Repository::here();
    let licence = repository.read("api/client/LICENSE").unwrap();
    assert_eq!(licence, repository.read("LICENSE").unwrap());
}

/// The package must work without the rest of the repository, so its Rust files must not name
/// outside files.
#[test]
fn no_file_of_the_package_reaches_outside_it() {
    let mut sources = 0;
    for file in files_of_the_package().iter().filter(|file| file.ends_with(".rs")) {
        let text = Repository::here().read(&format!("api/client/{file}")).unwrap();
        assert!(!text.contains("../.."), "{file} names a file outside the package");
        sources += 1;
    }
    assert!(sources > 10, "{sources}");
}

#[test]
fn every_dependency_comes_from_a_registry() {
    let client = client();
    assert_eq!(client["publish"], Value::Null, "publishing is forbidden");
    for dependency in client["dependencies"].as_array().unwrap() {
        assert!(dependency["source"].is_string(), "{dependency} is a path");
        assert_ne!(dependency["req"], "*", "{dependency} has no version");
    }
}
