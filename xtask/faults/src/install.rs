//! Installs the database servers on Debian or Ubuntu.

use anyhow::{Context, bail};
use rustix::process::geteuid;
use std::io::Write;
use std::process::Command;

/// The package that every command here needs.
const PACKAGES: [&str; 1] = ["postgresql"];

/// Installs what is missing with apt-get.
pub fn install(out: &mut dyn Write) -> anyhow::Result<()> {
    for arguments in [
        vec!["update", "-q"],
        [&["install", "-qy", "--no-install-recommends"][..], &PACKAGES].concat(),
    ] {
        let mut command = if geteuid().is_root() {
            Command::new("apt-get")
        } else {
            let mut sudo = Command::new("sudo");
            sudo.arg("apt-get");
            sudo
        };
        writeln!(out, "apt-get {}", arguments.join(" "))?;
        let status = command
            .args(&arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .status()
            .context("apt-get is missing; install PostgreSQL 15 or later")?;
        if !status.success() {
            bail!("apt-get {} failed", arguments.join(" "));
        }
    }
    Ok(())
}
