//! The commented default file, written from what clap knows of each setting.

use super::{all_settings, is_list, json_value};
use clap::Arg;
use std::fmt::Write as _;

const HEAD: &str = "\
# Settings of Store Orders, as TOML. Pass this file with --config or
# STORE_ORDERS_CONFIG; no file is read unasked. A flag goes before the
# environment, the environment before this file, and this file before the
# defaults, which are the values that stand here behind a #. Relative paths begin
# where the program is started.
";

/// How wide comments are.
const WIDTH: usize = 78;

/// The file with every setting in it, each with what it means and is by default.
pub fn default_file() -> String {
    let mut text = HEAD.to_string();
    for arg in all_settings().get_arguments() {
        text.push('\n');
        comment(&mut text, &meaning(arg));
        let also = format!(
            "Flag --{}, environment {}.",
            arg.get_long().unwrap_or_default(),
            arg.get_env().unwrap_or_default().to_string_lossy()
        );
        comment(&mut text, &also);
        // Writing to a text cannot fail.
        let _ = writeln!(text, "#{} = {}", arg.get_id(), example(arg));
    }
    text
}

fn meaning(arg: &Arg) -> String {
    let mut meaning =
        arg.get_long_help().or_else(|| arg.get_help()).map(ToString::to_string).unwrap_or_default();
    meaning.push('.');
    let words = arg.get_possible_values();
    if !words.is_empty() {
        let words: Vec<&str> = words.iter().map(|word| word.get_name()).collect();
        // Writing to a text cannot fail.
        let _ = write!(meaning, " One of {}.", words.join(", "));
    }
    if !is_list(arg) && arg.get_default_values().is_empty() {
        meaning.push_str(" Not set by default.");
    }
    meaning
}

/// The default, or what kind of value there is to be.
fn example(arg: &Arg) -> String {
    let values: Vec<String> = arg
        .get_default_values()
        .iter()
        .map(|value| json_value(&value.to_string_lossy()).to_string())
        .collect();
    match (is_list(arg), values.first()) {
        (true, _) => format!("[{}]", values.join(", ")),
        (false, Some(value)) => value.clone(),
        (false, None) => {
            let names = arg.get_value_names().unwrap_or_default();
            format!("{:?}", names.first().map(ToString::to_string).unwrap_or_default())
        }
    }
}

fn comment(text: &mut String, sentence: &str) {
    let mut line = "#".to_string();
    for word in sentence.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = "#".to_string();
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConfigFile, InForce};
    use std::path::Path;

    /// The file with every value in force, those that have no default left out.
    fn uncommented() -> String {
        let known = all_settings();
        let set = |key: &str| {
            let arg = known.get_arguments().find(|arg| arg.get_id() == key).unwrap();
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
        let in_force = InForce::of(&matches, file);
        in_force.settings().iter().map(|one| (one.key.clone(), one.value.clone())).collect()
    }

    #[test]
    fn the_default_file_says_what_is_in_force_without_it() {
        let file = ConfigFile::parse(Path::new("default.toml"), &uncommented()).unwrap();
        assert_eq!(values(Some(&file)), values(None));
    }

    #[test]
    fn as_it_is_printed_it_sets_nothing() {
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
