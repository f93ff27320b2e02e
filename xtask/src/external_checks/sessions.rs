//! Runs the shell sessions in README, guide and handbook that use curl, openssl, ss, nginx or promtool,
//! exactly as printed. `cargo test` ignores these tests, because they need more than Rust and a C
//! compiler.

use super::setup::Setup;
use crate::evidence;

/// Returns the differences between the output of the sessions and the output printed in the pages.
pub(super) fn run(setup: &Setup) -> anyhow::Result<Vec<String>> {
    evidence::run_tests(&setup.repository, "with_curl", &["--ignored"])
}
