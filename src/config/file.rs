//! Reads the configuration file, checks its settings, and passes their values to clap as defaults.

use super::InvalidSettings;
use super::settings::{all_settings, is_list, may_hold_password, with_set_variables};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};
use std::error::Error as _;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

#[derive(Debug)]
pub struct ConfigFile {
    entries: Vec<FileEntry>,
}

#[derive(Debug)]
struct FileEntry {
    key: String,
    /// The "file:line" of the entry.
    line: String,
    values: Vec<String>,
}

impl ConfigFile {
    /// Reads and checks a file. The error names every syntax error or, if there are none, every
    /// invalid setting.
    pub fn read(path: &Path) -> Result<ConfigFile, InvalidSettings> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            InvalidSettings(vec![format!("{}: cannot be read: {error}", path.display())])
        })?;
        ConfigFile::parse(path, &text)
    }

    /// Parses and checks the content of a file. `path` is used only in messages.
    pub fn parse(path: &Path, text: &str) -> Result<ConfigFile, InvalidSettings> {
        let line_at = |offset| format!("{}:{}", path.display(), line_number(text, offset));
        let (table, errors) = DeTable::parse_recoverable(text);
        let syntax_errors = errors.iter().map(|error| {
            let offset = error.span().unwrap_or_default().start;
            format!("{}: {}{}", line_at(offset), key_near(text, offset), error.message())
        });
        InvalidSettings::check(syntax_errors.collect())?;
        let settings = all_settings();
        let (mut entries, mut problems) = (Vec::new(), Vec::new());
        for (key, value) in table.get_ref() {
            let (line, key) = (line_at(key.span().start), key.get_ref().to_string());
            match settings.get_arguments().find(|arg| arg.get_id() == &*key) {
                None => {
                    problems.push(format!("{line}: {key}: {}", describe_unknown(&settings, &key)))
                }
                Some(arg) => match flag_values(&settings, arg, value) {
                    Ok(values) => entries.push(FileEntry { key, line, values }),
                    Err((at, why)) => problems.push(format!("{}: {key}: {why}", line_at(at))),
                },
            }
        }
        InvalidSettings::check(problems)?;
        Ok(ConfigFile { entries })
    }

    pub(super) fn line_of(&self, key: &str) -> Option<&str> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &*entry.line)
    }

    pub fn as_defaults(&self, mut command: Command) -> Command {
        for FileEntry { key, values, .. } in &self.entries {
            // An argument without an environment variable is not a setting, even if its name is a
            // key of the file. For example, `--environment` of `keys issue` keeps its own default.
            let is_setting = |arg: &Arg| arg.get_id() == key && arg.get_env().is_some();
            if command.get_arguments().any(is_setting) {
                command = command.mut_arg(key, |arg| arg.default_values(values));
            }
        }
        command.mut_subcommands(|subcommand| self.as_defaults(subcommand))
    }
}

/// Converts a TOML value to the strings that the setting's flag accepts. An error consists of an
/// offset in the file and a reason.
fn flag_values(
    settings: &Command,
    arg: &Arg,
    value: &Spanned<DeValue<'_>>,
) -> Result<Vec<String>, (usize, String)> {
    let elements: Vec<&Spanned<DeValue<'_>>> = match (value.get_ref(), is_list(arg)) {
        (DeValue::Array(elements), true) => elements.iter().collect(),
        (_, true) => return Err((value.span().start, "must be a list: [\"...\", ...]".into())),
        (_, false) => vec![value],
    };
    let checked = |element: &Spanned<DeValue<'_>>| {
        let text = match element.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Boolean(value) => Ok(value.to_string()),
            DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_string()),
            other => Err(format!("{} is not allowed here", other.type_str())),
        };
        text.and_then(|text| check_value(settings, arg, text))
            .map_err(|why| (element.span().start, why))
    };
    elements.into_iter().map(checked).collect()
}

/// Checks a value as if it were on the command line.
fn check_value(settings: &Command, arg: &Arg, text: String) -> Result<String, String> {
    let flag = arg.get_long().unwrap_or_default();
    let Err(error) = parse_flag(settings, &format!("--{flag}={text}")) else { return Ok(text) };
    let shown = if may_hold_password(arg) { "***" } else { &text };
    Err(format!("invalid value {shown:?}: {}", why_invalid(&error)))
}

/// Returns the reason why a value was refused: the error of the value's parser, the allowed values,
/// or clap's kind of error. The text can quote a part of the value, such as an unknown unit of
/// time.
pub fn why_invalid(error: &clap::Error) -> String {
    match (error.source(), error.get(ContextKind::ValidValue)) {
        (Some(cause), _) => cause.to_string(),
        // clap reports an empty path as a missing value, with an empty list of valid values.
        (None, Some(ContextValue::Strings(words))) if words.is_empty() => {
            "it is empty; leave the setting out for its default".to_string()
        }
        (None, Some(ContextValue::Strings(words))) => {
            format!("must be one of {}", words.join(", "))
        }
        _ => error.kind().to_string(),
    }
}

fn describe_unknown(settings: &Command, key: &str) -> String {
    match find_similar(settings, key) {
        Some(arg) => format!("unknown setting; did you mean {}?", arg.get_id()),
        None => "unknown setting".to_string(),
    }
}

/// Finds a setting whose key or flag is almost the same as `key`.
fn find_similar<'c>(settings: &'c Command, key: &str) -> Option<&'c Arg> {
    let flag = key.to_lowercase().replace('_', "-");
    let find_named = |flag: &str| {
        let is_key = |arg: &Arg| arg.get_id().as_str().replace('_', "-") == flag;
        let is_named = |arg: &Arg| arg.get_long() == Some(flag) || is_key(arg);
        settings.get_arguments().find(|arg| is_named(arg))
    };
    find_named(&flag).or_else(|| {
        match parse_flag(settings, &format!("--{flag}")).err()?.get(ContextKind::SuggestedArg) {
            Some(ContextValue::String(flag)) => find_named(flag.strip_prefix("--")?),
            _ => None,
        }
    })
}

