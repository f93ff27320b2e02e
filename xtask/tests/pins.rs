//! Checks that Cargo.toml, rust-toolchain.toml and README.md name the same version of Rust.

use xtask::repository::Repository;

#[test]
fn the_toolchain_is_the_minimum_rust_version_of_the_workspace() {
    let pinned = |file: &str, key: &str| {
        let text = Repository::here().read(file).unwrap();
        let line =
            text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = ")).unwrap();
        line.trim_matches('"').to_string()
    };
    let declared = pinned("Cargo.toml", "rust-version");
    assert_eq!(pinned("rust-toolchain.toml", "channel"), format!("{declared}.0"));
    let readme = Repository::here().read("README.md").unwrap();
    assert!(readme.contains(&format!("Rust {declared} or later")));
}
