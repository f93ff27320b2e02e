//! `keys`: issue, rotate, revoke, unban, list. The only code that prints a whole key.

use super::options::Options;
use super::printer::Printer;
use super::table::Column;
use super::timestamp::{rfc3339, rfc3339_after};
use super::values;
use crate::clock::{Clock, Now, SystemClock};
use crate::keys::Environment;
use crate::limits::Ban;
use crate::store::{IssuedKey, KeyRecord, NewKey, OperatorStore, Rotation};
use anyhow::Context;
use clap::Subcommand;
use serde::Serialize;
use serde_json::json;
use std::collections::HashMap;
use std::time::Duration;

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  store-orders keys issue --account acme
  store-orders keys list")]
pub enum KeysCommand {
    /// Issue a key for an account; it is shown only once
    #[command(after_help = "\
Examples:
  store-orders keys issue --account acme
  store-orders keys issue --account acme --environment staging --expires 90d
  KEY=$(store-orders keys issue --account acme --json | jq -r .key)")]
    Issue {
        /// The account that the key is for
        #[arg(long, value_name = "NAME")]
        account: String,
        /// Environment it is valid in
        #[arg(long, value_enum, default_value_t = Environment::Production)]
        environment: Environment,
        /// How long it is valid, such as 90d; by default until it is revoked
        #[arg(long, value_name = "DURATION", value_parser = values::life)]
        expires: Option<Duration>,
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
        /// How long the old key stays valid, at most 7d
        #[arg(
            long,
            value_name = "DURATION",
            value_parser = values::overlap,
            default_value = "24h"
        )]
        overlap: Duration,
    },
    /// Revoke a key; a running server refuses it within a second
    #[command(after_help = "\
Example:
  store-orders keys revoke key_4fQm0ZxW7yTb")]
    Revoke {
        /// The id of the key
        #[arg(value_name = "KEY_ID")]
        key_id: String,
    },
    /// Lift the ban of a key; a running server admits it again within a second
    #[command(after_help = "\
Example:
  store-orders keys list
  store-orders keys unban key_4fQm0ZxW7yTb")]
    Unban {
        /// The id of the key
        #[arg(value_name = "KEY_ID")]
        key_id: String,
    },
    /// List all keys that were ever issued, by id, with the end of a ban
    #[command(after_help = "\
Example:
  store-orders keys list --json")]
    List,
}

impl KeysCommand {
    pub(super) fn run(&self, options: &Options, printer: &mut Printer<'_>) -> anyhow::Result<()> {
        let store = options.open_store()?;
        let clock = SystemClock::start();
        let now_ms = clock.now().wall_ms();
        match self {
            KeysCommand::Issue { account, environment, expires } => {
                let new = NewKey { account, environment: *environment, expires_after: *expires };
                show_once(&store.issue_key(&new, now_ms)?, printer)
            }
            KeysCommand::Rotate { key_id, overlap } => {
                let rotation = Rotation { key_id, overlap: *overlap };
                show_once(&store.rotate_key(rotation, now_ms)?, printer)
            }
            KeysCommand::Revoke { key_id } => {
                store.revoke_key(key_id, now_ms)?;
                Ok(printer.show(&json!({ "revoked": key_id }), format_args!("revoked {key_id}"))?)
            }
            KeysCommand::Unban { key_id } => {
                store.unban_key(key_id, now_ms)?;
                Ok(printer
                    .show(&json!({ "unbanned": key_id }), format_args!("unbanned {key_id}"))?)
            }
            KeysCommand::List => list(options, &*store, &clock, printer),
        }
    }
}

/// A key that was issued and could not be shown.
#[derive(Debug, thiserror::Error)]
#[error(
    "{id} was issued, but it could not be shown, and it cannot be shown again; revoke it with \
     `store-orders keys revoke {id}`"
)]
struct KeyNotShown {
    id: String,
    source: std::io::Error,
}

fn show_once(issued: &IssuedKey, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    let (id, key) = (&issued.id, issued.key.expose());
    let text = format!(
        "id   {id}\nkey  {key}\nThe key is shown this once: the store keeps only its hash."
    );
    printer
        .show(&json!({ "id": id, "key": key }), text)
        .and_then(|()| printer.flush())
        .map_err(|source| KeyNotShown { id: id.clone(), source }.into())
}

/// Lists all keys, also if it cannot be known which are banned; that is an error then.
fn list(
    options: &Options,
    store: &dyn OperatorStore,
    clock: &SystemClock,
    printer: &mut Printer<'_>,
) -> anyhow::Result<()> {
    let now = clock.now();
    let bans = options
        .open_limits_report(store, clock)
        .and_then(|limits| Ok(limits.bans(now)?))
        .context("bans are not shown");
    let banned: HashMap<i64, Ban> = bans.iter().flatten().map(|ban| (ban.key, *ban)).collect();
    let mut listing = printer.listing(vec![
        Column::text("id"),
        Column::text("account"),
        Column::text("environment"),
        Column::text("state"),
        Column::text("issuedAt"),
        Column::text("expiresAt"),
        Column::text("revokedAt"),
        Column::text("bannedUntil"),
        Column::text("usedAt"),
        Column::text("successor"),
    ]);
    for record in store.key_records()? {
        let ban = banned.get(&record.row);
        let ban = ban.filter(|ban| ban.unbanned_at_ms >= record.unbanned_at.unwrap_or(0));
        let key = KeyJson::of(record, ban, now);
        listing.add(&key, || key.cells())?;
    }
    listing.finish()?;
    printer.flush()?;
    bans.map(|_| ())
}

/// Whether a key is valid now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum KeyState {
    Active,
    /// Still valid, as its successor is.
    Rotated,
    Expired,
    Revoked,
}

impl KeyState {
    fn of(key: &KeyRecord, now_ms: i64) -> KeyState {
        if key.revoked_at.is_some() {
            KeyState::Revoked
        } else if key.expires_at.is_some_and(|end| end <= now_ms) {
            KeyState::Expired
        } else if key.successor.is_some() {
            KeyState::Rotated
        } else {
            KeyState::Active
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            KeyState::Active => "active",
            KeyState::Rotated => "rotated",
            KeyState::Expired => "expired",
            KeyState::Revoked => "revoked",
        }
    }
}

/// A key in a list, without the key itself.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct KeyJson {
    id: String,
    account: String,
    environment: Environment,
    state: KeyState,
    issued_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    banned_until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    used_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    successor: Option<String>,
}

impl KeyJson {
    fn of(key: KeyRecord, ban: Option<&Ban>, now: Now) -> KeyJson {
        KeyJson {
            state: KeyState::of(&key, now.wall_ms()),
            id: key.id,
            account: key.account,
            environment: key.environment,
            issued_at: rfc3339(key.issued_at),
            expires_at: key.expires_at.map(rfc3339),
            revoked_at: key.revoked_at.map(rfc3339),
            banned_until: ban.map(|ban| rfc3339_after(now, ban.ends_in)),
            used_at: key.used_at.map(rfc3339),
            successor: key.successor,
        }
    }

    fn cells(&self) -> Vec<String> {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        vec![
            self.id.clone(),
            self.account.clone(),
            self.environment.as_str().to_string(),
            self.state.as_str().to_string(),
            self.issued_at.clone(),
            text(&self.expires_at),
            text(&self.revoked_at),
            text(&self.banned_until),
            text(&self.used_at),
            text(&self.successor),
        ]
    }
}
