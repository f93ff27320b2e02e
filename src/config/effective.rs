//! What is in force, and where each value came from.

use super::file::Place;
use super::{ConfigFile, all_settings, is_list, json_value};
use clap::ArgMatches;
use clap::parser::ValueSource;
use serde::Serialize;
use std::fmt;

/// All settings of a command that was parsed.
#[derive(Debug)]
pub struct InForce(Vec<Setting>);

/// One of them.
#[derive(Debug, Serialize)]
pub struct Setting {
    /// Its key in the file.
    pub key: String,
    /// What it is set to: null if to nothing.
    pub value: serde_json::Value,
    /// Where that came from.
    pub origin: Origin,
    /// How the command line calls it, without the dashes.
    #[serde(skip)]
    pub flag: String,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The command line.
    Flag,
    /// This environment variable.
    Environment(String),
    /// This line of the file.
    File(Place),
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag => f.write_str("flag"),
            Origin::Environment(variable) => write!(f, "environment {variable}"),
            Origin::File(place) => place.fmt(f),
            Origin::Default => f.write_str("default"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl InForce {
    /// What these matches amount to, of a command line that had the file's
    /// values as its defaults. Settings that the command does not take are left
    /// out.
    pub fn of(matches: &ArgMatches, file: Option<&ConfigFile>) -> InForce {
        let mut matches = matches;
        while let Some((_, deeper)) = matches.subcommand() {
            matches = deeper;
        }
        let known = all_settings();
        let settings = known.get_arguments().filter_map(|arg| {
            let key = arg.get_id().as_str();
            let raw = matches.try_get_raw(key).ok()?;
            let texts = raw.into_iter().flatten().map(|raw| raw.to_string_lossy().into_owned());
            let mut values: Vec<serde_json::Value> = texts.map(|text| json_value(&text)).collect();
            let value = match is_list(arg) {
                // What clap gives the secret of in --help is no secret here either.
                _ if arg.is_hide_env_values_set() => "hidden".into(),
                true => values.into(),
                false => values.pop().unwrap_or_default(),
            };
            let origin = match matches.value_source(key) {
                Some(ValueSource::CommandLine) => Origin::Flag,
                Some(ValueSource::EnvVariable) => {
                    let variable = arg.get_env().unwrap_or_default();
                    Origin::Environment(variable.to_string_lossy().into_owned())
                }
                _ => file.and_then(|file| file.place_of(key)).map_or(Origin::Default, Origin::File),
            };
            let flag = arg.get_long().unwrap_or(key).to_string();
            Some(Setting { key: key.to_string(), value, origin, flag })
        });
        InForce(settings.collect())
    }

    /// All of them, in the order in which they are declared.
    pub fn settings(&self) -> &[Setting] {
        &self.0
    }

    /// Whether nobody has set this.
    pub fn is_default(&self, key: &str) -> bool {
        self.0.iter().any(|setting| setting.key == key && setting.origin == Origin::Default)
    }

    /// Where to look for the first of these that somebody has set.
    pub(super) fn place_of(&self, keys: &[&str]) -> String {
        let set = keys.iter().filter_map(|key| self.0.iter().find(|setting| setting.key == *key));
        let mut set = set.filter(|setting| setting.origin != Origin::Default);
        let Some(setting) = set.next() else { return keys.join(", ") };
        match &setting.origin {
            Origin::Flag => format!("--{}", setting.flag),
            Origin::Environment(variable) => variable.clone(),
            Origin::File(place) => format!("{place}: {}", setting.key),
            Origin::Default => setting.key.clone(),
        }
    }
}

impl Setting {
    /// The value on one line.
    pub fn text(&self) -> String {
        let texts = self.texts();
        if texts.is_empty() { "-".to_string() } else { texts.join(", ") }
    }

    /// The values of a list, the one value of another setting, or none.
    pub fn texts(&self) -> Vec<String> {
        let text = |value: &serde_json::Value| match value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        match &self.value {
            serde_json::Value::Null => Vec::new(),
            serde_json::Value::Array(values) => values.iter().map(text).collect(),
            value => vec![text(value)],
        }
    }
}
