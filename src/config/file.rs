//! The configuration file: read, checked key by key, handed to clap.

use super::{Unusable, all_settings, is_group_of_settings, is_list, problem};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};
use std::error::Error as _;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A file whose keys are settings and whose values their parsers take.
#[derive(Debug)]
pub struct ConfigFile {
    path: PathBuf,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    key: String,
    line: usize,
    values: Vec<String>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// Counted from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

impl ConfigFile {
    /// Reads and checks a file. All that is wrong with it is said at once.
    pub fn read(path: &Path) -> Result<ConfigFile, Unusable> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Unusable::one(path.display(), format!("cannot be read: {error}")))?;
        ConfigFile::parse(path, &text)
    }

    /// The same for a text that was read already.
    pub fn parse(path: &Path, text: &str) -> Result<ConfigFile, Unusable> {
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut problems: Vec<String> = errors
            .iter()
            .map(|error| {
                let at = error.span().unwrap_or_default().start;
                problem(at_key(path, text, at, key_near(text, at)), error.message())
            })
            .collect();
        let mut entries = Vec::new();
        if problems.is_empty() {
            let known = all_settings();
            for (key, value) in table.get_ref() {
                match checked(&known, key.get_ref(), value) {
                    Ok(values) => entries.push(Entry {
                        key: key.get_ref().to_string(),
                        line: line_of(text, key.span().start),
                        values,
                    }),
                    Err((why, span)) => {
                        let at = span.unwrap_or_else(|| key.span()).start;
                        problems.push(problem(at_key(path, text, at, key.get_ref()), why));
                    }
                }
            }
        }
        if problems.is_empty() {
            Ok(ConfigFile { path: path.to_path_buf(), entries })
        } else {
            Err(Unusable(problems))
        }
    }

    /// The line on which a setting stands, if it does.
    pub(super) fn place_of(&self, key: &str) -> Option<Place> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(Place { file: self.path.clone(), line: entry.line })
    }

    /// The command line with this file's values as its defaults, wherever it
    /// takes settings.
    pub fn as_defaults(&self, command: Command) -> Command {
        let ids: Vec<String> = command
            .get_groups()
            .filter(|group| is_group_of_settings(group.get_id().as_str()))
            .flat_map(|group| group.get_args().map(ToString::to_string))
            .collect();
        let entries = self.entries.iter().filter(|entry| ids.contains(&entry.key));
        entries
            .fold(command, |command, entry| {
                command.mut_arg(&entry.key, |arg| arg.default_values(&entry.values))
            })
            .mut_subcommands(|command| self.as_defaults(command))
    }
}

/// Why a value cannot be used, and where it is if that is not where its key is.
type Refusal = (String, Option<Range<usize>>);

/// The texts of a value that its setting takes.
fn checked(
    known: &Command,
    key: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<Vec<String>, Refusal> {
    let Some(arg) = known.get_arguments().find(|arg| arg.get_id() == key) else {
        return Err((unknown(known, key), None));
    };
    let values: Vec<&Spanned<DeValue<'_>>> = match (value.get_ref(), is_list(arg)) {
        (DeValue::Array(values), true) => values.iter().collect(),
        (_, true) => return Err(("a list is needed: [\"...\", ...]".to_string(), None)),
        (_, false) => vec![value],
    };
    values
        .into_iter()
        .map(|value| {
            let text = text_of(value.get_ref()).map_err(|why| (why, Some(value.span())))?;
            accepted(known, arg, &text).map_err(|why| (why, Some(value.span())))?;
            Ok(text)
        })
        .collect()
}

fn text_of(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Boolean(truth) => Ok(truth.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_string()),
        _ => Err(format!("{} does not belong here", value.type_str())),
    }
}

/// Asks clap, as if the value stood on the command line.
fn accepted(known: &Command, arg: &Arg, text: &str) -> Result<(), String> {
    let Some(flag) = arg.get_long() else { return Ok(()) };
    let Err(error) = asked(known, &format!("--{flag}={text}")) else { return Ok(()) };
    let why = match (error.source(), error.get(ContextKind::ValidValue)) {
        (Some(cause), _) => cause.to_string(),
        (None, Some(ContextValue::Strings(words))) => format!("it is one of {}", words.join(", ")),
        _ => error.kind().to_string(),
    };
    Err(format!("invalid value {text:?}: {why}"))
}

