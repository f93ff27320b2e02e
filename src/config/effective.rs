//! The settings that result from flags, environment variables, the file and the defaults, each with
//! its value and origin.

use super::passwords::without_passwords;
use super::settings::{all_settings, is_list, json_value, with_set_variables};
use super::{ConfigFile, InvalidSettings, PostgresUrl, ServerConfig};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// The settings of a command, in the order in which the code declares them.
#[derive(Debug)]
pub struct EffectiveSettings(Vec<Setting>);

#[derive(Debug, Serialize)]
pub struct Setting {
    /// The setting's key in the configuration file.
    pub key: String,
    /// The value, without passwords. Null if the setting has no value.
    pub value: serde_json::Value,
    /// The origin of the value: "flag", "environment VARIABLE", "file:line" or "default".
    pub origin: String,
    /// The prefix of errors about the setting: the flag, the variable, or "file:line: key". For a
    /// default, the prefix is the key.
    #[serde(skip)]
    place: String,
}

impl EffectiveSettings {
    /// Collects the settings that the command takes. `matches` must be parsed with the file's
    /// values as defaults.
    pub fn from_matches(matches: &ArgMatches, file: Option<&ConfigFile>) -> EffectiveSettings {
        let mut matches = matches;
        while let Some((_, subcommand)) = matches.subcommand() {
            matches = subcommand;
        }
        let all = with_set_variables(all_settings());
        let settings = all.get_arguments().filter_map(|arg| Setting::from_arg(arg, matches, file));
        EffectiveSettings(settings.collect())
    }

    pub fn settings(&self) -> &[Setting] {
        &self.0
    }

    fn value_of(&self, key: &str) -> Option<&serde_json::Value> {
        let setting = self.0.iter().find(|setting| setting.key == key);
        setting.map(|setting| &setting.value).filter(|value| !value.is_null())
    }

    /// Returns the configuration file if this setting comes from it, otherwise `None`.
    pub fn file_of(&self, key: &str) -> Option<PathBuf> {
        let setting = self.0.iter().find(|setting| setting.key == key)?;
        setting.place.ends_with(&format!(": {key}")).then_some(())?;
        setting.origin.rsplit_once(':').map(|(file, _)| PathBuf::from(file))
    }

    /// Checks that the settings do not contradict each other. The value of each setting has already
    /// been checked.
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

    /// Formats a problem with a setting. The message begins with the place where the value is set.
    pub fn problem(&self, key: &str, why: impl fmt::Display) -> String {
        let setting = self.0.iter().find(|setting| setting.key == key);
        format!("{}: {why}", setting.map_or(key, |setting| &setting.place))
    }
}

impl Setting {
    /// Returns the setting with its value and origin, or `None` if the command does not take this
    /// setting.
    fn from_arg(arg: &Arg, matches: &ArgMatches, file: Option<&ConfigFile>) -> Option<Setting> {
        let key = arg.get_id().as_str();
        let texts = redact_values(key, matches)?;
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

/// Returns the values of a setting as text, without passwords; `None` if the command does not take
/// the setting.
fn redact_values(key: &str, matches: &ArgMatches) -> Option<Vec<String>> {
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
