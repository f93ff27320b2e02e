//! `accounts`: manages the accounts that may call the API.

use super::audit::{Change, record};
use super::listing::ListingArgs;
use super::options::Options;
use super::printer::{Printer, warn};
use super::table::Column;
use super::usage::UsageJson;
use super::values;
use super::waiting::with_notice;
use crate::clock::{Clock, SystemClock};
use crate::store::{Account, AccountPlan, OperatorStore};
use anyhow::Context;
use chrono::{SubsecRound, Utc};
use clap::{Args, Subcommand};
use serde::Serialize;
use std::io::{IsTerminal, Write};
use store_orders_api::plans::{Plan, PlanLimits};
use store_orders_api::types::utc_text;

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  store-orders accounts create acme --plan pro
  store-orders accounts list")]
pub enum AccountsCommand {
    /// Create an account for a customer
    #[command(after_help = "\
Examples:
  store-orders accounts create acme --plan pro
  store-orders accounts create globex --plan enterprise \\
    --per-minute 5000 --per-day 2000000")]
    Create {
        /// The account's name: 1 to 64 printable characters; must be unique
        name: String,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Give an account a new name; its id, keys and counts stay the same
    #[command(after_help = "\
Example:
  store-orders accounts rename acme \"Acme Corporation\"")]
    Rename {
        /// The account's name, or its id
        name: String,
        /// The new name: 1 to 64 printable characters; must be unique
        new_name: String,
    },
    /// Move an account to another plan; a running server applies the new limits within a second
    #[command(after_help = "\
