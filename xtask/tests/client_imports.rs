//! Checks that no modules of the client import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use xtask::check::module_imports;
use xtask::repository::Repository;

/// Each module that imports others, with the modules that it imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Repeatedly removes the modules that import no remaining module. The result is empty if the
/// imports form no circle.
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
        // An import of a name that `lib.rs` re-exports would hide the dependency on the defining
        // module.
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
