//! Parses the command line: twice if a configuration file is named, the second time
//! with the file's values as defaults.

use super::config::ConfigCommand;
use super::{Cli, Command, DEMO, command_line, global_options};
use crate::config::{
    ConfigFile, EffectiveSettings, InvalidSettings, ServerConfig, check_environment,
};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, FromArgMatches};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

/// A parsed command line and its settings.
#[derive(Debug)]
pub struct Invocation {
    cli: Cli,
    effective: EffectiveSettings,
}

/// Why a command line was refused.
#[derive(Debug, thiserror::Error)]
pub enum InvocationError {
    /// It is invalid, or asks for help; clap shows both.
    #[error(transparent)]
    CommandLine(#[from] clap::Error),
    /// The settings are invalid.
    #[error(transparent)]
    Settings(#[from] InvalidSettings),
}

impl Invocation {
    /// Parses a command line, which begins with the program's name, and the file
    /// that it or the environment names.
    pub fn read(
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<Invocation, InvocationError> {
        let arguments: Vec<OsString> = arguments.into_iter().collect();
        let mut matches = command_line().try_get_matches_from(&arguments).or_else(|error| {
            if matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation) {
                check_environment()?;
            }
            Err(InvocationError::from(error))
        })?;
        refuse_ignored_options(&matches)?;
        let file = named_file(&matches).map(|path| ConfigFile::read(&path)).transpose()?;
        if let Some(file) = &file {
            matches = file.as_defaults(command_line()).try_get_matches_from(&arguments)?;
        }
        let cli = Cli::from_arg_matches(&matches)?;
        Ok(Invocation { effective: EffectiveSettings::of(&matches, file.as_ref()), cli })
    }

    /// Runs the command; `out` is its standard output.
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        if let Some(config) = self.config_to_check() {
            self.effective.check(config)?;
        }
        self.cli.run(&self.effective, out)
    }

    /// The settings of a command that needs them to be consistent. `config show`
    /// does not: it helps to find the inconsistency.
    fn config_to_check(&self) -> Option<&ServerConfig> {
        match &self.cli.command {
            Command::Serve(settings) | Command::Config(ConfigCommand::Check { settings, .. }) => {
                Some(settings)
            }
            _ => None,
        }
    }
}

/// `demo` refuses the options that it would ignore.
fn refuse_ignored_options(matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some((DEMO, demo)) = matches.subcommand() else { return Ok(()) };
    let mut command = command_line();
    let is_given =
        |arg: &&Arg| demo.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let given = global_options(&command).find(is_given).and_then(Arg::get_long);
    match given.map(|flag| {
        format!("demo takes no --{flag}: it serves a store of its own, which it deletes")
    }) {
        Some(why) => Err(command.error(ErrorKind::UnknownArgument, why)),
        None => Ok(()),
    }
}

/// The file with settings; `demo` has none.
fn named_file(matches: &ArgMatches) -> Option<PathBuf> {
    if matches.subcommand_name() == Some(DEMO) {
        return None;
    }
    let mut leaf = matches;
    while let Some((_, subcommand)) = leaf.subcommand() {
        leaf = subcommand;
    }
    let path = |id| leaf.try_get_one::<PathBuf>(id).ok().flatten().cloned();
    path("checked_file").or_else(|| path("config"))
}
