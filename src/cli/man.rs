//! `man`: prints the man page of the program, or writes a man page for each command into a
//! directory.

use anyhow::Context;
use clap::{Args, Command};
use clap_mangen::{Man, generate_to};
use std::io::Write;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct ManArgs {
    /// Write one page for each command into this directory
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

impl ManArgs {
    pub(super) fn run(&self, command: Command, out: &mut dyn Write) -> anyhow::Result<()> {
        let Some(directory) = &self.into else {
            return Ok(Man::new(command.disable_help_subcommand(true)).render(out)?);
        };
        std::fs::create_dir_all(directory)
            .and_then(|()| generate_to(command, directory))
            .with_context(|| format!("cannot write man pages into {}", directory.display()))
    }
}
