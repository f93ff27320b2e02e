//! Import cycles between the files of a crate.
//!
//! A file imports another if its code depends on an item that is defined there.
//! Re-exports are followed to the definition. Unit tests do not count, nor do
//! methods, which need no path.

use crate::module_tree::{Module, Segments, module_tree};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

/// More re-exports in a row are a circle of re-exports.
const MAX_REEXPORTS: usize = 16;

/// Files of which each imports the next one, and the last one the first, by the
/// path next to it.
pub type Cycle = Vec<(PathBuf, String)>;

/// For each file the files that it imports, with one of the paths.
type Imports = BTreeMap<PathBuf, BTreeMap<PathBuf, String>>;

/// The shortest cycle through each file of the crate with this root file.
pub fn cycles(root: &Path) -> anyhow::Result<Vec<Cycle>> {
    let imports = imports(&module_tree(root)?);
    let mut found = BTreeMap::new();
    for cycle in imports.keys().filter_map(|file| shortest_cycle(&imports, file)) {
        let files: BTreeSet<PathBuf> = cycle.iter().map(|(file, _)| file.clone()).collect();
        found.entry(files).or_insert(cycle);
    }
    Ok(found.into_values().collect())
}

fn imports(modules: &BTreeMap<Segments, Module>) -> Imports {
    let mut imports = Imports::new();
    for (name, module) in modules {
        for path in &module.references {
            if let Some(target) = definition(modules, name, path, 0)
                && target.file != module.file
            {
                let of_file = imports.entry(module.file.clone()).or_default();
                of_file.entry(target.file.clone()).or_insert_with(|| path.join("::"));
            }
        }
    }
    imports
}

/// The module that defines the item at a path. `None` for a module, which is no
/// item, and for items of other crates.
fn definition<'a>(
    modules: &'a BTreeMap<Segments, Module>,
    name: &[String],
    path: &[String],
    depth: usize,
) -> Option<&'a Module> {
    let (first, rest) = path.split_first()?;
    let module = modules.get(name)?;
    let child = [name, std::slice::from_ref(first)].concat();
    match first.as_str() {
        "crate" => definition(modules, &[], rest, depth),
        "self" => definition(modules, name, rest, depth),
        "super" => definition(modules, name.split_last()?.1, rest, depth),
        "*" => Some(module),
        _ if modules.contains_key(&child) => definition(modules, &child, rest, depth),
        _ if module.items.contains(first) => Some(module),
        _ if depth == MAX_REEXPORTS => None,
        _ => match module.uses.get(first) {
            Some(used) => definition(modules, name, &[used, rest].concat(), depth + 1),
            None => module
                .globs
                .iter()
                .find_map(|glob| definition(modules, name, &[glob, path].concat(), depth + 1)),
        },
    }
}

fn shortest_cycle(imports: &Imports, start: &Path) -> Option<Cycle> {
    let mut queue = VecDeque::from([(start.to_path_buf(), Cycle::new())]);
    let mut seen = BTreeSet::new();
    while let Some((file, cycle)) = queue.pop_front() {
        for (next, path) in imports.get(&file).into_iter().flatten() {
            let cycle = [cycle.as_slice(), &[(file.clone(), path.clone())]].concat();
            if next == start {
                return Some(cycle);
            }
            if seen.insert(next) {
                queue.push_back((next.clone(), cycle));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cycles of a crate with these files, as text.
    fn cycles_of(files: &[(&str, &str)]) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let cycles = cycles(&root.path().join("lib.rs")).unwrap();
        let text = |(file, path): &(PathBuf, String)| {
            format!("{} {path}", file.strip_prefix(root.path()).unwrap().display())
        };
        cycles.iter().map(|cycle| cycle.iter().map(text).collect::<Vec<_>>().join(", ")).collect()
    }

    #[test]
    fn a_cycle_is_found() {
        let lib = ("lib.rs", "mod a; mod b; mod c;");
        let b = ("b.rs", "use crate::c; pub struct B; fn f() { println!(\"{}\", c::f()) }");
        let found = cycles_of(&[
            lib,
            ("a.rs", "use super::b::{self, B}; pub const A: B = B;"),
            b,
            ("c.rs", "pub fn f() { use crate::{a::A, b as _}; }"),
        ]);
        assert_eq!(found, ["a.rs super::b::B, b.rs c::f, c.rs crate::a::A"]);
        let c = ("c.rs", "pub fn f() {} #[cfg(test)] mod tests { use crate::a::A; }");
        assert_eq!(cycles_of(&[lib, ("a.rs", "use super::b::B;"), b, c]), [""; 0]);
    }

    #[test]
    fn a_parent_may_reexport_what_its_children_use() {
        let one = ("a/one.rs", "use super::Two; pub struct One;");
        let two = ("a/two.rs", "pub struct Two;");
        let lib = ("lib.rs", "pub mod a; pub use a::One;");
        let a = ("a.rs", "mod one; mod two; pub use one::One; pub use two::*;");
        assert_eq!(cycles_of(&[lib, a, one, two]), [""; 0]);
        let two = ("a/two.rs", "use crate::One; pub struct Two;");
        assert_eq!(cycles_of(&[lib, a, one, two]), ["a/one.rs super::Two, a/two.rs crate::One"]);
    }

    #[test]
    fn a_parent_must_not_define_what_its_children_use() {
        let found = cycles_of(&[
            ("lib.rs", "mod a;"),
            ("a.rs", "mod one; pub use one::One; pub struct Two(One);"),
            ("a/one.rs", "use super::Two; pub struct One;"),
        ]);
        assert_eq!(found, ["a/one.rs super::Two, a.rs one::One"]);
    }
}
