//! Runs the shell sessions of README and handbook that use curl, openssl, ss, nginx or promtool, as
//! printed there. `cargo test` ignores these tests, because they need more than Rust and a C
//! compiler.

use super::setup::Setup;
use crate::evidence;

/// Returns the differences between the sessions' output and the pages.
pub(super) fn run(setup: &Setup) -> anyhow::Result<Vec<String>> {
    evidence::run_tests(&setup.repository, "with_curl", &["--ignored"])
}
