//! The machine that a release is for: Linux on this machine's processor.

use anyhow::bail;

/// A kind of machine.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// As Rust names it.
    pub triple: &'static str,
    /// As file names have it.
    pub name: &'static str,
    /// As images name the processor.
    pub oci_architecture: &'static str,
}

impl Target {
    /// This machine.
    pub fn here() -> anyhow::Result<Target> {
        match (std::env::consts::OS, std::env::consts::ARCH) {
            ("linux", "x86_64") => Ok(Target {
                triple: "x86_64-unknown-linux-gnu",
                name: "linux-x86_64",
                oci_architecture: "amd64",
            }),
            ("linux", "aarch64") => Ok(Target {
                triple: "aarch64-unknown-linux-gnu",
                name: "linux-aarch64",
                oci_architecture: "arm64",
            }),
            (system, processor) => {
                bail!(
                    "a release is made on Linux on x86_64 or aarch64, not on {system} {processor}"
                )
            }
        }
    }
}
