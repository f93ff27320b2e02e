//! The dependencies of this workspace, whose versions packages get.

const WORKSPACE: &str = include_str!("../../../Cargo.toml");

/// A line for each.
pub fn dependencies() -> &'static str {
    WORKSPACE.split_once("[workspace.dependencies]").map_or("", |(_, dependencies)| dependencies)
}

/// The version of one.
pub fn version(dependency: &str) -> String {
    let after = dependencies().split_once(&format!("\n{dependency} = "));
    let after = after.map_or("", |(_, after)| after);
    after.split('"').nth(1).unwrap_or("*").to_string()
}
