//! `keys`: issue, rotate, revoke, unban, find, list. Only `keys issue`, `keys rotate` and `demo`
//! print a whole key.

mod find;
mod shown;

use super::audit::{Change, record};
use super::listing::ListingArgs;
use super::options::Options;
use super::printer::Printer;
use super::values;
use super::waiting::with_notice;
use crate::api_key::Environment;
use crate::clock::{Clock, SystemClock};
use crate::store::{IssuedKey, NewKey, OperatorStore, Rotation};
use clap::Subcommand;
use find::{find, standard_input};
use serde::Serialize;
use shown::{COLUMNS, KeyJson, KeyState};
use std::time::Duration;

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  store-orders keys issue --account acme
  store-orders keys list")]
pub enum KeysCommand {
    /// Issue a key for an account; the key is shown only once
    #[command(after_help = "\
Examples:
  store-orders keys issue --account acme
  store-orders keys issue --account acme --label \"web shop\"
  store-orders keys issue --account acme --environment staging --expires 90d
  KEY=$(store-orders keys issue --account acme --json | jq -r .key)")]
    Issue {
        /// Account that the key is for: its name or id
        #[arg(long, value_name = "NAME")]
        account: String,
        /// Environment that the key is valid in
        #[arg(long, value_enum, default_value_t = Environment::Production)]
        environment: Environment,
        /// Lifetime of the key, such as 90d; by default the key is valid until it is revoked
        #[arg(long, value_name = "DURATION", value_parser = values::life)]
        expires: Option<Duration>,
        /// Name of the key in lists: 1 to 64 printable characters
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
    },
    /// Replace a key; the old one stays valid for the overlap
    #[command(after_help = "\
Examples:
  store-orders keys rotate key_4fQm0ZxW7yTb
  store-orders keys rotate key_4fQm0ZxW7yTb --overlap 7d")]
    Rotate {
        /// The id of the key to replace
        #[arg(value_name = "KEY_ID")]
        key_id: String,
        /// Time for which the old key stays valid, at most 7d. An earlier expiry of the old key
        /// still applies
        #[arg(
            long,
            value_name = "DURATION",
            value_parser = values::overlap,
            default_value = "24h"
        )]
        overlap: Duration,
        /// Name of the new key in lists; by default the same as the old key's
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
    },
    /// Revoke a key; a running server refuses it within a second
    #[command(after_help = "\
Example:
  store-orders keys revoke key_4fQm0ZxW7yTb")]
    Revoke {
        /// The id of the key, such as key_4fQm0ZxW7yTb; `keys list` shows it
        #[arg(value_name = "KEY_ID")]
        key_id: String,
    },
    /// Lift the ban of a key; running servers admit the key again within a second
    #[command(after_help = "\
Examples:
  store-orders keys list --state banned
  store-orders keys unban key_4fQm0ZxW7yTb")]
    Unban {
        /// The id of the key, such as key_4fQm0ZxW7yTb; `keys list` shows it
        #[arg(value_name = "KEY_ID")]
        key_id: String,
    },
    /// Show the id, account and state of a key
    ///
    /// The key is read from the first line of standard input, so that no argument contains it. The
    /// key is never printed. The exit status is 3 if the store has no such key.
    #[command(after_help = "\
Examples:
  store-orders keys find - < leaked-key
  store-orders keys find -       # then paste the key, and press Enter")]
    Find {
        /// Must be `-`, because the key is read from standard input
        #[arg(value_name = "-", value_parser = standard_input)]
        input: String,
    },
    /// List all keys that were ever issued, the oldest first
    #[command(after_help = "\
Examples:
  store-orders keys list
  store-orders keys list --account acme --state active --wide
  store-orders keys list --json")]
    List {
        /// List only the keys of this account, given by its name or id
        #[arg(long, value_name = "NAME")]
        account: Option<String>,
        /// List only keys in this state
        #[arg(long, value_enum)]
        state: Option<KeyState>,
        #[command(flatten)]
        table: ListingArgs,
    },
}

