//! Checks that the server's modules import each other in only one direction. A module may import
//! only modules below it in the map, a table at the top of `src/lib.rs`.

use super::inputs::Inputs;
use super::problem::{ABSENT, Fix, Problem};
use crate::repository::SERVER;
use anyhow::Context;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::path::{Path, PathBuf};
use syn::{Attribute, Item};

pub(super) fn claim(_: &Inputs) -> String {
    format!("the server's modules import each other down the map of {SERVER}")
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    // Skip a checkout without the server, because it has no map of modules.
    if !inputs.repository.has_server() {
        return Ok(Vec::new());
    }
    upward_imports(inputs.repository.root(), SERVER)
}

/// Returns a problem for each import of a module that is above the importing module in the map. An
/// import is also a problem if the map lacks the importing or the imported module. The crate's root
/// file is `name` in `directory`.
fn upward_imports(directory: &Path, name: &str) -> anyhow::Result<Vec<Problem>> {
    let (uses, text) = (module_imports(directory, name)?, read(&directory.join(name))?);
    let map = modules_in_map(&text);
    let position = |module: &str| map.iter().position(|other| *other == module);
    let mut problems = Vec::new();
    for (file, module, used) in uses {
        let missing = |module: &str| (format!("a row of {module} in the map"), ABSENT.to_string());
        let (expected, found) = match (position(&module), position(&used)) {
            (Some(importer), Some(imported)) if importer <= imported => continue,
            (Some(_), Some(_)) => {
                (format!("no module above {module} in the map"), format!("crate::{used}"))
            }
            (None, _) => missing(&module),
            (_, None) => missing(&used),
        };
        problems.push(Problem {
            place: file.strip_prefix(directory).unwrap_or(&file).display().to_string(),
            expected,
            found,
            reasons: Vec::new(),
            fix: Fix::ByHand(format!("move what both use down, or edit the map of {name}")),
        });
    }
    problems.dedup();
    Ok(problems)
}

/// Returns the imports between the top-level modules of a crate. The root file of the crate is
/// `name` in `directory`. Skips modules and `use` declarations that are compiled only for tests.
pub fn module_imports(directory: &Path, name: &str) -> anyhow::Result<Uses> {
    let (mut uses, root) = (Vec::new(), directory.join(name));
    read_file(&mut uses, &[], &root, root.parent().unwrap_or(directory))?;
    Ok(uses)
}

/// Returns the modules in the map of this root file, from top to bottom.
pub fn modules_in_map(text: &str) -> Vec<&str> {
    text.lines().filter_map(parse_row).collect()
}

/// Parses the module from a row of the map, such as "//! | [`cli`] | the command line |".
fn parse_row(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("//! | ")?.split_once(" |")?;
    name.trim_matches(['[', ']']).strip_prefix('`')?.strip_suffix('`')
}

/// Where one module uses another. Each use has three parts: the file, the top-level module that
/// contains the file, and the top-level module that is used. Paths in expressions count like `use`
/// declarations.
pub type Uses = Vec<(PathBuf, String, String)>;

fn read(file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

fn read_file(uses: &mut Uses, module: &[String], file: &Path, below: &Path) -> anyhow::Result<()> {
    let items = syn::parse_file(&read(file)?).with_context(|| file.display().to_string())?.items;
    read_items(uses, module, file, below, items)
}

/// Collects the imports of a module and its submodules, whose files are in the directory `below`.
/// Skips modules and `use` declarations that are compiled only for tests.
fn read_items(
    uses: &mut Uses,
    module: &[String],
    file: &Path,
    below: &Path,
    items: Vec<Item>,
) -> anyhow::Result<()> {
    for item in items {
        match item {
            Item::Mod(child) if is_test(&child.attrs) => {}
            Item::Use(item) if is_test(&item.attrs) => {}
            Item::Mod(child) => {
                let below = below.join(child.ident.to_string());
                let module = [module, &[child.ident.to_string()]].concat();
                match child.content {
                    Some((_, items)) => read_items(uses, &module, file, &below, items)?,
                    None => read_file(uses, &module, &below.with_extension("rs"), &below)?,
                }
            }
            item => {
                let Some(top) = module.first() else { continue };
                let mut used = Vec::new();
                top_modules(&mut used, module.len(), item.to_token_stream());
                uses.extend(used.into_iter().map(|used| (file.to_path_buf(), top.clone(), used)));
            }
        }
    }
    Ok(())
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string() == "test")
    })
}

