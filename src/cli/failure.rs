//! Failures of commands, as JSON and as exit statuses.

use super::printer::Printer;
use super::serve::EndedBySignal;
use crate::api_key::without_keys;
use crate::config::{InvalidSettings, without_passwords};
use crate::store::StoreError;
use serde::Serialize;
use serde_json::json;
use std::io;

#[derive(Serialize)]
pub struct Failure {
    /// The kind of failure, as a fixed word that programs can compare.
    pub code: FailureCode,
    /// The message for people, without keys and passwords.
    pub message: String,
}

/// The `code` of a failure in JSON. The code also decides the exit status, unless a signal ended
/// the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    InvalidCommandLine,
    /// A setting in the settings file or the environment is invalid, settings contradict each
    /// other, or the server cannot use a setting.
    InvalidSettings,
    /// The order, account or key that the command names does not exist.
    NotFound,
    /// The store does not exist, or cannot be reached, opened, read or written.
    StoreUnavailable,
    Interrupted,
    Failed,
}

impl Failure {
    /// Classifies the error of a command, and removes keys and passwords from its message.
    pub fn from_error(error: &anyhow::Error) -> Failure {
        Failure {
            code: FailureCode::from_error(error),
            message: without_secrets(&format!("{error:#}")),
        }
    }

    /// Prints the failure as JSON if the command has `--json` and has not begun to print a record.
    /// Standard error shows every failure, because the caller also returns the error.
    pub fn show(&self, printer: &mut Printer<'_>) -> io::Result<()> {
        if printer.is_json() && !printer.has_shown() {
            printer.show(&json!({ "error": self }), "")?;
            printer.flush()?;
        }
        Ok(())
    }
}

/// Removes keys and passwords from a message, because a user may have put them in the wrong place.
pub fn without_secrets(text: &str) -> String {
    without_passwords(&without_keys(text))
}

impl FailureCode {
    fn from_error(error: &anyhow::Error) -> FailureCode {
        if error.downcast_ref::<EndedBySignal>().is_some() {
            return FailureCode::Interrupted;
        }
        if error.downcast_ref::<InvalidSettings>().is_some() {
            return FailureCode::InvalidSettings;
        }
        let store = error.chain().find_map(|cause| cause.downcast_ref::<StoreError>());
        match store {
            Some(StoreError::NotFound(_)) => FailureCode::NotFound,
            Some(
                StoreError::NoStore(_)
                | StoreError::NotAStore { .. }
                | StoreError::Newer { .. }
                | StoreError::Unusable(_)
                | StoreError::Directory { .. }
                | StoreError::Damaged(_)
                | StoreError::Engine { .. },
            ) => FailureCode::StoreUnavailable,
            Some(StoreError::Refused(_) | StoreError::Unconfirmed | StoreError::File { .. })
            | None => FailureCode::Failed,
        }
    }

    /// Returns the exit status. If a signal ended the command, `EndedBySignal` contains the exit
    /// status instead.
    pub fn status(self) -> u8 {
        match self {
            FailureCode::InvalidCommandLine => 2,
            FailureCode::NotFound => 3,
            FailureCode::StoreUnavailable => 4,
            FailureCode::InvalidSettings | FailureCode::Interrupted | FailureCode::Failed => 1,
        }
    }
}
