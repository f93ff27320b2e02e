//! Generates the commented default file from clap's definition of each setting.

use super::settings::{all_settings, is_list, json_value};
use clap::Arg;

const HEAD: &str = "\
# Settings of Store Orders, as TOML. Name this file with --config or
# STORE_ORDERS_CONFIG; no file is read by default. Flags override environment
# variables. Environment variables override this file. This file overrides the
# defaults, which are the values after the # here. Relative paths begin at the
# working directory.
";

/// The maximum width of a comment, in characters.
const WIDTH: usize = 78;

/// Returns the text of a configuration file. Its comments show the meaning and the default of every
/// setting.
pub fn default_file() -> String {
    let mut text = HEAD.to_string();
    for arg in all_settings().get_arguments() {
        let flag = arg.get_long().unwrap_or_default();
        let variable = arg.get_env().unwrap_or_default().to_string_lossy();
        text.push('\n');
        text.push_str(&wrap_comment(&describe(arg)));
        text.push_str(&wrap_comment(&format!("Flag --{flag}, environment {variable}.")));
        text.push_str(&format!("#{} = {}\n", arg.get_id(), default_or_placeholder(arg)));
    }
    text
}

fn describe(arg: &Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let sentences = help.split("\n\n").map(|text| format!("{}.", text.trim_end_matches('.')));
    let mut meaning = sentences.collect::<Vec<_>>().join(" ");
    let words = arg.get_possible_values();
    if !words.is_empty() {
        let words: Vec<&str> = words.iter().map(|word| word.get_name()).collect();
        meaning.push_str(&format!(" One of {}.", words.join(", ")));
    }
    if !is_list(arg) && arg.get_default_values().is_empty() {
        meaning.push_str(" Not set by default.");
    }
    meaning
}

/// Returns the setting's default as JSON. If there is no default, returns `[]` for a list, and the
/// help text's placeholder for another setting.
fn default_or_placeholder(arg: &Arg) -> String {
    let defaults = arg.get_default_values().iter();
    let defaults: Vec<String> =
        defaults.map(|value| json_value(&value.to_string_lossy()).to_string()).collect();
    match (is_list(arg), defaults.first(), arg.get_value_names()) {
        (true, _, _) => format!("[{}]", defaults.join(", ")),
        (false, Some(default), _) => default.clone(),
        (false, None, names) => format!("{:?}", names.unwrap_or_default().concat()),
    }
}

fn wrap_comment(sentence: &str) -> String {
    let mut text = String::new();
    let mut line = "#".to_string();
    for word in sentence.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH {
            text.push_str(&(line + "\n"));
            line = "#".to_string();
        }
        line.push(' ');
        line.push_str(word);
    }
    text + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConfigFile, EffectiveSettings};
    use std::path::Path;

    /// Returns the default file's lines for settings that are lists or have a default. Removes the
    /// `#` at the beginning of each line.
    fn uncommented() -> String {
        let settings = all_settings();
        let set = |key: &str| {
            let arg = settings.get_arguments().find(|arg| arg.get_id() == key).unwrap();
            is_list(arg) || !arg.get_default_values().is_empty()
        };
        default_file()
            .lines()
            .filter_map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')))
            .filter(|line| line.split_once(" = ").is_some_and(|(key, _)| set(key)))
            .map(|line| format!("{line}\n"))
            .collect()
    }

    fn values(file: Option<&ConfigFile>) -> Vec<(String, serde_json::Value)> {
        let command = all_settings().mut_args(|arg| arg.env(None::<&str>));
        let command = file.map_or(command.clone(), |file| file.as_defaults(command));
        let matches = command.try_get_matches_from(["settings"]).unwrap();
        let effective = EffectiveSettings::from_matches(&matches, file);
        effective.settings().iter().map(|one| (one.key.clone(), one.value.clone())).collect()
    }

    #[test]
    fn the_values_in_the_default_file_are_the_defaults() {
        let file = ConfigFile::parse(Path::new("default.toml"), &uncommented()).unwrap();
        assert_eq!(values(Some(&file)), values(None));
    }

    #[test]
    fn the_default_file_sets_nothing() {
        let file = ConfigFile::parse(Path::new("default.toml"), &default_file()).unwrap();
        assert!(format!("{file:?}").contains("entries: []"), "{file:?}");
    }

    #[test]
    fn every_setting_is_in_the_default_file_once() {
        let text = default_file();
        for arg in all_settings().get_arguments() {
            let line = format!("\n#{} = ", arg.get_id());
            assert_eq!(text.matches(&line).count(), 1, "{line:?}");
        }
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
    }
}
