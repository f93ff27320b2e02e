//! Parses the command line. If a configuration file is named, parses the command line again, with
//! the file's values as defaults.

use super::config::ConfigCommand;
use super::orders::IdArg;
use super::printer::warn;
use super::serve::{check_settings, ignore_hang_up};
use super::{Cli, Command, FailureCode, command, show_refusal};
use crate::config::{
    ConfigFile, EffectiveSettings, InvalidSettings, ServerConfig, all_settings, check_environment,
    may_hold_password, unknown_variables, why_invalid, with_set_variables,
};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, FromArgMatches};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use store_orders_api::plans::Plan;

/// A parsed command line, completed from the configuration file and the environment.
#[derive(Debug)]
pub struct Invocation {
    cli: Cli,
    effective: EffectiveSettings,
}

#[derive(Debug, thiserror::Error)]
pub enum InvocationError {
    /// The command line is invalid, or asks for help or the version. The error contains the text to
    /// print.
    #[error(transparent)]
    CommandLine(#[from] clap::Error),
    #[error(transparent)]
    Settings(#[from] InvalidSettings),
}

impl Invocation {
    /// Parses a command line and the configuration file. The first of `arguments` is the program's
    /// name.
    pub fn read(
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<Invocation, InvocationError> {
        let arguments: Vec<OsString> = arguments.into_iter().collect();
        let command = || with_set_variables(command());
        let mut matches = command().try_get_matches_from(&arguments).or_else(|error| {
            if is_wrong_value(&error) {
                check_environment()?;
            }
            Err(InvocationError::from(suggest_plan_flag(hide_password(error))))
        })?;
        refuse_ignored_options(&matches)?;
        refuse_ids_beside_input(&matches)?;
        let file = find_config_path(&matches).map(|path| ConfigFile::read(&path)).transpose()?;
        if let Some(file) = &file {
            let command = with_set_variables(file.as_defaults(super::command()));
            matches = command.try_get_matches_from(&arguments)?;
        }
        let cli = Cli::from_arg_matches(&matches)?;
        let effective = EffectiveSettings::from_matches(&matches, file.as_ref());
        Ok(Invocation { cli, effective })
    }

    /// Runs the command and writes its output to `out`. Only `serve` and `config check` check the
    /// server's settings first.
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        if matches!(self.cli.command, Command::Serve(_)) {
            ignore_hang_up()?;
        } else if let Some(variables) = unknown_variables() {
            warn(format_args!("unknown settings in the environment ignored: {variables}"));
        }
        if let Some(config) = self.config_to_check() {
            let checked = check_settings(&self.effective, &self.cli.options.store, config);
            if let Err(error) = &checked
                && !matches!(self.cli.command, Command::Serve(_))
            {
                let _ = show_refusal(FailureCode::InvalidSettings, &error.to_string(), out);
            }
            checked?;
        }
        self.cli.run(&self.effective, out)
    }

    /// Returns the settings if the command must refuse unusable settings. Returns `None` for other
    /// commands. One of them is `config show`, which must show even unusable settings.
    fn config_to_check(&self) -> Option<&ServerConfig> {
        match &self.cli.command {
            Command::Serve(settings) | Command::Config(ConfigCommand::Check { settings, .. }) => {
                Some(settings)
            }
            _ => None,
        }
    }
}

fn is_wrong_value(error: &clap::Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation)
}

/// Replaces the value in the error with `***` if the setting may contain a password. Clap would
/// print the value.
fn hide_password(mut error: clap::Error) -> clap::Error {
    let settings = all_settings();
    let flag = flag_of(&error).unwrap_or_default();
    let is_named = |arg: &Arg| arg.get_long() == flag.strip_prefix("--");
    if settings.get_arguments().any(|arg| is_named(arg) && may_hold_password(arg)) {
        error.insert(ContextKind::InvalidValue, ContextValue::String("***".to_string()));
    }
    error
}

fn suggest_plan_flag(mut error: clap::Error) -> clap::Error {
    let argument = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    if error.kind() == ErrorKind::UnknownArgument && argument.parse::<Plan>().is_ok() {
        let tip = format!("to give the plan, write '--plan {argument}'");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Returns the flag or the argument that the error is about, such as `--store`.
fn flag_of(error: &clap::Error) -> Option<String> {
    let named = error.get(ContextKind::InvalidArg)?.to_string();
    named.split(' ').next().map(str::to_string)
}

/// Formats the error for an invalid value of a flag. The text has the same form as for an invalid
/// value in the configuration file. Returns `None` for other errors.
pub fn wrong_value(error: &clap::Error) -> Option<String> {
    let (flag, value) = (flag_of(error)?, error.get(ContextKind::InvalidValue)?.to_string());
    // For a flag without its value, clap also reports `InvalidValue`, but with an empty value.
    let is_missing = value.is_empty() && error.kind() == ErrorKind::InvalidValue;
    (is_wrong_value(error) && !is_missing)
        .then(|| format!("{flag}: invalid value {value:?}: {}", why_invalid(error)))
}

fn refuse_ignored_options(matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some(("demo", demo)) = matches.subcommand() else { return Ok(()) };
    let mut command = command();
    let is_given =
        |arg: &&Arg| demo.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let Some(flag) = command.get_arguments().find(is_given).and_then(Arg::get_long) else {
        return Ok(());
    };
    let why = format!("demo takes no --{flag}: it serves a store of its own, which it deletes");
    Err(command.error(ErrorKind::UnknownArgument, why))
}

fn refuse_ids_beside_input(matches: &ArgMatches) -> Result<(), clap::Error> {
    let orders = matches.subcommand_matches("orders").and_then(ArgMatches::subcommand);
    let Some((name, arguments)) = orders else { return Ok(()) };
    let ids = arguments.try_get_many::<IdArg>("ids").ok().flatten();
    let ids: Vec<&IdArg> = ids.into_iter().flatten().collect();
    if ids.len() > 1 && ids.iter().any(|id| matches!(id, IdArg::Input)) {
        let why = format!("orders {name} takes ids or -, not both");
        return Err(command().error(ErrorKind::ArgumentConflict, why));
    }
    Ok(())
}

/// Returns the path of the configuration file, or `None` if neither an argument nor the environment
/// names one.
fn find_config_path(matches: &ArgMatches) -> Option<PathBuf> {
    let mut leaf = matches;
    while let Some((_, subcommand)) = leaf.subcommand() {
        leaf = subcommand;
    }
    let path = |id| leaf.try_get_one::<PathBuf>(id).ok().flatten().cloned();
    path("checked_file").or_else(|| path("config"))
}

#[cfg(test)]
mod property_tests;
