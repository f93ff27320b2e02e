//! What a release holds, made and tried.
//!
//! `cargo xtask dist` runs this. It builds a program that needs no shared library, writes
//! what belongs to it into `target/dist`, and makes a container image of it. Nothing is
//! downloaded.

mod archive;
mod checkout;
mod command;
mod compose;
mod crates;
mod elf;
mod image;
mod licences;
mod papers;
mod parts;
mod release;
mod sbom;
mod target;
mod trial;

use checkout::Checkout;
use clap::Parser;
use std::io::Write;
use std::process::ExitCode;
use testbed::exit_code;

/// Make what a release holds, in target/dist.
///
/// A static program for Linux with man pages, completions, the systemd unit, licences and an
/// SBOM as one archive; an image for containers; and checksums. It takes a release build.
#[derive(Debug, Parser)]
#[command(
    name = "dist",
    bin_name = "cargo xtask dist",
    after_help = "\
Examples:
  cargo xtask dist          makes it
  cargo xtask dist --try    and tries the image in an empty root directory

Exit status: 0 done, 1 something that was tried did not hold, 2 it could not run"
)]
struct Cli {
    /// Also try the image: unpack it, and run it as its user with that as the root directory
    ///
    /// It serves over TLS, and reaches a PostgreSQL with TLS by name. Needs PostgreSQL
    /// (`apt-get install postgresql`), and root or user namespaces.
    #[arg(long = "try")]
    tries: bool,
}

fn main() -> ExitCode {
    exit_code(run(&Cli::parse(), &mut anstream::stdout()))
}

fn run(cli: &Cli, out: &mut dyn Write) -> anyhow::Result<u8> {
    let checkout = Checkout::here()?;
    // What is missing is said before the build, which takes minutes.
    let needs = if cli.tries { Some(trial::Needs::find()?) } else { None };
    let release = release::make(&checkout, out)?;
    match needs {
        Some(needs) => trial::run(&needs, &release, out),
        None => Ok(0),
    }
}
