//! The sessions of README and runbook that use curl, as they are printed there. Their tests are those
//! of `cargo test` that need more than Rust and a C compiler.

use super::setup::Setup;
use crate::evidence;
use anyhow::Context;
use std::process::Command;

/// An error if curl is missing.
pub(super) fn check_curl() -> anyhow::Result<()> {
    let found = Command::new("curl").arg("--version").output();
    found.map(drop).context("curl is missing: apt-get install curl")
}

/// What the sessions print that the pages do not show.
pub(super) fn curl(setup: &Setup) -> anyhow::Result<Vec<String>> {
    evidence::of(&setup.repository, "cli::handbook::with_curl", &["--ignored"])
}