/// The setting of a name like this, if there is one, is what was meant.
fn unknown(known: &Command, key: &str) -> String {
    let flag = format!("--{}", key.replace('_', "-"));
    let meant = asked(known, &flag).err().and_then(|error| {
        let Some(ContextValue::String(flag)) = error.get(ContextKind::SuggestedArg) else {
            return None;
        };
        let flag = flag.trim_start_matches('-');
        let arg = known.get_arguments().find(|arg| arg.get_long() == Some(flag))?;
        Some(format!("; {} is one", arg.get_id()))
    });
    format!("there is no such setting{}", meant.unwrap_or_default())
}

/// What clap says to this one flag, whatever the environment holds.
fn asked(known: &Command, flag: &str) -> Result<clap::ArgMatches, clap::Error> {
    known
        .clone()
        .no_binary_name(true)
        .mut_args(|arg| arg.env(None::<&str>))
        .try_get_matches_from([flag])
}

/// Checks the variables of settings that are set. Clap checks them too, but its
/// error names the flag, which is not where to look.
pub fn check_environment() -> Result<(), Unusable> {
    let known = all_settings();
    let problems: Vec<String> = known
        .get_arguments()
        .filter_map(|arg| {
            let variable = arg.get_env()?;
            let text = std::env::var_os(variable)?;
            let why = accepted(&known, arg, &text.to_string_lossy()).err()?;
            Some(problem(variable.display(), why))
        })
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(Unusable(problems)) }
}

fn at_key(path: &Path, text: &str, at: usize, key: &str) -> String {
    let place = Place { file: path.to_path_buf(), line: line_of(text, at) };
    if key.is_empty() { place.to_string() } else { format!("{place}: {key}") }
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

/// What stands before the equals sign on the line of an error of syntax.
fn key_near(text: &str, at: usize) -> &str {
    let line = text.lines().nth(line_of(text, at) - 1).unwrap_or_default();
    line.split_once('=').map_or("", |(key, _)| key.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        ConfigFile::parse(Path::new("a.toml"), text).unwrap_err().0
    }

    #[test]
    fn each_problem_names_file_line_and_key() {
        let text = "# a comment\n\nlisten = \"here\"\nliste = \"127.0.0.1:1\"\nlog_level = true\n\
                    trusted_proxies = [\n  \"10.0.0.0/8\",\n  \"10.0.0.0/99\",\n]\n";
        let problems = problems(text);
        let begin = |begin: &str| {
            assert!(problems.iter().any(|line| line.starts_with(begin)), "{begin}: {problems:#?}");
        };
        begin("a.toml:3: listen: invalid value \"here\": invalid socket address");
        begin("a.toml:4: liste: there is no such setting; listen is one");
        begin("a.toml:5: log_level: invalid value \"true\": it is one of off, error,");
        begin("a.toml:8: trusted_proxies: invalid value \"10.0.0.0/99\"");
        assert_eq!(problems.len(), 4, "{problems:#?}");
    }

    #[test]
    fn what_is_no_toml_is_named_too() {
        let twice = problems("listen = \"127.0.0.1:1\"\nlisten = \"127.0.0.1:2\"\n");
        assert!(twice[0].starts_with("a.toml:2: listen: duplicate key"), "{twice:?}");
        let open = problems("data_dir = \"/tmp\nlisten = 1\n");
        assert!(open[0].starts_with("a.toml:1: data_dir: "), "{open:?}");
        let other = problems("[serve]\nlisten = \"127.0.0.1:2\"\n");
        assert!(other[0].starts_with("a.toml:1: serve: there is no such setting"), "{other:?}");
        assert!(problems("listen = 1979-05-27\n")[0].contains("datetime does not belong here"));
        assert!(problems("trusted_proxies = \"10.0.0.0/8\"\n")[0].contains("a list is needed"));
    }

    #[test]
    fn what_does_not_exist_is_said() {
        let error = ConfigFile::read(Path::new("/nonexistent/a.toml")).unwrap_err().to_string();
        assert!(error.starts_with("/nonexistent/a.toml: cannot be read: No such file"), "{error}");
    }
}
