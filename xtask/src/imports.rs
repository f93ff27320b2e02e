//! Import cycles between the files of a crate.
//!
//! A file imports another if its code depends on an item that is defined there.
//! Re-exports are followed to the definition, and alone are no import. Unit tests
//! do not count, nor do methods, which need no path.

use anyhow::Context;
use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use syn::{Attribute, Item, ItemUse, UseTree, Visibility};

/// More re-exports in a row are a name of another crate: `use anyhow::{self}`.
const MAX_REEXPORTS: usize = 16;

/// Files of which each imports the next one, and the last one the first, by the
/// path next to it.
pub type Cycle = Vec<(PathBuf, String)>;

/// The shortest cycle through each file of the crate with this root file.
pub fn cycles(root: &Path) -> anyhow::Result<Vec<Cycle>> {
    let mut tree = Crate::default();
    tree.read_file(Vec::new(), root, root.parent().unwrap_or(root))?;
    let imports = tree.imports();
    let mut found = BTreeMap::new();
    for cycle in imports.keys().filter_map(|file| shortest_cycle(&imports, file)) {
        let files: BTreeSet<PathBuf> = cycle.iter().map(|(file, _)| file.clone()).collect();
        found.entry(files).or_insert(cycle);
    }
    Ok(found.into_values().collect())
}

/// For each file the files that it imports, with one of the paths.
type Imports = BTreeMap<PathBuf, BTreeMap<PathBuf, String>>;

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

/// A path, split at `::`. That of a module is without the crate.
type Segments = Vec<String>;

/// The modules of a crate, without its unit tests.
#[derive(Default)]
struct Crate {
    modules: BTreeMap<Segments, Module>,
}

#[derive(Default)]
struct Module {
    /// The file; an inline module has that of its parent.
    file: PathBuf,
    /// The names that `use` declares, and their paths.
    uses: BTreeMap<String, Segments>,
    /// The paths in its code.
    paths: Vec<Segments>,
}

impl Crate {
    fn read_file(&mut self, name: Segments, file: &Path, below: &Path) -> anyhow::Result<()> {
        let context = || file.display().to_string();
        let text = std::fs::read_to_string(file).with_context(context)?;
        let items = syn::parse_file(&text).with_context(context)?.items;
        self.read_items(name, file, below, items)
    }

    /// Reads a module of a file, whose submodules are `below`.
    fn read_items(
        &mut self,
        name: Segments,
        file: &Path,
        below: &Path,
        items: Vec<Item>,
    ) -> anyhow::Result<()> {
        let mut module = Module { file: file.to_path_buf(), ..Module::default() };
        for item in items {
            match item {
                Item::Mod(child) if !is_test(&child.attrs) => {
                    let below = below.join(child.ident.to_string());
                    let name = [name.as_slice(), &[child.ident.to_string()]].concat();
                    let nested = below.join("mod.rs");
                    match child.content {
                        Some((_, items)) => self.read_items(name, file, &below, items)?,
                        None if nested.exists() => self.read_file(name, &nested, &below)?,
                        None => self.read_file(name, &below.with_extension("rs"), &below)?,
                    }
                }
                Item::Mod(_) => {}
                Item::Use(item) => module.read_use(&item),
                item => module.read_tokens(item.to_token_stream()),
            }
        }
        self.modules.insert(name, module);
        Ok(())
    }

    fn imports(&self) -> Imports {
        let mut imports = Imports::new();
        for (name, module) in &self.modules {
            for path in &module.paths {
                let target = self.definition(name, path, MAX_REEXPORTS);
                if let Some(target) = target.filter(|target| target.file != module.file) {
                    let of_file = imports.entry(module.file.clone()).or_default();
                    of_file.entry(target.file.clone()).or_insert_with(|| path.join("::"));
                }
            }
        }
        imports
    }

