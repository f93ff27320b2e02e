//! `check`: checks the integrity of a store and of its counts file. Also reports how many orders,
//! pets, accounts and keys the store contains.

use super::options::Options;
use super::printer::{Printer, warn};
use crate::config::StoreLocation;
use crate::rate_limiter::check_counts_file;
use crate::store::postgres::PostgresOperatorStore;
use crate::store::{CheckReport, OperatorStore, OrderCounts, sqlite};
use serde::Serialize;
use std::fmt::Display;

/// The JSON output of `check`, and a part of the output of `restore`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CheckOutput {
    #[serde(flatten)]
    pub store: CheckReport,
    /// The number of accounts in the counts file. `None` if the file is missing, unreadable or was
    /// not checked.
    pub counted_accounts: Option<usize>,
}

pub(super) fn check(options: &Options, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    let (name, store, counted) = match options.store.location()? {
        StoreLocation::Directory(directory) => {
            let counted = check_counts_file(&directory);
            (directory.display().to_string(), sqlite::check(&directory)?, counted)
        }
        StoreLocation::Postgres(url) => {
            (url.to_string(), PostgresOperatorStore::connect(&url)?.check()?, Ok(None))
        }
    };
    let mut checked = CheckOutput { store, counted_accounts: None };
    match counted {
        Ok(accounts) => checked.counted_accounts = accounts,
        Err(problem) => checked.store.problems.push(problem),
    }
    checked.store.warnings.iter().for_each(warn);
    let problems = &checked.store.problems;
    if problems.is_empty() {
        return Ok(printer.show(&checked, format!("{name}: sound\n{}", format_counts(&checked)))?);
    }
    let lines = problems.join("\n  ");
    // Ignore an error, such as a closed output, because the exit status still reports the problems.
    let text = format!("{name}: not sound\n  {lines}\n{}", format_counts(&checked));
    let _ = printer.show(&checked, text).and_then(|()| printer.flush());
    let plural = if problems.len() == 1 { "" } else { "s" };
    anyhow::bail!("{name}: {} problem{plural} found", problems.len())
}

pub(super) fn format_counts(checked: &CheckOutput) -> String {
    let store = &checked.store;
    let orders = format_count(store.orders.as_ref().map(|orders| {
        let OrderCounts { pending, shipped, cancelled } = orders;
        format!("{pending} pending, {shipped} shipped, {cancelled} cancelled")
    }));
    let mut text = format!(
        "orders    {orders}; change {}\n\
         pets      {}\n\
         accounts  {}\n\
         keys      {}; change {}",
        format_count(store.orders_change_number),
        format_count(store.pets),
        format_count(store.accounts),
        format_count(store.keys),
        format_count(store.keys_change_number),
    );
    if let Some(accounts) = checked.counted_accounts {
        text.push_str(&format!("\ncounts    of {accounts} accounts"));
    }
    text
}

fn format_count(count: Option<impl Display>) -> String {
    count.map_or_else(|| "unreadable".to_string(), |count| count.to_string())
}
