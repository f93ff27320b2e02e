//! The crates that the program links, from cargo: not those that only tests, builds and
//! macros need.

use crate::checkout::Checkout;
use crate::command::output;
use crate::target::Target;
use anyhow::Context;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// The package of the program.
pub const PROGRAM: &str = "store-orders";

/// Only the build needs it, but what it ships is in the program: the reference page.
const EMBEDDED: &str = "scalar_api_reference";

/// Name and version.
pub type Id = (String, String);

/// A crate that is in the program.
#[derive(Debug)]
pub struct Crate {
    /// Its name and version.
    pub id: Id,
    /// Its licence, as an SPDX expression.
    pub licence: String,
    /// What it is for.
    pub description: Option<String>,
    /// Where its source is developed.
    pub repository: Option<String>,
    /// The SHA-256 of its package; none for the crates of this repository.
    pub checksum: Option<String>,
    /// The crates that it uses.
    pub uses: BTreeSet<Id>,
    /// Where its source is.
    pub directory: PathBuf,
}

impl Crate {
    /// Whether it is of this repository.
    pub fn is_ours(&self) -> bool {
        self.checksum.is_none()
    }

    /// Where its registry's sources are.
    pub fn registry(&self) -> Option<&Path> {
        if self.is_ours() { None } else { self.directory.parent() }
    }
}

/// The crates of the program, by name; the program itself is one of them.
pub fn linked(checkout: &Checkout, target: Target) -> anyhow::Result<Vec<Crate>> {
    let mut tree = checkout.cargo();
    tree.args(["tree", "--locked", "--package", PROGRAM, "--edges", "normal,no-proc-macro"]);
    tree.args(["--target", target.triple, "--prefix", "depth", "--format", " {p}"]);
    let mut uses = edges(&output(&mut tree)?);
    let mut metadata = checkout.cargo();
    metadata.args(["metadata", "--locked", "--format-version", "1"]);
    metadata.args(["--filter-platform", target.triple]);
    let metadata: Value = serde_json::from_str(&output(&mut metadata)?)?;
    let packages = metadata.get("packages").and_then(Value::as_array);
    let packages = packages.context("cargo metadata lists no packages")?;
    let checksums = checksums(&String::from_utf8(checkout.read("Cargo.lock")?)?)?;
    let mut crates = Vec::new();
    for package in packages {
        let text = |name: &str| package.get(name).and_then(Value::as_str).map(str::to_string);
        let id = text("name").zip(text("version")).context("a package has a name")?;
        let used = match uses.remove(&id) {
            Some(used) => used,
            None if id.0 == EMBEDDED => BTreeSet::new(),
            None => continue,
        };
        let manifest = PathBuf::from(text("manifest_path").context("a package has a manifest")?);
        crates.push(Crate {
            licence: text("license").with_context(|| format!("{} has no licence", id.0))?,
            description: text("description").map(|text| text.trim().replace('\n', " ")),
            repository: text("repository"),
            checksum: checksums.get(&id).cloned(),
            uses: used,
            directory: manifest.parent().unwrap_or(Path::new("/")).to_path_buf(),
            id,
        });
    }
    crates.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(crates)
}

/// Which crate uses which, from `cargo tree --prefix depth`. A crate whose dependencies were
/// listed before is marked, and lists them no more.
fn edges(tree: &str) -> BTreeMap<Id, BTreeSet<Id>> {
    let mut uses: BTreeMap<Id, BTreeSet<Id>> = BTreeMap::new();
    let mut above: Vec<Id> = Vec::new();
    for line in tree.lines() {
        let mut words = line.split_whitespace();
        let depth = words.next().and_then(|word| word.parse::<usize>().ok());
        let version = |word: &str| word.strip_prefix('v').map(str::to_string);
        let id = words.next().map(str::to_string).zip(words.next().and_then(version));
        let Some((depth, id)) = depth.zip(id) else { continue };
        above.truncate(depth);
        if let Some(user) = above.last() {
            uses.entry(user.clone()).or_default().insert(id.clone());
        }
        uses.entry(id.clone()).or_default();
        above.push(id);
    }
    uses
}

/// The checksums of the lock file.
fn checksums(lock: &str) -> anyhow::Result<BTreeMap<Id, String>> {
    let lock = DeTable::parse(lock).context("Cargo.lock")?;
    let packages = lock.get_ref().get("package").and_then(|packages| packages.get_ref().as_array());
    let packages = packages.context("Cargo.lock lists no packages")?;
    let text = |package: &DeValue<'_>, name: &str| {
        package.get(name).and_then(|value| value.get_ref().as_str()).map(str::to_string)
    };
    let checksum = |package: &DeValue<'_>| {
        let id = text(package, "name").zip(text(package, "version"))?;
        Some((id, text(package, "checksum")?))
    };
    Ok(packages.iter().filter_map(|package| checksum(package.get_ref())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> Id {
        (name.to_string(), "1.0.0".to_string())
    }

    #[test]
    fn the_edges_of_a_tree_are_read() {
        let tree = "0 a v1.0.0 (/here)\n1 b v1.0.0\n2 c v1.0.0\n1 c v1.0.0 (*)\n\n";
        let uses = edges(tree);
        assert_eq!(uses[&id("a")], [id("b"), id("c")].into());
        assert_eq!(uses[&id("b")], [id("c")].into());
        assert!(uses[&id("c")].is_empty());
    }

    #[test]
    fn the_crates_of_tests_builds_and_macros_are_not_in_the_program() {
        let crates = linked(&Checkout::here().unwrap(), Target::here().unwrap()).unwrap();
        let has = |name: &str| crates.iter().any(|one| one.id.0 == name);
        for name in [PROGRAM, "store-orders-api", "dropshot", "tokio", "libsqlite3-sys", EMBEDDED] {
            assert!(has(name), "{name}");
        }
        for name in
            ["serde_derive", "cc", "proptest", "xtask", "store-orders-client", "windows-sys"]
        {
            assert!(!has(name), "{name}");
        }
        for one in &crates {
            assert_eq!(one.is_ours(), one.id.0.starts_with(PROGRAM), "{:?}", one.id);
        }
    }
}
