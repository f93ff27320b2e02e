//! The sessions of README and handbook that use curl, openssl, ss, nginx or promtool, as they are
//! printed there. Their tests are those of `cargo test` that need more than Rust and a C compiler.

use super::setup::Setup;
use crate::evidence;

/// What the sessions print that the pages do not show.
pub(super) fn run(setup: &Setup) -> anyhow::Result<Vec<String>> {
    evidence::of(&setup.repository, "with_curl", &["--ignored"])
}