/// Returns the names of the environment variables that begin with `STORE_ORDERS_` but are not
/// settings, or `None` if there are none. Ignores empty variables. Each name that resembles a
/// setting comes with a suggestion.
pub fn unknown_variables() -> Option<String> {
    let settings = all_settings();
    let unknown = |name: String| {
        let key = name.strip_prefix("STORE_ORDERS_").filter(|key| *key != "CONFIG")?;
        // Skip the variables that Kubernetes sets for a service named store-orders or
        // store-orders-admin. Examples are STORE_ORDERS_SERVICE_HOST, STORE_ORDERS_PORT,
        // STORE_ORDERS_PORT_8080_TCP_ADDR and STORE_ORDERS_ADMIN_PORT.
        if key.split('_').any(|word| word == "SERVICE" || word == "PORT") {
            return None;
        }
        if settings.get_arguments().any(|arg| arg.get_env() == Some(name.as_ref())) {
            return None;
        }
        let meant = find_similar(&settings, key).and_then(Arg::get_env);
        let meant = meant.map(|meant| format!(" (did you mean {}?)", meant.display()));
        Some(format!("{name}{}", meant.unwrap_or_default()))
    };
    let set = std::env::vars_os().filter(|(_, value)| !value.is_empty());
    let names = set.map(|(name, _)| name.to_string_lossy().into_owned());
    let mut unknown: Vec<String> = names.filter_map(unknown).collect();
    unknown.sort();
    (!unknown.is_empty()).then(|| unknown.join(", "))
}

fn parse_flag(settings: &Command, flag: &str) -> Result<clap::ArgMatches, clap::Error> {
    let command = settings.clone().no_binary_name(true).mut_args(|arg| arg.env(None::<&str>));
    command.try_get_matches_from([flag])
}

/// Checks the environment variables of all settings. Clap checks them too, but its error names the
/// flag instead of the variable.
pub fn check_environment() -> Result<(), InvalidSettings> {
    let settings = with_set_variables(all_settings());
    let problems = settings.get_arguments().filter_map(|arg| {
        let variable = arg.get_env()?;
        let text = std::env::var_os(variable)?;
        let why = check_value(&settings, arg, text.to_string_lossy().into_owned()).err()?;
        Some(format!("{}: {why}", variable.display()))
    });
    InvalidSettings::check(problems.collect())
}

fn line_number(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

/// Returns the key on the line of a syntax error, followed by a colon. If the text before the `=`
/// is not a key, returns an empty string, because that text may contain a password.
fn key_near(text: &str, offset: usize) -> String {
    let line = text.lines().nth(line_number(text, offset) - 1).unwrap_or_default();
    let is_key =
        |key: &&str| key.chars().all(|char| char.is_ascii_alphanumeric() || "_-".contains(char));
    let key = line.split_once('=').map(|(key, _)| key.trim()).filter(is_key);
    key.map_or(String::new(), |key| format!("{key}: "))
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
        begin("a.toml:3: listen: invalid value \"here\": no port; write HOST:PORT");
        begin("a.toml:4: liste: unknown setting; did you mean listen?");
        begin("a.toml:5: log_level: invalid value \"true\": must be one of off, error,");
        begin("a.toml:8: trusted_proxies: invalid value \"10.0.0.0/99\"");
        assert_eq!(problems.len(), 4, "{problems:#?}");
    }

    #[test]
    fn a_key_like_its_flag_or_variable_gets_a_suggestion() {
        for (key, meant) in [
            ("tls-cert", "tls_cert"),
            ("trusted-proxy", "trusted_proxies"),
            ("trusted-proxies", "trusted_proxies"),
            ("SHUTDOWN_TIMEOUT", "shutdown_timeout"),
            ("tls-crt", "tls_cert"),
        ] {
            let errors = problems(&format!("{key} = \"x\"\n"));
            let expected = format!("a.toml:1: {key}: unknown setting; did you mean {meant}?");
            assert_eq!(errors, [expected]);
        }
        assert_eq!(problems("colour = 1\n"), ["a.toml:1: colour: unknown setting"]);
    }

    #[test]
    fn syntax_errors_are_named_too() {
        let twice = problems("listen = \"127.0.0.1:1\"\nlisten = \"127.0.0.1:2\"\n");
        assert!(twice[0].starts_with("a.toml:2: listen: duplicate key"), "{twice:?}");
        let open = problems("data_dir = \"/tmp\nlisten = 1\n");
        assert!(open[0].starts_with("a.toml:1: data_dir: "), "{open:?}");
        let unquoted = problems("store: postgres://u:se=cret@h/d\n");
        assert!(!unquoted.concat().contains("u:se"), "{unquoted:?}");
        let other = problems("[serve]\nlisten = \"127.0.0.1:2\"\n");
        assert!(other[0].starts_with("a.toml:1: serve: unknown setting"), "{other:?}");
        assert!(problems("listen = 1979-05-27\n")[0].contains("datetime is not allowed here"));
        assert!(problems("trusted_proxies = \"10.0.0.0/8\"\n")[0].contains("must be a list"));
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = ConfigFile::read(Path::new("/nonexistent/a.toml")).unwrap_err().to_string();
        assert!(error.starts_with("/nonexistent/a.toml: cannot be read: No such file"), "{error}");
    }
}
