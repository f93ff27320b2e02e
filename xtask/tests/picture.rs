//! Checks the README's picture of the architecture against the map of the server's modules.

use std::collections::BTreeMap;
use xtask::check::modules_in_map;
use xtask::repository::{Repository, SERVER};

/// Returns the differences between the first Mermaid block of `readme` and the map in `server`.
/// `exists` returns true for the files of the server's modules.
fn differences(readme: &str, server: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let picture = readme.split("```mermaid\n").nth(1).unwrap().split("```").next().unwrap();
    let map = modules_in_map(server);
    let (mut modules, mut differences) = (BTreeMap::new(), Vec::new());
    for line in picture.lines().map(str::trim) {
        if let Some((node, module)) =
            line.strip_suffix("\"]").and_then(|line| line.split_once("[\""))
        {
            let top = module.split("::").next().unwrap_or(module);
            let position = map.iter().position(|other| *other == top);
            if position.is_none() || !exists(&format!("src/{}.rs", module.replace("::", "/"))) {
                differences.push(format!("no module {module}"));
            }
            modules.insert(node, position);
        } else if line.contains("-->") {
            let ends = [line.split(' ').next(), line.split(' ').next_back()];
            let [from, to] = ends.map(|end| end.and_then(|node| modules.get(node)));
            if to.is_none() || from.is_some_and(|from| Some(from) > to) {
                differences.push(format!("an arrow up the map: {line}"));
            }
        }
    }
    assert!(modules.len() > 1, "{picture}");
    differences
}

#[test]
fn the_readmes_picture_follows_the_map_of_modules() {
    let here = Repository::here();
    let [readme, server] = ["README.md", SERVER].map(|file| here.read(file).unwrap());
    let exists = |file: &str| here.root().join(file).is_file();
    assert_eq!(differences(&readme, &server, exists), [""; 0]);
}

#[test]
fn a_missing_module_and_an_arrow_up_are_found() {
    let map = "//! | [`a`] | a |\n//! | `b` | b |\n";
    let picture = |lines: &str| format!("```mermaid\na[\"a::c\"]\nb[\"b\"]\n{lines}\n```");
    let found = |lines: &str| differences(&picture(lines), map, |file| file != "src/b/d.rs");
    assert_eq!(found("client --> a\na -- \"x\" --> b"), [""; 0]);
    assert_eq!(found("b --> a"), ["an arrow up the map: b --> a"]);
    assert_eq!(found("a --> x"), ["an arrow up the map: a --> x"]);
    assert_eq!(found("x[\"x\"]"), ["no module x"]);
    assert_eq!(found("x[\"b::d\"]"), ["no module b::d"]);
}