impl KeysCommand {
    pub(super) fn run(&self, options: &Options, printer: &mut Printer<'_>) -> anyhow::Result<()> {
        let store = options.open_store()?;
        let clock = SystemClock::start();
        let now_ms = clock.now().wall_ms();
        let record_key = |command, key| {
            record(&*store, Change { command, key: Some(key), ..Change::default() });
        };
        match self {
            KeysCommand::Issue { account, environment, expires, label } => {
                let account = &store.resolve_account(account)?;
                let new = NewKey {
                    account,
                    environment: *environment,
                    expires_after: *expires,
                    label: label.as_deref(),
                };
                let issued = with_notice(|_| store.issue_key(&new, now_ms))?;
                let key = Some(&*issued.id);
                let name = Some(&**account);
                record(&*store, Change { command: "keys issue", key, name, ..Change::default() });
                show_once(&*store, &issued, &clock, printer)?;
                store.await_servers();
                Ok(())
            }
            KeysCommand::Rotate { key_id, overlap, label } => {
                let rotation = Rotation { key_id, overlap: *overlap, label: label.as_deref() };
                let issued = with_notice(|_| store.rotate_key(rotation, now_ms))?;
                let (key, successor) = (Some(&**key_id), Some(&*issued.id));
                let change = Change { command: "keys rotate", key, ..Change::default() };
                record(&*store, Change { successor, ..change });
                show_once(&*store, &issued, &clock, printer)?;
                store.await_servers();
                Ok(())
            }
            KeysCommand::Revoke { key_id } => {
                with_notice(|_| store.revoke_key(key_id, now_ms))?;
                record_key("keys revoke", key_id);
                show_changed(&*store, key_id, "revoked", &clock, printer)
            }
            KeysCommand::Unban { key_id } => {
                with_notice(|_| store.unban_key(key_id))?;
                record_key("keys unban", key_id);
                show_changed(&*store, key_id, "unbanned", &clock, printer)
            }
            KeysCommand::Find { .. } => find(&*store, &clock, printer),
            KeysCommand::List { account, state, table } => {
                let account =
                    account.as_ref().map(|name| store.resolve_account(name)).transpose()?;
                list(&*store, &clock, account, *state, table.wide, printer)
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error(
    "{id} was issued, but it could not be shown, and it cannot be shown again; revoke it with \
     `store-orders keys revoke {id}`"
)]
struct KeyNotShown {
    id: String,
    source: std::io::Error,
}

/// The JSON output of `keys issue` and `keys rotate`. No other JSON output contains the key itself.
#[derive(Serialize)]
struct IssuedJson<'a> {
    key: &'a str,
    #[serde(flatten)]
    rest: IssuedRest<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum IssuedRest<'a> {
    Record(Box<KeyJson>),
    /// The record of the issued key cannot be read, so the JSON output has only the key and the
    /// key's id. Also used for text output, which never shows the record.
    Id {
        id: &'a str,
    },
}

fn show_once(
    store: &dyn OperatorStore,
    issued: &IssuedKey,
    clock: &SystemClock,
    printer: &mut Printer<'_>,
) -> anyhow::Result<()> {
    let (id, key) = (&issued.id, issued.key.expose());
    let text = format!("id   {id}\nkey  {key}\nCopy this key now; it is not shown again.");
    let rest = match printer.is_json().then(|| store.key_of_id(id)) {
        Some(Ok(record)) => IssuedRest::Record(Box::new(KeyJson::new(record, clock.now()))),
        _ => IssuedRest::Id { id },
    };
    printer
        .show(&IssuedJson { key, rest }, text)
        .and_then(|()| printer.flush())
        .map_err(|source| KeyNotShown { id: id.clone(), source }.into())
}

/// Shows a key that was changed. `done` is the participle for the message, such as "revoked".
fn show_changed(
    store: &dyn OperatorStore,
    key_id: &str,
    done: &str,
    clock: &SystemClock,
    printer: &mut Printer<'_>,
) -> anyhow::Result<()> {
    if !printer.is_json() {
        return Ok(printer.show(&(), format_args!("{done} {key_id}"))?);
    }
    Ok(printer.show(&KeyJson::new(store.key_of_id(key_id)?, clock.now()), "")?)
}

fn list(
    store: &dyn OperatorStore,
    clock: &SystemClock,
    account: Option<String>,
    state: Option<KeyState>,
    wide: bool,
    printer: &mut Printer<'_>,
) -> anyhow::Result<()> {
    let now = clock.now();
    let mut records = store.key_records()?;
    records.retain(|record| account.as_ref().is_none_or(|name| *record.account.name == **name));
    let mut listing = printer.listing(COLUMNS.to_vec(), wide);
    for record in records {
        let key = KeyJson::new(record, now);
        if state.is_some_and(|state| key.state != state) {
            continue;
        }
        listing.add(&key)?;
    }
    Ok(listing.finish()?)
}
