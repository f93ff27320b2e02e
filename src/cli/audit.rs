//! The audit log: one line for each change that a command has made, with the user who made it.
//!
//! The line is written after the change, when it is certain which rows changed. If the line cannot
//! be written, the command only warns, because the change cannot be rolled back.

use super::failure::without_secrets;
use super::printer::warn;
use crate::log::ErrorChain;
use crate::store::{OperatorStore, StoreError};
use chrono::{DateTime, SubsecRound, Utc};
use serde::Serialize;
use store_orders_api::types::utc_text;

/// The fields of a line of the audit log, except `time` and `user`.
#[derive(Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change<'a> {
    /// The command, such as `keys revoke`, without the names and ids that it was given.
    pub command: &'a str,
    #[serde(skip_serializing_if = "<[i64]>::is_empty")]
    pub orders: &'a [i64],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<i64>,
    /// The account's name after the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// The key's id, never the key itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<&'a str>,
    /// The id of the key that replaced `key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successor: Option<&'a str>,
    /// The path of the imported or restored file, as the operator wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<&'a str>,
    /// The ids of the first and the last record in one step of an import.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<(i64, i64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
}

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    user: String,
    #[serde(flatten)]
    change: Change<'a>,
}

/// Appends a change to the store's audit log. The change is already made, so a failure to append it
/// causes only a warning.
pub fn record(store: &dyn OperatorStore, change: Change<'_>) {
    warn_of_failure(append(store, change), change);
}

/// Appends a change to the audit log of a store that the caller opened only for this append. If
/// opening or appending fails, only warns.
pub fn record_in(opened: Result<impl OperatorStore, StoreError>, change: Change<'_>) {
    warn_of_failure(opened.and_then(|store| append(&store, change)), change);
}

fn append(store: &dyn OperatorStore, change: Change<'_>) -> Result<(), StoreError> {
    let time: DateTime<Utc> = Utc::now().trunc_subsecs(3);
    let line = Line { time: utc_text(&time), user: operator(), change };
    let text = serde_json::to_string(&line).unwrap_or_default();
    store.append_to_audit_log(&without_secrets(&text))
}

fn warn_of_failure(appended: Result<(), StoreError>, Change { command, .. }: Change<'_>) {
    if let Err(error) = appended {
        warn(format_args!("the audit log lacks this {command}: {}", ErrorChain(&error)));
    }
}

/// Returns the name of the user who runs this command. For root, prefers the user who called sudo.
/// If `/etc/passwd` does not have the user, returns the user's number.
pub fn operator() -> String {
    let user = rustix::process::getuid();
    let caller = std::env::var("SUDO_USER").ok().filter(|_| user.is_root());
    let is_name = |name: &String| !name.is_empty() && name.chars().all(|it| it.is_ascii_graphic());
    caller.filter(is_name).unwrap_or_else(|| {
        let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        user_name(&users, user.as_raw()).unwrap_or_else(|| user.as_raw().to_string())
    })
}

/// Finds the user with the id `number` in `users`, the content of a file in the format of
/// passwd(5).
fn user_name(users: &str, number: u32) -> Option<String> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, found) = (fields.next()?, fields.nth(1)?);
        (found.parse() == Ok(number)).then(|| name.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_number() {
        let users = "root:x:0:0:root:/root:/bin/bash\n\nbroken\nalice:x:1000:1000::/home/alice:\n";
        assert_eq!(user_name(users, 1_000).as_deref(), Some("alice"));
        assert_eq!(user_name(users, 0).as_deref(), Some("root"));
        assert_eq!(user_name(users, 7), None);
    }
}
