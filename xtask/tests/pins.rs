//! A version that two tools read from two files is the same in both.

use xtask::repository::Repository;

#[test]
fn the_toolchain_is_the_least_rust_that_the_workspace_declares() {
    let pinned = |file: &str, key: &str| {
        let text = Repository::here().read(file).unwrap();
        let line =
            text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = ")).unwrap();
        line.trim_matches('"').to_string()
    };
    let declared = pinned("Cargo.toml", "rust-version");
    assert_eq!(pinned("rust-toolchain.toml", "channel"), format!("{declared}.0"));
}
