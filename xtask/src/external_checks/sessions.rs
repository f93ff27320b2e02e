//! Runs the tests that need programs such as curl. The tests repeat shell sessions of README, guide
//! and handbook. A plain `cargo test` skips these tests.

use super::setup::Setup;
use crate::evidence;

/// Returns no lines if each session prints what the documentation shows. Otherwise returns the end
/// of the tests' output.
pub(super) fn run(setup: &Setup) -> anyhow::Result<Vec<String>> {
    evidence::run_tests(&setup.repository, "with_curl", &["--ignored"])
}
