//! Runs the shell sessions in README, guide and handbook that use curl, openssl, ss, nginx or
//! promtool. They are tests that `cargo test` ignores, because they need more than Rust and a C
//! compiler.

use super::setup::Setup;
use crate::evidence;

/// Runs the sessions as tests. Returns no lines if each session prints what its page shows.
/// Otherwise returns the end of the tests' output.
pub(super) fn run(setup: &Setup) -> anyhow::Result<Vec<String>> {
    evidence::run_tests(&setup.repository, "with_curl", &["--ignored"])
}
