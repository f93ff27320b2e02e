//! Checks that tables in the documentation agree with the code, and that `cargo xtask` is built
//! without the package `store-orders-api`.

use codegen::subset::CONSTRUCTS;
use codegen::unemitted::KINDS;
use std::process::Command;
use xtask::repository::Repository;

fn table(page: &str, heading: &str) -> Vec<String> {
    let text = Repository::here().read(page).unwrap();
    let rows = text.lines().skip_while(|line| !line.starts_with(heading)).skip(2);
    rows.take_while(|line| line.starts_with('|')).map(str::to_string).collect()
}

#[test]
fn the_guide_has_the_subset() {
    let row = |keys: &[&str]| format!("`{}`", keys.join("`, `"));
    let rows = CONSTRUCTS
        .iter()
        .map(|construct| format!("| {} | {} |", construct.name, row(construct.keys)));
    assert_eq!(table("xtask/README.md", "| Construct |"), rows.collect::<Vec<_>>());
}

#[test]
fn the_page_on_upstream_has_the_kinds_of_leaves_that_are_not_emitted() {
    let rows = KINDS.iter().map(|kind| format!("| {} | {} |", kind.name, kind.proof));
    assert_eq!(table("api/UPSTREAM.md", "| Leaves that"), rows.collect::<Vec<_>>());
}

#[test]
fn each_item_that_a_promise_of_the_readme_names_is_in_the_file_of_its_link() {
    let rows = table("README.md", "| Promise |").concat();
    let links: Vec<_> = rows
        .split("[`")
        .skip(1)
        .filter_map(|link| link.split_once(')')?.0.split_once("`]("))
        .collect();
    assert!(links.len() > 5, "{links:?}");
    for (name, file) in links {
        let code = Repository::here().read(file).unwrap();
        let items = [format!("fn {name}("), format!("enum {name} {{")];
        assert!(items.iter().any(|item| code.contains(item)), "{file} has no {name}");
    }
}

#[test]
fn generate_and_check_run_while_api_does_not_compile() {
    // Omit `--package`, so that `cargo tree` unifies features as a build of `cargo xtask` does.
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--edges", "normal,build", "--prefix", "none"])
        .args(["--invert", "store-orders-api"])
        .current_dir(Repository::here().root())
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    let depends = |name: &str| tree.lines().any(|line| line.starts_with(&format!("{name} v")));
    assert!(depends("store-orders"), "{tree}{}", String::from_utf8_lossy(&output.stderr));
    assert!(!depends("xtask") && !depends("codegen"), "{tree}");
}
