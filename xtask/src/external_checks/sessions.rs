//! Runs the tests of the shell sessions in README, guide and handbook that use programs such as
//! curl. A plain `cargo test` skips these tests, because they need more than Rust and a C compiler.

use super::setup::Setup;
use crate::evidence;

/// Returns no lines if each session prints what its page shows. Otherwise returns the end of the
/// tests' output.
pub(super) fn run(setup: &Setup) -> anyhow::Result<Vec<String>> {
    evidence::run_tests(&setup.repository, "with_curl", &["--ignored"])
}