/// Collects the top-level modules in paths from the crate's root. Such a path begins with `crate`,
/// or with one `super` for each of the module's `depth` levels. Reads tokens, to find paths in
/// macro calls too.
fn top_modules(used: &mut Vec<String>, depth: usize, tokens: TokenStream) {
    let mut levels = 0;
    for token in tokens {
        match token {
            TokenTree::Ident(word) if word == "crate" => levels = depth,
            TokenTree::Ident(word) if word == "super" => levels += 1,
            TokenTree::Punct(mark) if mark.as_char() == ':' => {}
            TokenTree::Group(group) => {
                if levels == depth {
                    used.extend(first_words(group.stream()));
                }
                top_modules(used, depth, group.stream());
                levels = 0;
            }
            TokenTree::Ident(word) if levels == depth => {
                used.push(word.to_string());
                levels = 0;
            }
            _ => levels = 0,
        }
    }
}

/// Returns the modules in the braces of a path, such as `a` and `b` for `crate::{a::A, b}`.
fn first_words(tokens: TokenStream) -> Vec<String> {
    let (mut words, mut is_first) = (Vec::new(), true);
    for token in tokens {
        match &token {
            TokenTree::Ident(word) if is_first => words.push(word.to_string()),
            _ => {}
        }
        is_first = matches!(&token, TokenTree::Punct(mark) if mark.as_char() == ',');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the problems of a crate with the given files. The first file is the root file.
    fn problems_in(files: &[(&str, &str)]) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let problems = upward_imports(root.path(), files[0].0).unwrap();
        let text = |Problem { place, expected, found, .. }: &Problem| {
            format!("{place}: {expected}, not {found}")
        };
        problems.iter().map(text).collect()
    }

    const LIB: (&str, &str) = (
        "lib.rs",
        "//! | Module | Its job |\n//! |---|---|\n//! | [`a`] | a |\n//! | `b` | b |\n//! | [`c`] | c |\n\
         mod a; mod b; mod c;",
    );
    const A: (&str, &str) = ("a.rs", "mod inner; use crate::{b::B, c};");

    #[test]
    fn imports_may_go_down_in_every_form_and_tests_anywhere() {
        let b = "use super::c::C; #[cfg(test)] use crate::a; #[cfg(test)] mod tests { use crate::a::A; }";
        let inner = "pub(crate) fn f() { super::super::b::f(); super::f(); crate::a::f() }";
        let files = [LIB, A, ("a/inner.rs", inner), ("b.rs", b), ("c.rs", "")];
        assert_eq!(problems_in(&files), [""; 0]);
    }

    #[test]
    fn an_import_that_goes_up_is_found_in_every_form() {
        for b in [
            "use crate::a::A;",
            "use crate::{c, a::{self, A}};",
            "use super::a::A;",
            "fn f() -> crate::a::A { todo!() }",
            "fn f() { println!(\"{}\", crate::a::f()) }",
            "mod inner { use super::super::a::A; }",
        ] {
            let problems = problems_in(&[LIB, A, ("a/inner.rs", ""), ("b.rs", b), ("c.rs", "")]);
            assert_eq!(problems, ["b.rs: no module above b in the map, not crate::a"], "{b}");
        }
    }

    #[test]
    fn a_module_that_the_map_lacks_is_found() {
        let lib = ("lib.rs", "//! | [`a`] | a |\nmod a; mod d;");
        let d = ("d.rs", "use crate::a::A;");
        let problems = problems_in(&[lib, ("a.rs", "use crate::d::D;"), d]);
        let expected =
            ["a.rs: a row of d in the map, not absent", "d.rs: a row of d in the map, not absent"];
        assert_eq!(problems, expected);
    }
}
