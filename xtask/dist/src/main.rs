//! Builds and smoke-tests what a release holds: archive, image, licences, SBOM.
//!
//! `cargo xtask dist` runs this. It builds a program that needs no shared library; buildah,
//! cargo-about, cargo-cyclonedx and tar make the rest. Nothing is downloaded.

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

/// Make what a release holds, in target/dist.
///
/// A release is made from a commit that has passed `.ci/run` and `.ci/run nightly` here.
///
/// A static program for Linux with man pages, completions, the systemd unit, licences and an
/// SBOM as one archive; an image for containers; and checksums. It takes a release build, and
/// needs buildah, cargo-about and cargo-cyclonedx. The SBOM lists crates; the C library and
/// Rust's standard library, which are linked too, stand in LICENSES-THIRD-PARTY.txt.
#[derive(Debug, Parser)]
#[command(
    name = "dist",
    bin_name = "cargo xtask dist",
    after_help = "\
Examples:
  cargo xtask dist                     makes it
  cargo xtask dist --try               and tries the image in an empty root directory
  cargo xtask dist --untested          makes one for yourself, of any checkout

Exit status: 0 done, 1 something that was tried did not hold, 2 it could not run"
)]
struct Cli {
    /// Also try the image: unpack it, and run it as its user with that as the root directory
    ///
    /// It serves over TLS, and reaches a PostgreSQL with TLS by name. Needs PostgreSQL
    /// (`apt-get install postgresql`), and root or user namespaces.
    #[arg(long = "try")]
    tries: bool,
    /// Make it of a checkout that has not passed the tests
    #[arg(long)]
    untested: bool,
}

fn main() -> ExitCode {
    exit_code(run(&Cli::parse(), &mut anstream::stdout()))
}

fn run(cli: &Cli, out: &mut dyn Write) -> anyhow::Result<u8> {
    let checkout = Checkout::here()?;
    // What is missing is said before the build, which takes minutes.
    if !cli.untested {
        check_passed(&Repository::at(&checkout.root), &[CHANGE, NIGHTLY])
            .context("not a tested commit (--untested makes one all the same)")?;
    }
    tools::check()?;
    let needs = if cli.tries { Some(trial::Needs::find()?) } else { None };
    let release = release::make(&checkout, out)?;
    match needs {
        Some(needs) => trial::run(&needs, &release, out),
        None => Ok(0),
    }
}
