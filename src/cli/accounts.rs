//! `accounts`: create, set-plan, show, list.

use super::options::Options;
use super::printer::Printer;
use super::table::Column;
use super::usage::UsageJson;
use super::values;
use crate::clock::{Clock, SystemClock};
use crate::store::{Account, OperatorStore};
use anyhow::Context;
use chrono::{SubsecRound, Utc};
use clap::{Args, Subcommand};
use serde::Serialize;
use store_orders_api::plans::{Plan, PlanLimits};

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
  store-orders accounts create globex --plan enterprise --per-minute 5000 --per-day 2000000")]
    Create {
        /// The account's name, which must be unique
        name: String,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Move an account to another plan, from the next request on
    #[command(after_help = "\
Example:
  store-orders accounts set-plan acme --plan business")]
    SetPlan {
        /// The account
        name: String,
        #[command(flatten)]
        plan: PlanArgs,
    },
    /// Show an account and what it has used of its limits
    #[command(after_help = "\
Examples:
  store-orders accounts show acme
  store-orders accounts show acme --json | jq .usage")]
    Show {
        /// The account
        name: String,
    },
    /// List all accounts
    #[command(after_help = "\
Example:
  store-orders accounts list --json")]
    List,
}

/// A plan, and the limits that enterprise needs.
#[derive(Args, Debug)]
pub struct PlanArgs {
    /// The customer's plan
    #[arg(long, value_parser = values::plan())]
    plan: Plan,
    /// Requests a minute, for enterprise
    #[arg(long, value_name = "N", requires = "per_day")]
    per_minute: Option<u32>,
    /// Requests a day, for enterprise
    #[arg(long, value_name = "N", requires = "per_minute")]
    per_day: Option<u32>,
}

impl PlanArgs {
    fn own_limits(&self) -> Option<PlanLimits> {
        let (per_minute, per_day) = self.per_minute.zip(self.per_day)?;
        Some(PlanLimits { per_minute, per_day })
    }
}

impl AccountsCommand {
    pub(super) fn run(&self, options: &Options, printer: &mut Printer<'_>) -> anyhow::Result<()> {
        let store = match self {
            AccountsCommand::Create { .. } => options.open_or_create_store()?,
            _ => options.open_store()?,
        };
        let now = Utc::now().trunc_subsecs(0);
        match self {
            AccountsCommand::Create { name, plan } => {
                store.create_account(name, plan.plan, plan.own_limits(), now)?;
                show(&*store, name, "created account", printer)
            }
            AccountsCommand::SetPlan { name, plan } => {
                store.set_plan(name, plan.plan, plan.own_limits())?;
                show(&*store, name, "changed account", printer)
            }
            AccountsCommand::Show { name } => show_usage(options, &*store, name, printer),
            AccountsCommand::List => list(&*store, printer),
        }
    }
}

fn show(
    store: &dyn OperatorStore,
    name: &str,
    done: &str,
    printer: &mut Printer<'_>,
) -> anyhow::Result<()> {
    let account = &store
        .account(name, Utc::now().timestamp_millis())
        .with_context(|| format!("{done} {name:?}, but it cannot be shown"))?;
    let PlanLimits { per_minute, per_day } = account.limits;
    let plan = account.plan.as_str();
    Ok(printer.show(
        &AccountJson::of(account),
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
    let limits = options.open_limits_report(store, &clock)?;
    let account = store.account(name, clock.now().wall_ms())?;
    let now = clock.now();
    let usage = UsageJson::of(limits.usage(account.id, now)?, account.limits, now);
    let text = format!(
        "name       {}\nid         {}\nplan       {}\nkeys       {}\ncreatedAt  {}\n{usage}",
        account.name,
        account.id,
        account.plan.as_str(),
        account.keys,
        account.created_at,
    );
    let json = ShownAccount { id: account.id, account: AccountJson::of(&account), usage };
    Ok(printer.show(&json, text)?)
}

fn list(store: &dyn OperatorStore, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    let mut listing = printer.listing(vec![
        Column::text("name"),
        Column::text("plan"),
        Column::number("perMinute"),
        Column::number("perDay"),
        Column::number("keys"),
        Column::text("createdAt"),
    ]);
    for account in store.accounts(Utc::now().timestamp_millis())? {
        listing.add(&AccountJson::of(&account), || {
            vec![
                account.name.clone(),
                account.plan.as_str().to_string(),
                account.limits.per_minute.to_string(),
                account.limits.per_day.to_string(),
                account.keys.to_string(),
                account.created_at.clone(),
            ]
        })?;
    }
    Ok(listing.finish()?)
}

/// An account as programs read it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AccountJson<'a> {
    name: &'a str,
    plan: Plan,
    per_minute: u32,
    per_day: u32,
    keys: i64,
    created_at: &'a str,
}

impl AccountJson<'_> {
    fn of(account: &Account) -> AccountJson<'_> {
        AccountJson {
            name: &account.name,
            plan: account.plan,
            per_minute: account.limits.per_minute,
            per_day: account.limits.per_day,
            keys: account.keys,
            created_at: &account.created_at,
        }
    }
}

/// An account with what it has used.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownAccount<'a> {
    /// As logs name it.
    id: i64,
    #[serde(flatten)]
    account: AccountJson<'a>,
    usage: UsageJson,
}
