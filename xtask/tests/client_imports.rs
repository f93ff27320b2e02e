//! Checks that no modules of the client import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use xtask::check::module_imports;
use xtask::repository::Repository;

/// The imports between modules: the importing module, and the modules that it imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Returns the modules that remain if modules without imports are removed again and again: the
/// modules in circles, and those that import them.
fn modules_of_circles(mut imports: Imports) -> Imports {
    loop {
        let before = imports.len();
        let modules: BTreeSet<_> = imports.keys().cloned().collect();
        imports.retain(|_, used| !used.is_disjoint(&modules));
        if imports.len() == before {
            return imports;
        }
    }
}

#[test]
fn the_clients_modules_do_not_import_each_other_in_a_circle() {
    let directory = Repository::here().root().join("api/client/src");
    let mut imports = Imports::new();
    for (_, module, used) in module_imports(&directory, "lib.rs").unwrap() {
        // Modules must import a name from the module that defines it. If they imported it from
        // `lib.rs`, this test could not see that module.
        let file = directory.join(format!("{used}.rs"));
        assert!(file.exists(), "{module} imports crate::{used}, which is not a module");
        if used != module {
            imports.entry(module).or_default().insert(used);
        }
    }
    assert!(imports.len() > 10, "{imports:?}");
    assert_eq!(modules_of_circles(imports), Imports::new());
}

#[test]
fn a_circle_is_found() {
    let imports = |pairs: &[(&str, &str)]| {
        let mut imports = Imports::new();
        for (module, used) in pairs {
            imports.entry(module.to_string()).or_default().insert(used.to_string());
        }
        imports
    };
    assert_eq!(modules_of_circles(imports(&[("a", "b"), ("b", "c")])), Imports::new());
    let circle = [("a", "b"), ("b", "c"), ("c", "b")];
    assert_eq!(modules_of_circles(imports(&circle)).len(), 3);
}
