//! The settings in force: each one's value and where it came from.

use super::passwords::without_passwords;
use super::settings::{all_settings, is_list, json_value};
use super::{ConfigFile, InvalidSettings, PostgresUrl, ServerConfig};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};
use serde::Serialize;
use std::fmt;

/// The settings of a command, in the order of their declaration.
#[derive(Debug)]
pub struct EffectiveSettings(Vec<Setting>);

/// A setting in force.
#[derive(Debug, Serialize)]
pub struct Setting {
    /// Its key in the file.
    pub key: String,
    /// Its value, null if it has none.
    pub value: serde_json::Value,
    /// Where the value came from: "flag", "environment VARIABLE", "file:line" or "default".
    pub origin: String,
    /// The setting as an error names it.
    #[serde(skip)]
    place: String,
}

impl EffectiveSettings {
    /// The settings that the command takes. The matches are those of a command
    /// line that had the file's values as its defaults.
    pub fn of(matches: &ArgMatches, file: Option<&ConfigFile>) -> EffectiveSettings {
        let mut matches = matches;
        while let Some((_, subcommand)) = matches.subcommand() {
            matches = subcommand;
        }
        let known = all_settings();
        let settings = known.get_arguments().filter_map(|arg| Setting::of(arg, matches, file));
        EffectiveSettings(settings.collect())
    }

    /// All of them.
    pub fn settings(&self) -> &[Setting] {
        &self.0
    }

    /// The value of a setting, if it has one.
    fn value_of(&self, key: &str) -> Option<&serde_json::Value> {
        let found = self.0.iter().find(|setting| setting.key == key);
        found.map(|setting| &setting.value).filter(|value| !value.is_null())
    }

    /// What is wrong with settings that are valid one by one, but not together.
    pub fn check(&self, config: &ServerConfig) -> Result<(), InvalidSettings> {
        let in_postgres = self.value_of("store").is_some();
        let has_limits_database = self.value_of("limits_database").is_some();
        let problem = match (&config.tls_cert, &config.tls_key) {
            (Some(_), None) => Some(("tls_cert", "--tls-cert also needs --tls-key")),
            (None, Some(_)) => Some(("tls_key", "--tls-key also needs --tls-cert")),
            _ if has_limits_database && !in_postgres => Some((
                "limits_database",
                "only servers on PostgreSQL count in a database; name the store's with store",
            )),
            _ => None,
        };
        InvalidSettings::check(
            problem.map(|(key, why)| self.problem(key, why)).into_iter().collect(),
        )
    }

    /// A problem with a setting, after where the setting came from.
    pub fn problem(&self, key: &str, why: impl fmt::Display) -> String {
        let found = self.0.iter().find(|setting| setting.key == key);
        format!("{}: {why}", found.map_or(key, |setting| &setting.place))
    }
}

impl Setting {
    /// None if the command does not take this setting.
    fn of(arg: &Arg, matches: &ArgMatches, file: Option<&ConfigFile>) -> Option<Setting> {
        let key = arg.get_id().as_str();
        let texts = texts_of(key, matches)?;
        let mut values: Vec<_> = texts.iter().map(|text| json_value(text)).collect();
        let (origin, place) = match matches.value_source(key) {
            Some(ValueSource::CommandLine) => {
                ("flag".to_string(), format!("--{}", arg.get_long()?))
            }
            Some(ValueSource::EnvVariable) => {
                let variable = arg.get_env()?.display().to_string();
                (format!("environment {variable}"), variable)
            }
            _ => match file.and_then(|file| file.line_of(key)) {
                Some(line) => (line.to_string(), format!("{line}: {key}")),
                None => ("default".to_string(), key.to_string()),
            },
        };
        Some(Setting {
            key: key.to_string(),
            value: if is_list(arg) { values.into() } else { values.pop().unwrap_or_default() },
            origin,
            place,
        })
    }
}

/// What is written for a setting, or shown of it if that may hold a password. `None` if the
/// command does not take it.
fn texts_of(key: &str, matches: &ArgMatches) -> Option<Vec<String>> {
    match key {
        "store" => {
            let url = matches.try_get_one::<PostgresUrl>(key).ok()?;
            Some(url.map(|url| format!("{url:#}")).into_iter().collect())
        }
        _ => {
            let raw = matches.try_get_raw(key).ok()?.into_iter().flatten();
            Some(raw.map(|text| without_passwords(&text.to_string_lossy())).collect())
        }
    }
}
