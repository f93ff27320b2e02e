//! The command line of `cargo xtask`: commands, arguments and help texts.

use crate::emitted::{cargo_run, emitted};
use crate::repository::Repository;
use crate::{Outcome, browser, check, evidence, judge, publish};
use anyhow::Context;
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;

const EXIT_CODES: &str = "\
Exit codes:
  0  everything agrees
  1  something does not agree; the output says what, where and how to fix it
  2  the command could not run: a file or a tool is missing or broken";

/// Checks and generators of Store Orders.
#[derive(Debug, Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Prove that the documents, the contract in Rust and the clients agree.
    ///
    /// Compares the document of each version with its canonical form, which has the programs
    /// of spec/samples, and with what the contract in api/src emits; the tables in its texts
    /// with the plans and codes that programs read; the generated contract and clients with
    /// what the documents generate, and api/client/README.md with the crate's documentation;
    /// the major version of each document with its base URLs; each document with the one of
    /// its base URL that was published last, as of today: a breaking change requires a new
    /// major version, an addition a new minor version, a change of a beta the next beta, all
    /// an entry in CHANGELOG.md; and the files of spec/published with the history of the
    /// main branch, where git has it. Finds modules of the server
    /// that import others against the order of src/lib.rs. Runs every check and prints every
    /// difference with its place, what is expected there, what was found, and the file or
    /// command that fixes it. Without --fix, it changes nothing.
    #[command(after_help = concat!(
        "Examples:\n",
        "  cargo xtask check               before each commit\n",
        "  cargo xtask check --fix         writes what follows from the documents\n",
        "  NO_COLOR=1 cargo xtask check    without colours\n\n",
        "Places in a document are JSON pointers (RFC 6901): in ",
        "spec/openapi.json#/paths/~1store~1orders/get, ~1 stands for a slash.",
    ))]
    Check {
        /// First write what can be written: the canonical form of the documents with the programs
        /// of spec/samples, a version that is too low for its changes unless one breaks callers or
        /// it is below the published one, and all generated files. Says what it wrote; then the
        /// exit code is by what is left
        #[arg(long)]
        fix: bool,
    },

    /// Generate the contract and the clients from the documents in spec.
    ///
    /// Also runs while api does not compile. The documents are edited by hand but for the
    /// programs to copy, which it puts there from spec/samples, and for their canonical form.
    /// Rewrites api/src/v1.rs and v2.rs, the generated files of api/client/src,
    /// api/client/README.md from the crate's documentation, and the server's pages of
    /// reference, changelog and summary. A document with what no code can be made of is
    /// refused, with each place, and nothing is generated. `check --fix` does the same and
    /// more.
    #[command(after_help = concat!(
        "Example:\n",
        "  cargo xtask generate && git diff api spec",
    ))]
    Generate,

    /// Keep the documents as they are released: spec/published/VERSION.json.
    ///
    /// Copies each document whose version is not published yet under the name of its
    /// version, if `check` passes,
    /// CHANGELOG.md has a section for each, the commit that is checked out has passed
    /// `.ci/run` here, and two tests pass, which it compiles and runs:
    /// `every_documented_answer` saw on the wire each status, header, code and field that the
    /// documents promise, and by `published_documents` the server keeps what each published
    /// document promised. A published document never changes.
    #[command(after_help = concat!(
        "Example:\n",
        "  cargo xtask publish && git add spec/published",
    ))]
    Publish,

    /// Run third-party tools against the document and the live server.
    ///
    /// Runs Redocly's lint on the documents, schemathesis against the server, with requests
    /// drawn from SEED, the programs to copy, and the clients that openapi-typescript and
    /// openapi-python-client generate, all pinned in tests/judges; Debian's tools run the
    /// sessions of README and handbook and read the metrics. Any finding fails. The servers
    /// listen on the loopback interface and stop with the command.
    #[command(after_help = concat!(
        "Examples:\n",
        "  cargo xtask judge --install            once, and after a version changed\n",
        "  cargo xtask judge\n",
        "  cargo xtask judge documents sessions   two of them",
    ))]
    Judge(judge::JudgeArgs),

    /// Measure the server against what it stands on; `bench --help` says how.
    #[command(disable_help_flag = true)]
    Bench {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        arguments: Vec<OsString>,
    },

    /// Make what a release holds, and try its image; `dist --help` says how.
    #[command(disable_help_flag = true)]
    Dist {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        arguments: Vec<OsString>,
    },

    /// Try the server while disks, networks, databases and servers fail; `faults --help` says
    /// how.
    #[command(disable_help_flag = true)]
    Faults {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        arguments: Vec<OsString>,
    },

    /// Test the public pages in a real browser.
    ///
    /// Starts the server and headless Chromium, and goes through /docs, / and
    /// /changelog at desktop and phone width, in light and dark mode: finds the
    /// plans, the operations, the deprecation and the rate limit headers, sends a
    /// request with a pasted key and reads the response. Fails on an error in the
    /// console and on a request to another server. Needs chromium, and the tools
    /// of `cargo xtask judge --install`.
    #[command(after_help = concat!(
        "Examples:\n",
        "  cargo xtask judge --install && cargo xtask browser\n",
        "  cargo xtask browser --pictures /tmp/pictures    saves screenshots",
    ))]
    Browser(browser::BrowserArgs),
}

impl Cli {
    /// Runs the command.
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<Outcome> {
        let repository = Repository::here();
        name_checkout(&repository, &std::env::current_dir()?, out)?;
        match self.command {
            Command::Check { fix } => {
                check::check(&check::Inputs::read(&repository, emitted), fix, out)
            }
            Command::Generate => check::generate(&check::Inputs::read(&repository, emitted), out),
            Command::Browser(arguments) => browser::browse(&arguments, &repository, out),
            Command::Bench { arguments } => {
                become_package(&repository, &["--release", "--package", "bench"], &arguments)
            }
            Command::Dist { arguments } => {
                become_package(&repository, &["--bin", "dist"], &arguments)
            }
            Command::Faults { arguments } => {
                become_package(&repository, &["--bin", "faults"], &arguments)
            }
            Command::Publish => publish::publish(&repository, emitted, &evidence::CONDITIONS, out),
            Command::Judge(arguments) => judge::judge(&arguments, &repository, out),
        }
    }
}

/// Names the checkout unless this directory is in it: a copied `target` has the programs of the
/// checkout that it was copied from.
fn name_checkout(
    repository: &Repository,
    directory: &Path,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let root = repository.root();
    if !directory.canonicalize()?.starts_with(root.canonicalize()?) {
        let (root, directory) = (root.display(), directory.display());
        writeln!(out, "In {root}, which this program was built from, not in {directory}:")?;
    }
    Ok(())
}

/// Becomes a package of its own, which needs much that no check needs.
fn become_package(
    repository: &Repository,
    package: &[&str],
    arguments: &[OsString],
) -> anyhow::Result<Outcome> {
    let error = cargo_run(repository, package).args(arguments).exec();
    Err(error).context("cannot run cargo")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checkout_is_named_where_it_is_not_the_current_one() {
        let (repository, elsewhere) = (Repository::here(), tempfile::tempdir().unwrap());
        let printed = |directory: &Path| {
            let mut out = Vec::new();
            name_checkout(&repository, directory, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(printed(repository.root()), "");
        assert_eq!(printed(&repository.root().join("xtask/src")), "");
        let named = printed(elsewhere.path());
        assert!(named.contains(&format!("{}, which", repository.root().display())), "{named}");
    }
}
