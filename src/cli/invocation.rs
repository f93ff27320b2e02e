//! The command line as it was called: read twice where a configuration file is
//! named, the second time with the file's values as defaults.

use super::{Cli, Command, config};
use crate::config::{ConfigFile, InForce, ServerConfig, Unusable, check_environment};
use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

/// What is to be done, and with which settings.
#[derive(Debug)]
pub struct Invocation {
    cli: Cli,
    in_force: InForce,
}

/// Why a command line was not taken.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It is wrong, or asks for help; clap says how to show that.
    #[error(transparent)]
    CommandLine(#[from] clap::Error),
    /// The settings are wrong.
    #[error(transparent)]
    Settings(#[from] Unusable),
}

impl Invocation {
    /// Reads a command line, the program's name first, and whatever file it or
    /// the environment names.
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Invocation, Refusal> {
        let arguments: Vec<OsString> = arguments.into_iter().collect();
        let mut matches = Cli::command().try_get_matches_from(&arguments).or_else(|error| {
            if matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation) {
                check_environment()?;
            }
            Err(Refusal::from(error))
        })?;
        let file = named_file(&matches).map(|path| ConfigFile::read(&path)).transpose()?;
        if let Some(file) = &file {
            matches = file.as_defaults(Cli::command()).try_get_matches_from(&arguments)?;
        }
        let cli = Cli::from_arg_matches(&matches)?;
        Ok(Invocation { in_force: InForce::of(&matches, file.as_ref()), cli })
    }

    /// Carries the command out; what it has to show goes to `out`.
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        if let Some(settings) = self.checked_settings() {
            settings.check(&self.in_force)?;
        }
        self.cli.run(&self.in_force, out)
    }

    /// The settings of a command that needs them to go together. Whoever wants
    /// to see them may see why they do not.
    fn checked_settings(&self) -> Option<&ServerConfig> {
        match &self.cli.command {
            Command::Serve(settings)
            | Command::SystemdUnit(settings)
            | Command::Config(config::Command::Check { settings, .. }) => Some(settings),
            _ => None,
        }
    }
}

fn named_file(matches: &ArgMatches) -> Option<PathBuf> {
    let mut leaf = matches;
    while let Some((_, deeper)) = leaf.subcommand() {
        leaf = deeper;
    }
    let path = |id| leaf.try_get_one::<PathBuf>(id).ok().flatten().cloned();
    path("checked_file").or_else(|| path("config"))
}
