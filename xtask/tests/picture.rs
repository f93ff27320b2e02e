//! Checks the README's picture of the architecture against the map of the server's modules and
//! their imports.

use std::collections::{BTreeMap, BTreeSet};
use xtask::check::{module_imports, modules_in_map};
use xtask::repository::{Repository, SERVER};

/// Arrows of the picture that do not represent an import: start, end and reason.
const NOT_IMPORTS: [(&str, &str, &str); 1] = [(
    "http::middleware",
    "http::handlers",
    "the middleware calls dropshot's endpoints, in which `http::inner_router` puts the handlers",
)];

/// Modules that the map of `src/lib.rs` contains but the README's picture does not, grouped by the
/// reason.
const NOT_IN_PICTURE: [(&str, &[&str]); 3] = [
    (
        "they start and configure the server, or run commands",
        &["cli", "server", "config", "import", "private_file"],
    ),
    (
        "they watch the server and its store",
        &["admin", "damage_check", "metrics", "log", "counter"],
    ),
    ("several modules of the picture share them", &["context", "api_key", "blocking", "clock"]),
];

struct Server<'a> {
    /// The modules of the map in `src/lib.rs`, from top to bottom.
    map: Vec<&'a str>,
    exists: &'a dyn Fn(&str) -> bool,
    /// True if the first module imports the second.
    imports: &'a dyn Fn(&str, &str) -> bool,
    not_imports: &'a [(&'a str, &'a str)],
    not_in_picture: &'a [&'a str],
}

/// Returns where the first Mermaid block of `readme` disagrees with the server's modules and
/// imports.
fn differences(readme: &str, server: &Server<'_>) -> Vec<String> {
    let picture = readme.split("```mermaid\n").nth(1).unwrap().split("```").next().unwrap();
    let position = |module: &str| server.map.iter().position(|other| *other == top(module));
    let (mut modules, mut differences) = (BTreeMap::new(), Vec::new());
    let mut exempt: BTreeSet<_> = server.not_imports.iter().copied().collect();
    for line in picture.lines().map(str::trim) {
        if let Some((node, module)) =
            line.strip_suffix("\"]").and_then(|line| line.split_once("[\""))
        {
            if position(module).is_none() || !(server.exists)(&file(module)) {
                differences.push(format!("no module {module}"));
            }
            modules.insert(node, module);
        } else if line.contains("-->") {
            let ends = [line.split(' ').next(), line.split(' ').next_back()];
            let [from, to] = ends.map(|end| end.and_then(|node| modules.get(node).copied()));
            if to.is_none() || from.is_some_and(|from| position(from) > to.and_then(position)) {
                differences.push(format!("an arrow up the map: {line}"));
            } else if let (Some(from), Some(to)) = (from, to)
                && exempt.remove(&(from, to)) == (server.imports)(from, to)
            {
                differences.push(format!("either an import or in NOT_IMPORTS: {line}"));
            }
        }
    }
    assert!(modules.len() > 1, "{picture}");
    differences.extend(exempt.iter().map(|(from, to)| format!("no arrow from {from} to {to}")));
    let shown: BTreeSet<_> = modules.values().map(|module| top(module)).collect();
    for module in &server.map {
        if shown.contains(module) == server.not_in_picture.contains(module) {
            differences.push(format!("either in the picture or in NOT_IN_PICTURE: {module}"));
        }
    }
    differences
}

fn top(module: &str) -> &str {
    module.split("::").next().unwrap_or(module)
}

fn file(module: &str) -> String {
    format!("src/{}.rs", module.replace("::", "/"))
}

#[test]
fn the_readmes_picture_follows_the_map_and_the_imports_of_modules() {
    let here = Repository::here();
    let [readme, server] = ["README.md", SERVER].map(|file| here.read(file).unwrap());
    let exists = |file: &str| here.root().join(file).is_file();
    let all = module_imports(here.root(), SERVER).unwrap();
    let imports = |from: &str, to: &str| {
        let source = here.read(&file(from)).unwrap();
        match to.strip_prefix(&format!("{}::", top(from))) {
            Some(child) if from == top(from) => source.contains(&format!("mod {child};\n")),
            Some(sibling) => source.contains(&format!("super::{sibling}::")),
            None => all.iter().any(|(path, _, used)| {
                let path = path.strip_prefix(here.root()).unwrap().with_extension("");
                path.starts_with(file(from).trim_end_matches(".rs")) && used == top(to)
            }),
        }
    };
    let not_imports = NOT_IMPORTS.map(|(from, to, _)| (from, to));
    let not_in_picture: Vec<_> =
        NOT_IN_PICTURE.iter().flat_map(|(_, modules)| *modules).copied().collect();
    let server = Server {
        map: modules_in_map(&server),
        exists: &exists,
        imports: &imports,
        not_imports: &not_imports,
        not_in_picture: &not_in_picture,
    };
    assert_eq!(differences(&readme, &server), [""; 0]);
}

#[test]
fn a_missing_module_and_an_arrow_up_or_without_an_import_are_found() {
    let picture = |lines: &str| format!("```mermaid\na[\"a::c\"]\nb[\"b\"]\n{lines}\n```");
    let server = Server {
        map: modules_in_map("//! | [`a`] | a |\n//! | `b` | b |\n//! | `d` | d |\n"),
        exists: &|file| file != "src/b/d.rs",
        imports: &|from, to| (from, to) == ("a::c", "b"),
        not_imports: &[],
        not_in_picture: &["d"],
    };
    let found = |lines: &str| differences(&picture(lines), &server);
    assert_eq!(found("client --> a\na -- \"x\" --> b"), [""; 0]);
    assert_eq!(found("b --> a"), ["an arrow up the map: b --> a"]);
    assert_eq!(found("a --> x"), ["an arrow up the map: a --> x"]);
    assert_eq!(found("x[\"x\"]"), ["no module x"]);
    assert_eq!(found("x[\"b::d\"]"), ["no module b::d"]);
    let d = "d[\"d\"]\nb --> d";
    let d_twice_or_never = "either in the picture or in NOT_IN_PICTURE: d";
    assert_eq!(found(d), ["either an import or in NOT_IMPORTS: b --> d", d_twice_or_never]);
    let exempt = Server { not_imports: &[("b", "d")], not_in_picture: &[], ..server };
    assert_eq!(differences(&picture(d), &exempt), [""; 0]);
    assert_eq!(differences(&picture(""), &exempt), ["no arrow from b to d", d_twice_or_never]);
}
