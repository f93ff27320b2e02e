//! The sessions of README and runbook that use curl, openssl or ss, as they are printed there. Their
//! tests are those of `cargo test` that need more than Rust and a C compiler.

use super::setup::Setup;
use crate::evidence;
use anyhow::Context;
use std::process::Command;

/// What the sessions use, and the package of Debian that has it.
const PROGRAMS: [(&str, &str); 3] = [("curl", "curl"), ("openssl", "openssl"), ("ss", "iproute2")];

/// An error if a program is missing that the sessions use.
pub(super) fn check_programs() -> anyhow::Result<()> {
    PROGRAMS.into_iter().try_for_each(|(program, package)| {
        let found = Command::new(program).arg("--version").output();
        found.map(drop).with_context(|| format!("{program} is missing: apt-get install {package}"))
    })
}

/// What the sessions print that the pages do not show.
pub(super) fn run(setup: &Setup) -> anyhow::Result<Vec<String>> {
    evidence::of(&setup.repository, "with_curl", &["--ignored"])
}
