//! Settings: flags over environment over one TOML file over defaults.
//!
//! A setting is one field of [`StoreSettings`] or [`ServerConfig`], and nothing
//! else needs to know of it: its key in the file is the field's name, and the
//! parser, the default and the description that clap has of it serve the file,
//! the listing of what is in force and the commented default file as well. The
//! file's values are handed to clap as defaults, so that precedence is clap's.

mod default_file;
mod file;
mod in_force;
mod settings;

pub use default_file::default_file;
pub use file::{ConfigFile, check_environment};
pub use in_force::{InForce, Origin, Setting};
pub use settings::{AdminListen, LogLevel, ServerConfig, StoreSettings};

use clap::{Arg, ArgAction, Args, Command};
use std::fmt;

/// Settings that cannot be used, each with where it stands.
#[derive(Debug, thiserror::Error)]
#[error("{}", listed(.0))]
pub struct Unusable(Vec<String>);

impl Unusable {
    /// `place` is where it stands, file and line where it stands in a file.
    fn one(place: impl fmt::Display, why: impl fmt::Display) -> Unusable {
        Unusable(vec![problem(place, why)])
    }
}

fn problem(place: impl fmt::Display, why: impl fmt::Display) -> String {
    format!("{place}: {why}")
}

fn listed(problems: &[String]) -> String {
    match problems {
        [problem] => problem.clone(),
        _ => format!("{} settings cannot be used:\n  {}", problems.len(), problems.join("\n  ")),
    }
}

/// A command that takes every setting and nothing else: what is known of them.
fn all_settings() -> Command {
    ServerConfig::augment_args(StoreSettings::augment_args(Command::new("settings")))
}

/// The groups in which clap keeps the settings of a command.
fn is_group_of_settings(group: &str) -> bool {
    [StoreSettings::group_id(), ServerConfig::group_id()]
        .into_iter()
        .flatten()
        .any(|id| id.as_str() == group)
}

/// Whether a setting is a list.
fn is_list(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append)
}

/// A value as TOML and JSON write it: numbers and truth values bare.
fn json_value(raw: &str) -> serde_json::Value {
    match (raw.parse::<i64>(), raw.parse::<bool>()) {
        (Ok(number), _) => number.into(),
        (_, Ok(truth)) => truth.into(),
        _ => raw.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_flag_a_variable_and_a_meaning() {
        for arg in all_settings().get_arguments() {
            let key = arg.get_id().as_str();
            let variable = format!("STORE_ORDERS_{}", key.to_uppercase());
            assert_eq!(arg.get_env(), Some(variable.as_ref()), "{key}");
            assert!(arg.get_long().is_some() && arg.get_help().is_some(), "{key}");
        }
    }
}
