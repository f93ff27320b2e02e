//! How the parts and the passwords of a store's URL are read and shown.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

/// A part with its percent-encoding undone.
pub fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Shows the user with an `@`, and a password as `***`; nothing if there is neither.
pub fn write_user(
    f: &mut fmt::Formatter<'_>,
    user: Option<&str>,
    has_password: bool,
) -> fmt::Result {
    let password = if has_password { ":***" } else { "" };
    if user.is_some() || has_password {
        write!(f, "{}{password}@", user.unwrap_or_default())?;
    }
    Ok(())
}

/// Shows the parameters that have a value, with their `?`; nothing if none has.
pub fn write_parameters<T: Display>(
    f: &mut fmt::Formatter<'_>,
    parameters: impl IntoIterator<Item = (&'static str, Option<T>)>,
) -> fmt::Result {
    let given = parameters.into_iter().filter_map(|(name, value)| Some((name, value?)));
    for (number, (name, value)) in given.enumerate() {
        let separator = if number == 0 { '?' } else { '&' };
        write!(f, "{separator}{name}={value}")?;
    }
    Ok(())
}

/// A file as a parameter's value.
pub fn file_text(file: Option<&PathBuf>) -> Option<String> {
    file.map(|file| file.display().to_string())
}

/// The password in a file, which may end with a line break. Blocks.
pub fn read_password(file: &Path) -> std::io::Result<String> {
    let text = std::fs::read_to_string(file)?;
    Ok(text.trim_end_matches(['\r', '\n']).to_string())
}
