//! What a shell and `man` know of the command line, written from what clap does.

use super::Cli;
use anyhow::Context;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::io::Write;
use std::path::PathBuf;

/// Which shell.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell that is to complete
    shell: Shell,
}

/// Where the pages go.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Write a page for every command into this directory, not one to standard output
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

impl CompletionsArgs {
    pub(super) fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut command = Cli::command();
        let name = command.get_name().to_string();
        // Into memory first: the generator panics where it cannot write.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, name, &mut script);
        Ok(out.write_all(&script)?)
    }
}

impl ManArgs {
    pub(super) fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        // What the environment holds here belongs on no page.
        let command = without_environment_values(Cli::command());
        match &self.into {
            None => Ok(clap_mangen::Man::new(command).render(out)?),
            Some(directory) => {
                let doing = || format!("cannot write man pages into {}", directory.display());
                std::fs::create_dir_all(directory).with_context(doing)?;
                clap_mangen::generate_to(command, directory).with_context(doing)
            }
        }
    }
}

fn without_environment_values(command: clap::Command) -> clap::Command {
    command.mut_args(|arg| arg.hide_env_values(true)).mut_subcommands(without_environment_values)
}