Example:
  store-orders accounts set-plan acme --plan business")]
    SetPlan {
        /// The account's name, or its id
        name: String,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Close an account for good and revoke all its keys
    ///
    /// The keys are revoked in one step. A running server refuses the keys within a second. A
    /// closed account cannot get keys or be opened again. The account stays in the list and keeps
    /// its name. To free the name, rename the account.
    #[command(after_help = "\
Examples:
  store-orders accounts close acme
  store-orders accounts close acme --yes")]
    Close {
        /// The account's name, or its id
        name: String,
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Show an account and what it has used of its limits
    #[command(after_help = "\
Examples:
  store-orders accounts show acme
  store-orders accounts show acme --json | jq .usage")]
    Show {
        /// The account's name, or its id
        name: String,
    },
    /// List all accounts, sorted by name
    #[command(after_help = "\
Examples:
  store-orders accounts list
  store-orders accounts list --json")]
    List {
        #[command(flatten)]
        table: ListingArgs,
    },
}

/// The plan of an account. The limits of an Enterprise account are agreed individually. So
/// `--per-minute` and `--per-day` are required for `enterprise`, and refused for other plans.
#[derive(Args, Debug)]
pub struct PlanArgs {
    /// The account's plan, which sets its limits
    #[arg(long, value_parser = values::plan())]
    plan: Plan,
    /// Maximum requests per minute; required for enterprise, and refused for other plans
    #[arg(long, value_name = "N", requires = "per_day")]
    per_minute: Option<u32>,
    /// Maximum requests per day; required for enterprise, and refused for other plans
    #[arg(long, value_name = "N", requires = "per_minute")]
    per_day: Option<u32>,
}

impl PlanArgs {
    fn custom_limits(&self) -> Option<PlanLimits> {
        let (per_minute, per_day) = self.per_minute.zip(self.per_day)?;
        Some(PlanLimits { per_minute, per_day })
    }
}

impl AccountsCommand {
    pub(super) fn run(&self, options: &Options, printer: &mut Printer<'_>) -> anyhow::Result<()> {
        let (new_store, store) = match self {
            AccountsCommand::Create { .. } => {
                (options.directory_without_store()?, options.open_or_create_store()?)
            }
            _ => (None, options.open_store()?),
        };
        let now = Utc::now().trunc_subsecs(0);
        match self {
            AccountsCommand::Create { name, plan } => {
                with_notice(|_| store.create_account(name, plan.plan, plan.custom_limits(), now))?;
                let created = match new_store {
                    Some(directory) => {
                        format!("created a new store in {}\ncreated account", directory.display())
                    }
                    None => "created account".to_string(),
                };
                let account = read_changed_account(&*store, "accounts create", name.trim())?;
                show(&account, &created, printer)
            }
            AccountsCommand::Rename { name, new_name } => {
                let name = &store.resolve_account(name)?;
                with_notice(|_| store.rename_account(name, new_name))?;
                let new_name = new_name.trim();
                let text = format!("renamed account {name:?} to {new_name:?}");
                let account = read_changed_account(&*store, "accounts rename", new_name)?;
                Ok(printer.show(&account, text)?)
            }
            AccountsCommand::Close { name, yes } => {
                let name = &store.resolve_account(name)?;
                if !yes && !confirm_closing(name)? {
                    anyhow::bail!("account {name:?} stays open");
                }
                let revoked = with_notice(|_| store.close_account(name, now))?;
                let plural = if revoked == 1 { "" } else { "s" };
                let text = format!("closed account {name:?}: {revoked} key{plural} revoked");
                let account = read_changed_account(&*store, "accounts close", name)?;
                Ok(printer.show(&ClosedAccount { account, revoked_keys: revoked }, text)?)
            }
            AccountsCommand::SetPlan { name, plan } => {
                let name = &store.resolve_account(name)?;
                with_notice(|_| store.set_plan(name, plan.plan, plan.custom_limits()))?;
                let account = read_changed_account(&*store, "accounts set-plan", name)?;
                show(&account, "changed account", printer)
            }
            AccountsCommand::Show { name } => show_usage(options, &*store, name, printer),
            AccountsCommand::List { table } => list(&*store, table.wide, printer),
        }
    }
}

/// Asks for confirmation. Fails if standard input or standard error is not a terminal, because
/// `--yes` is then required.
fn confirm_closing(name: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        anyhow::bail!("closing {name:?} revokes all its keys for good; repeat it with --yes");
    }
    let mut answer = String::new();
    write!(std::io::stderr(), "Close {name:?} for good, and revoke all its keys? [y/N] ")?;
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Records the change in the audit log, even if the changed account cannot be read.
fn read_changed_account(
    store: &dyn OperatorStore,
    command: &str,
    name: &str,
) -> anyhow::Result<AccountJson> {
    let account = store.account(name, Utc::now().timestamp_millis());
    let id = account.as_ref().ok().map(|(account, _)| account.id);
    record(store, Change { command, account: id, name: Some(name), ..Change::default() });
    account
        .map(|(account, keys)| AccountJson::new(account, keys))
        .with_context(|| format!("changed account {name:?}, but it cannot be shown"))
}

fn show(account: &AccountJson, done: &str, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    let AccountJson { plan, per_minute, per_day, ref name, .. } = *account;
    if per_minute.min(per_day) == 0 {
        warn(format_args!(
            "with a limit of 0, every request of {name:?} is answered with 429; to shut an account \
             out for good, close it"
        ));
    }
    let plan = plan.as_str();
    Ok(printer.show(
        account,
        format_args!("{done} {name:?}: {plan}, {per_minute} requests a minute, {per_day} a day"),
    )?)
}

fn show_usage(
    options: &Options,
    store: &dyn OperatorStore,
    name: &str,
    printer: &mut Printer<'_>,
) -> anyhow::Result<()> {
    let clock = SystemClock::start();
    let limits = options.open_counts_report(store)?;
    let (account, keys) = store.account(name, clock.now().wall_ms())?;
    let now = clock.now();
    let is_shared = options.store.store.is_some();
    let (used, plan) = (limits.usage(account.id, now)?, account.plan);
    let usage = UsageJson::new(used, plan.limits, now, is_shared);
    let account = AccountJson::new(account, keys);
    let closed = match &account.closed_at {
        Some(at) => format!("closedAt   {at}\n"),
        None => String::new(),
    };
    let text = format!(
        "name       {}\nid         {}\nplan       {}\nkeys       {}\ncreatedAt  {}\n{closed}{usage}",
        account.name,
        account.id,
        account.plan.as_str(),
        account.keys,
        account.created_at,
    );
    Ok(printer.show(&ShownAccount { account, usage }, text)?)
}

const COLUMNS: [Column; 8] = [
    Column::number("id"),
    Column::text("name"),
    Column::text("plan"),
    Column::number("perMinute"),
    Column::number("perDay"),
    Column::number("keys"),
    Column::day("createdAt"),
    Column::day("closedAt"),
];

fn list(store: &dyn OperatorStore, wide: bool, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    let mut listing = printer.listing(COLUMNS.to_vec(), wide);
    for (account, keys) in store.accounts(Utc::now().timestamp_millis())? {
        listing.add(&AccountJson::new(account, keys))?;
    }
    Ok(listing.finish()?)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AccountJson {
    id: i64,
    name: Box<str>,
    plan: Plan,
    per_minute: u32,
    per_day: u32,
    keys: i64,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<String>,
}

impl AccountJson {
    fn new(account: Account, keys: i64) -> AccountJson {
        let Account { id, name, plan, created_at, closed_at } = account;
        let AccountPlan { name: plan, limits: PlanLimits { per_minute, per_day } } = plan;
        let (created_at, closed_at) = (utc_text(&created_at), closed_at.as_ref().map(utc_text));
        AccountJson { id, name, plan, per_minute, per_day, keys, created_at, closed_at }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClosedAccount {
    #[serde(flatten)]
    account: AccountJson,
    revoked_keys: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownAccount {
    #[serde(flatten)]
    account: AccountJson,
    usage: UsageJson,
}
