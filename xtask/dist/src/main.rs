//! Builds the files of a release: archive, image, licenses and SBOM. With `--try`, also smoke-tests
//! the archive and the image.
//!
//! `cargo xtask dist` runs this builder, which downloads only crates. The released server needs no
//! shared library.

mod checkout;
mod compose;
mod release;
mod tools;
mod trial;

use anyhow::Context;
use checkout::Checkout;
use clap::Parser;
use std::io::Write;
use std::process::ExitCode;
use testbed::exit_code;
use xtask::evidence::{CHANGE, NIGHTLY, check_passed};
use xtask::repository::Repository;

/// Make the files of a release, in target/dist.
///
/// A release needs a commit that has passed `.ci/run` and `.ci/run nightly` in this checkout.
///
/// Makes an archive, a container image and checksums. The archive contains a static program for
/// Linux, man pages, completions, the systemd unit, licenses and an SBOM.
///
/// Builds in release mode. Needs buildah, cargo-about and cargo-cyclonedx.
///
/// The SBOM lists only crates. LICENSES-THIRD-PARTY.txt also covers the linked C library and Rust's
/// standard library.
#[derive(Debug, Parser)]
#[command(
    name = "dist",
    bin_name = "cargo xtask dist",
    after_help = "\
Examples:
  cargo xtask dist                     makes a release
  cargo xtask dist --try               and tries the image in an empty root directory
  cargo xtask dist --untested          makes one from any checkout, for your own use

Exit status: 0 done, 1 a trial of the release failed, 2 it could not run"
)]
struct Cli {
    /// Also test the archive and the image
    ///
    /// Runs the program with the image's files as the root directory. The program must serve over
    /// TLS, and connect to PostgreSQL by host name and with TLS. Needs PostgreSQL (`apt-get install
    /// postgresql`), and root or user namespaces.
    #[arg(long = "try")]
    try_image: bool,
    /// Allow a checkout that has not passed the tests
    #[arg(long)]
    untested: bool,
}

fn main() -> ExitCode {
    exit_code(run(&Cli::parse(), &mut anstream::stdout()))
}

fn run(cli: &Cli, out: &mut dyn Write) -> anyhow::Result<u8> {
    let checkout = Checkout::here()?;
    // Check all preconditions first, because the build takes minutes.
    if !cli.untested {
        check_passed(&Repository::open(&checkout.root), &[CHANGE, NIGHTLY])
            .context("not a tested commit (--untested makes one all the same)")?;
    }
    tools::check()?;
    let needs = if cli.try_image { Some(trial::Needs::find()?) } else { None };
    let release = release::make(&checkout, out)?;
    match needs {
        Some(needs) => trial::run(&needs, &release, out),
        None => Ok(0),
    }
}