    /// The module that defines the item at a path in a module. `None` if it is in
    /// another crate, or local to the module, or itself a module.
    fn definition(&self, name: &[String], path: &[String], reexports: usize) -> Option<&Module> {
        let (first, rest) = path.split_first()?;
        let child = [name, std::slice::from_ref(first)].concat();
        match first.as_str() {
            "crate" => self.item(&[], rest, reexports),
            "self" => self.item(name, rest, reexports),
            "super" => match rest.first().map(String::as_str) {
                Some("super") => self.definition(name.split_last()?.1, rest, reexports),
                _ => self.item(name.split_last()?.1, rest, reexports),
            },
            _ if self.modules.contains_key(&child) => self.item(&child, rest, reexports),
            _ => {
                let used = [self.modules.get(name)?.uses.get(first)?, rest].concat();
                self.definition(name, &used, reexports.checked_sub(1)?)
            }
        }
    }

    /// The same for a path that is known to be in this crate.
    fn item(&self, name: &[String], path: &[String], reexports: usize) -> Option<&Module> {
        let (first, rest) = path.split_first()?;
        let child = [name, std::slice::from_ref(first)].concat();
        let module = self.modules.get(name)?;
        if self.modules.contains_key(&child) {
            self.item(&child, rest, reexports)
        } else if module.uses.contains_key(first) {
            self.definition(name, path, reexports)
        } else {
            Some(module)
        }
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string() == "test")
    })
}

impl Module {
    /// A private import counts even if nothing names it: a trait has methods.
    fn read_use(&mut self, item: &ItemUse) {
        if is_test(&item.attrs) {
            return;
        }
        let mut declared = Vec::new();
        flatten(&item.tree, &[], &mut declared);
        if matches!(item.vis, Visibility::Inherited) {
            self.paths.extend(declared.iter().map(|(_, path)| path.clone()));
        }
        self.uses.extend(declared.into_iter().filter(|(name, _)| name != "*"));
    }

    /// Tokens and not expressions, because there are paths inside of macro calls.
    fn read_tokens(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        let (mut path, mut colons) = (Vec::new(), 0);
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(word) if word == "use" && !is_punct(tokens.peek(), '<') => {
                    let end = |token: &TokenTree| !is_punct(Some(token), ';');
                    let tree: TokenStream = tokens.by_ref().take_while(end).collect();
                    if let Ok(item) = syn::parse2(quote!(use #tree;)) {
                        self.read_use(&item);
                    }
                }
                // What follows `>::` is in the scope of a type.
                TokenTree::Ident(_) if colons == 2 && path.is_empty() => {}
                TokenTree::Ident(word) if colons == 2 => path.push(word.to_string()),
                TokenTree::Ident(word) => {
                    self.paths.push(std::mem::replace(&mut path, vec![word.to_string()]));
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) => self.read_tokens(group.stream()),
                _ => self.paths.push(std::mem::take(&mut path)),
            }
            colons = 0;
        }
        self.paths.push(path);
    }
}

fn is_punct(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

/// The names that a `use` declares, with their paths.
fn flatten(tree: &UseTree, prefix: &[String], declared: &mut Vec<(String, Segments)>) {
    let below = |word: &str| match word {
        "self" if !prefix.is_empty() => prefix.to_vec(),
        word => [prefix, &[word.to_string()]].concat(),
    };
    match tree {
        UseTree::Name(name) => {
            let path = below(&name.ident.to_string());
            declared.push((path.last().cloned().unwrap_or_default(), path));
        }
        UseTree::Rename(name) => {
            declared.push((name.rename.to_string(), below(&name.ident.to_string())));
        }
        UseTree::Glob(_) => declared.push(("*".to_string(), below("*"))),
        UseTree::Path(path) => flatten(&path.tree, &below(&path.ident.to_string()), declared),
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| flatten(tree, prefix, declared));
        }
    }
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
        let a = ("a.rs", "mod one; mod two; pub use one::One; pub use two::Two;");
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
        assert_eq!(found, ["a/one.rs super::Two, a.rs One"]);
    }
}
