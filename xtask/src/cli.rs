//! The command line of `cargo xtask`: which commands there are and what their
//! help says. What they do is in the file of each.

use crate::repository::Repository;
use crate::{Outcome, browser, check, generate, judge, publish};
use anyhow::Context;
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;

const EXIT_CODES: &str = "\
Exit codes:
  0  everything agrees
  1  something has drifted; the output says what, where and how to mend it
  2  the command could not run: a file cannot be read or is no valid JSON";

/// Checks and generators of Store Orders.
#[derive(Debug, Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Prove that the document, the contract in Rust and the client agree.
    ///
    /// Compares what the trait in api/src emits with spec/openapi.json, value
    /// by value; api/client/src/generated.rs with what the document generates
    /// now; the document with the one published last, from the side of those
    /// who call the API: a breaking change asks for a new major version, an
    /// addition for a minor one, both for an entry in CHANGELOG.md; and the
    /// files of spec/published with their checksums. Runs every check, prints
    /// every difference with its place and the file or command that mends it.
    /// Changes nothing.
    #[command(after_help = concat!(
        "Examples:\n",
        "  cargo xtask check               before each commit\n",
        "  NO_COLOR=1 cargo xtask check    without colours\n\n",
        "Places are JSON pointers (RFC 6901): in ",
        "/paths/~1store~1orders/get, ~1 stands for a slash.",
    ))]
    Check,

    /// Write the client anew from spec/openapi.json.
    ///
    /// Rewrites api/client/src/generated.rs and nothing else, least of all the
    /// document, which is edited by hand.
    #[command(after_help = concat!(
        "Example:\n",
        "  cargo xtask generate && git diff api/client",
    ))]
    Generate,

    /// Keep the document as it goes out: spec/published/VERSION.json.
    ///
    /// Copies spec/openapi.json under the name of its version and adds its
    /// checksum to spec/published/SHA256SUMS. Does so only if `check` passes,
    /// CHANGELOG.md has a section for the version, and that version was not
    /// published before: what is published never changes.
    #[command(after_help = concat!(
        "Example:\n",
        "  cargo xtask publish && git add spec/published",
    ))]
    Publish,

    /// Have others judge the document and the live server.
    ///
    /// Runs what tests/judges pins: openapi-spec-validator, Redocly, Spectral
    /// with rules of our own, schemathesis against the server, once with a
    /// large limit and once up to 429, and the clients that openapi-typescript
    /// and openapi-python-client make. Any finding fails. Servers listen on the
    /// loopback and end with the command.
    #[command(after_help = concat!(
        "Examples:\n",
        "  cargo xtask judge --install    once, and after a change of a pin\n",
        "  cargo xtask judge",
    ))]
    Judge(judge::JudgeArgs),

    /// Measure the server beside what it stands on; `bench --help` says how.
    #[command(disable_help_flag = true)]
    Bench {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        arguments: Vec<OsString>,
    },

    /// Look at the public pages in a real browser.
    ///
    /// Starts the demonstration and headless Chromium, and goes through /docs,
    /// / and /changelog as a reader does, at desktop and phone width, in light
    /// and dark: finds the plans, the operations, the deprecation and the
    /// limits' headers, sends a request with a pasted key and sees its answer.
    /// Fails on an error in the console and on a request that leaves the
    /// server. Needs chromium and chromedriver.
    #[command(after_help = concat!(
        "Examples:\n",
        "  apt-get install chromium chromium-driver && cargo xtask browser\n",
        "  cargo xtask browser --pictures /tmp/pictures    and keep what it saw",
    ))]
    Browser(browser::BrowserArgs),
}

impl Cli {
    /// Runs the command and says what it came to.
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<Outcome> {
        let repository = Repository::here();
        match self.command {
            Command::Check => Ok(check::check(&check::Inputs::of(&repository), out)?),
            Command::Generate => generate::generate(&repository, out),
            Command::Browser(arguments) => browser::look(&arguments, &repository, out),
            Command::Bench { arguments } => bench(&repository, &arguments),
            Command::Publish => publish::publish(&repository, out),
            Command::Judge(arguments) => judge::judge(&arguments, &repository, out),
        }
    }
}

/// Becomes the benchmark, a package of its own: it needs much that no check needs.
fn bench(repository: &Repository, arguments: &[OsString]) -> anyhow::Result<Outcome> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = std::process::Command::new(cargo);
    command.args(["run", "--quiet", "--release", "--package", "bench", "--"]).args(arguments);
    let error = command.current_dir(repository.root()).exec();
    Err(error).context("cannot run cargo")
}
