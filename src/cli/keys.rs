//! `keys`: issue, rotate, revoke, unban, find, list. The only code that prints a whole key.

use super::listing::ListingArgs;
use super::options::Options;
use super::printer::Printer;
use super::table::Column;
use super::timestamp::{rfc3339, rfc3339_after};
use super::values;
use crate::clock::{Clock, Now, SystemClock};
use crate::keys::{Digest, Environment, digest_of};
use crate::limits::Ban;
use crate::store::{IssuedKey, KeyRecord, NewKey, OperatorStore, Rotation};
use anyhow::Context;
use clap::{Subcommand, ValueEnum};
use serde::Serialize;
use serde_json::json;
use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::str::FromStr;
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
        /// Environment that the key is valid in
        #[arg(long, value_enum, default_value_t = Environment::Production)]
        environment: Environment,
        /// How long the key is valid, such as 90d; by default until it is revoked
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
    /// Find out whose a key is: its id, account and state
    ///
    /// The key is the first line of standard input, so that no argument holds it, and it is
    /// never printed. Exit status 1 if the store has no such key.
    #[command(after_help = "\
Examples:
  store-orders keys find - < leaked-key
  store-orders keys find -       # then paste the key, and press Enter")]
    Find {
        /// Standard input, the only place where a key is read
        #[arg(value_name = "-")]
        input: StandardInput,
    },
    /// List the keys that were ever issued, the oldest first, with the end of a ban
    #[command(after_help = "\
Examples:
  store-orders keys list
  store-orders keys list --account acme --state active --wide
  store-orders keys list --json")]
    List {
        /// Only the keys of this account
        #[arg(long, value_name = "NAME")]
        account: Option<String>,
        /// Only keys in this state
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
            KeysCommand::Find { .. } => find(options, &*store, &clock, printer),
            KeysCommand::List { account, state, table } => {
                let (account, state) = (account.as_deref(), *state);
                let chosen = Chosen { account, state, wide: table.wide };
                list(options, &*store, &clock, &chosen, printer)
            }
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

/// Lists keys, also if it cannot be known which are banned; that is an error then.
fn list(
    options: &Options,
    store: &dyn OperatorStore,
    clock: &SystemClock,
    chosen: &Chosen<'_>,
    printer: &mut Printer<'_>,
) -> anyhow::Result<()> {
    let now = clock.now();
    if let Some(name) = chosen.account {
        store.account(name, now.wall_ms())?;
    }
    let (bans, banned) = bans(options, store, clock, now);
    let mut listing = printer.listing(COLUMNS.to_vec(), chosen.wide);
    for record in store.key_records()? {
        let key = KeyJson::of(record, &banned, now);
        if chosen.account.is_some_and(|name| key.account != name)
            || chosen.state.is_some_and(|state| key.state != state)
        {
            continue;
        }
        listing.add(&key, || key.cells().to_vec())?;
    }
    listing.finish()?;
    printer.flush()?;
    bans
}

/// Which keys are listed, and how.
struct Chosen<'a> {
    account: Option<&'a str>,
    state: Option<KeyState>,
    wide: bool,
}

/// Every ban in force, by the row of its key; or none, and why they cannot be known.
fn bans(
    options: &Options,
    store: &dyn OperatorStore,
    clock: &SystemClock,
    now: Now,
) -> (anyhow::Result<()>, HashMap<i64, Ban>) {
    let bans = options
        .open_limits_report(store, clock)
        .and_then(|limits| Ok(limits.bans(now)?))
        .context("bans are not shown");
    let banned = bans.iter().flatten().map(|ban| (ban.key, *ban)).collect();
    (bans.map(|_| ()), banned)
}

/// Names the key that is on standard input, with its account and state.
fn find(
    options: &Options,
    store: &dyn OperatorStore,
    clock: &SystemClock,
    printer: &mut Printer<'_>,
) -> anyhow::Result<()> {
    let digest = presented_digest()?;
    let Some(record) = store.key_record(&digest)? else {
        anyhow::bail!(
            "the store knows no such key: its form is valid, so it may be of another store; \
             --data-dir or --store names one"
        );
    };
    let now = clock.now();
    let (bans, banned) = bans(options, store, clock, now);
    let key = KeyJson::of(record, &banned, now);
    let lines: Vec<String> = COLUMNS
        .iter()
        .zip(key.cells())
        .filter(|(_, value)| !value.is_empty())
        .map(|(column, value)| format!("{:<13}{value}", column.name()))
        .collect();
    printer.show(&key, lines.join("\n"))?;
    printer.flush()?;
    bans
}

/// The digest of the key on the first line of standard input. No error shows any of it.
fn presented_digest() -> anyhow::Result<Digest> {
    let mut line = Vec::new();
    let mut input = std::io::stdin().lock().take(LONGEST_LINE_BYTES);
    input.read_until(b'\n', &mut line).context("cannot read standard input")?;
    let presented = line.trim_ascii();
    if presented.is_empty() {
        anyhow::bail!("there is no key on the first line of standard input");
    }
    let mut digests = Environment::ALL.into_iter().map(|kind| digest_of(presented, kind));
    digests.find_map(|digest| digest).context(
        "the first line of standard input is not an API key: one is sto_live_ or sto_test_ and 36 \
         letters and digits, of which the last six are a checksum; this one is incomplete, \
         mistyped, or not alone on its line",
    )
}

/// A line that is longer holds no key.
const LONGEST_LINE_BYTES: u64 = 4_096;

/// `-`, and nothing else.
#[derive(Clone, Copy, Debug)]
pub struct StandardInput;

impl FromStr for StandardInput {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<StandardInput, &'static str> {
        match text {
            "-" => Ok(StandardInput),
            _ => {
                Err("a key is read from standard input, because every user of a machine can read \
                      arguments, and a shell keeps them; write - here")
            }
        }
    }
}

const COLUMNS: [Column; 10] = [
    Column::text("id"),
    Column::name_of("account"),
    Column::text("environment").left_out(3),
    Column::text("state"),
    Column::day("issuedAt").left_out(2),
    Column::day("expiresAt"),
    Column::day("revokedAt").left_out(5),
    Column::minute("bannedUntil"),
    Column::minute("usedAt").left_out(4),
    Column::text("successor").left_out(1),
];

/// Whether a key is valid now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum KeyState {
    /// Valid, and not replaced
    Active,
    /// Replaced, and still valid until it expires
    Rotated,
    /// No longer valid since its end
    Expired,
    /// No longer valid, by `keys revoke` or `accounts close`
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
    fn of(key: KeyRecord, banned: &HashMap<i64, Ban>, now: Now) -> KeyJson {
        let ban = banned.get(&key.row);
        let ban = ban.filter(|ban| ban.unbanned_at_ms >= key.unbanned_at.unwrap_or(0));
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

    /// The cells of the [`COLUMNS`].
    fn cells(&self) -> [String; COLUMNS.len()] {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        [
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
