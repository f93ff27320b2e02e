//! Renamed settings. Their old names work until version 2, each with a warning.

use super::ConfigFile;
use std::ffi::OsString;
use std::fmt;

/// The old and the new key of each renamed setting. Flags and variables are named like the keys.
const RENAMED: [(&str, &str); 3] = [
    ("keyless_per_minute", "unauthenticated_per_minute"),
    ("stalled_after", "client_stall_timeout"),
    ("stop_within", "shutdown_timeout"),
];

/// An old name that a command line, the environment or a file uses.
#[derive(Clone, Debug)]
pub struct OldName {
    /// The flag, the variable, or "file:line: key".
    pub old: String,
    /// The new flag, variable or key.
    pub new: String,
}

impl fmt::Display for OldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is now {}", self.old, self.new)
    }
}

/// Returns the new key of a renamed setting.
pub fn new_key(old: &str) -> Option<&'static str> {
    RENAMED.iter().find(|renamed| renamed.0 == old).map(|renamed| renamed.1)
}

/// Returns the old key of a renamed setting.
pub fn old_key(new: &str) -> Option<&'static str> {
    RENAMED.iter().find(|renamed| renamed.1 == new).map(|renamed| renamed.0)
}

/// Returns the name of a setting's flag, without hyphens in front.
pub fn flag(key: &str) -> String {
    key.replace('_', "-")
}

/// Returns the name of a setting's variable.
pub fn variable(key: &str) -> String {
    format!("STORE_ORDERS_{}", key.to_uppercase())
}

/// Returns true if the variable is set. An empty variable counts as unset.
pub fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}

/// Lists the old names in a valid command line, in the environment and in the file.
pub fn old_names(arguments: &[OsString], file: Option<&ConfigFile>) -> Vec<OldName> {
    // Flags can be found without parsing, because no option takes a value that begins with a
    // hyphen.
    let options = arguments.iter().take_while(|argument| *argument != "--");
    let options: Vec<_> = options.map(|argument| argument.to_string_lossy()).collect();
    let is_given = |flag: &str| options.iter().any(|option| option.split('=').next() == Some(flag));
    let flags = RENAMED.map(|(old, new)| [old, new].map(|key| format!("--{}", flag(key))));
    let variables = RENAMED.map(|(old, new)| [old, new].map(variable));
    let flags = flags.into_iter().filter(|[old, _]| is_given(old));
    let variables = variables.into_iter().filter(|[old, _]| is_set(old));
    let named = flags.chain(variables).map(|[old, new]| OldName { old, new });
    named.chain(file.into_iter().flat_map(ConfigFile::old_names).cloned()).collect()
}
