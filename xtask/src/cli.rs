//! The command line of `cargo xtask`: commands, arguments and help texts. Also runs the selected
//! command.

use crate::emitted::{cargo_run, emitted};
use crate::repository::Repository;
use crate::{Outcome, browser, check, evidence, external_checks, publish};
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

/// The developer's commands of Store Orders: checks, generators, tests, benchmarks and releases.
#[derive(Debug, Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check that the documents, the contract in Rust and the clients agree.
    ///
    /// Each document in spec must be in canonical form and contain the code samples of
    /// spec/samples. Its examples must match their schemas, and its base URLs must end in its major
    /// version. Its texts and spec/guide.md must state its plans, error codes and bounds correctly.
    /// Each document must contain every value that the contract in api/src emits. Other values are
    /// allowed only if dropshot cannot emit their kind.
    ///
    /// Each document is also compared with its last published version. A breaking change requires a
    /// new major version, even after a beta. After a beta, every other change requires the next
    /// beta. Otherwise, an addition requires a new minor version, and any other change a new patch
    /// version. CHANGELOG.md must have a section for the new version that names each breaking
    /// change and each addition.
    ///
    /// The generated files must be up to date. No file in spec/published may have been changed or
    /// removed since it reached the main branch. The server's modules must import each other only
    /// in the order of src/lib.rs.
    ///
    /// Prints each difference with its place, the expected and the found value, and the file or
    /// command that fixes it. Without --fix, changes nothing.
    #[command(after_help = concat!(
        "Examples:\n",
        "  cargo xtask check               before each commit\n",
        "  cargo xtask check --fix         fixes what can be generated\n",
        "  NO_COLOR=1 cargo xtask check    without colours\n\n",
        "Places in a document are JSON pointers (RFC 6901): in ",
        "spec/openapi.json#/paths/~1store~1orders/get, ~1 stands for a slash.",
    ))]
    Check {
        /// Fix what can be generated: the documents' canonical form and code samples, and all
        /// generated files. Also raise a document's version that is too low, unless a change is
        /// breaking or the version is below the published one. The command prints the files that it
        /// writes. The exit code reflects only the remaining problems
        #[arg(long)]
        fix: bool,
    },

    /// Generate the contract and the clients from the documents in spec.
    ///
    /// Rewrites the contract of each version in api/src, and the generated files of api/client/src.
    /// Also rewrites api/client/README.md from the crate's documentation, the server's pages in
    /// src/http/docs/generated, and tests/samples/generated.rs. Works even if api does not compile.
    ///
    /// People edit the documents by hand. The command only inserts the code samples of spec/samples
    /// and restores the canonical form. If a document uses an unsupported feature, the command
    /// prints each place and writes none of the generated files. `check --fix` does the same and
    /// more.
    #[command(after_help = concat!(
        "Example:\n",
        "  cargo xtask generate && git diff api spec",
    ))]
    Generate,

    /// Copy new versions of the documents to spec/published/VERSION.json.
    ///
    /// Requires that `check` passes, and that CHANGELOG.md has a section for each new version. All
    /// files must be committed, and `.ci/run` must have passed on the current commit in this
    /// checkout.
    ///
    /// Then runs two groups of tests, and copies nothing if one fails. `every_documented_answer`
    /// must receive every documented status, header, code and field from a server.
    /// `published_documents` checks that the server keeps the promises of earlier published
    /// documents.
    ///
    /// A published document never changes.
    #[command(after_help = concat!(
        "Example:\n",
        "  cargo xtask publish && git add spec/published",
    ))]
    Publish,

    /// Run third-party tools against the documents and live servers.
    ///
    /// Checks the documents, the handbook's files, the metrics, the code samples, the generated
    /// clients and the console sessions. schemathesis sends random requests to a server.
    ///
    /// Some tools are pinned in tests/external_checks, and --install installs them. The other tools
    /// are packages of Debian.
    ///
    /// The command fails if a check finds anything. The servers listen on the loopback interface
    /// and stop with the command.
    #[command(after_help = concat!(
        "Examples:\n",
        "  cargo xtask external-checks --install            once, and after a version changed\n",
        "  cargo xtask external-checks\n",
        "  cargo xtask external-checks documents sessions   two of them",
    ))]
    ExternalChecks(external_checks::ExternalCheckArgs),

    /// Compare the server's speed with that of its web framework and its databases; see `bench
    /// --help`.
    #[command(disable_help_flag = true)]
    Bench {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        arguments: Vec<OsString>,
    },

    /// Build the files of a release, and test its image on request; see `dist --help`.
    #[command(disable_help_flag = true)]
    Dist {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        arguments: Vec<OsString>,
    },

    /// Test the server while disks, networks, databases and servers fail; see `faults --help`.
    #[command(disable_help_flag = true)]
    Faults {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        arguments: Vec<OsString>,
    },

    /// Test the public pages in a real browser.
    ///
    /// Starts the server and headless Chromium, and visits the public pages. Five views test
    /// desktop, tablet and phone, in light or dark mode. A console error, a page without an
    /// expected part or a request to another server is a failure.
    ///
    /// Three views have other purposes. `plain` tests a phone without JavaScript. `settings` looks
    /// for the operator's contact on /docs/v1. `negative-controls` breaks pages, and requires that
    /// the checks find each defect.
    ///
    /// Needs the command chromium, and the tools that `cargo xtask external-checks --install`
    /// installs.
    #[command(after_help = concat!(
        "Examples:\n",
        "  cargo xtask external-checks --install && cargo xtask browser\n",
        "  cargo xtask browser --pictures /tmp/pictures    saves screenshots",
    ))]
    Browser(browser::BrowserArgs),
}

impl Cli {
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
            Command::ExternalChecks(arguments) => {
                external_checks::run_external_checks(&arguments, &repository, out)
            }
        }
    }
}

/// Prints the checkout's path if the current directory is outside the checkout. This program works
/// on the checkout from which it was built, which users may not expect.
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

/// Replaces this process with `cargo run` of another package. `cargo xtask` does not depend on that
/// package, so building `cargo xtask` does not compile the package's dependencies.
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
    fn the_checkout_is_named_if_the_current_directory_is_outside_it() {
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
