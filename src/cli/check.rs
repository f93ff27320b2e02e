//! `check`: the integrity of a store and of its limits' file, and their contents.

use super::options::Options;
use super::printer::Printer;
use crate::config::StoreLocation;
use crate::limits::check_limits_file;
use crate::store::postgres::PostgresCommands;
use crate::store::{CheckReport, OperatorStore, OrderCounts, sqlite};
use serde::Serialize;
use std::fmt::Display;

/// What the store and the limits' file hold, and what is wrong with them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Checked {
    #[serde(flatten)]
    pub store: CheckReport,
    /// Accounts whose requests are counted, if there is a file of the limits.
    pub counted_accounts: Option<usize>,
}

/// Shows the counts and all problems; any problem makes the command fail.
pub(super) fn check(options: &Options, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    let (name, store, counted) = match options.store.location()? {
        StoreLocation::Directory(directory) => {
            let counted = check_limits_file(&directory);
            (directory.display().to_string(), sqlite::check(&directory)?, counted)
        }
        StoreLocation::Postgres(url) => {
            (url.to_string(), PostgresCommands::connect(&url)?.check()?, Ok(None))
        }
    };
    let mut checked = Checked { store, counted_accounts: None };
    match counted {
        Ok(accounts) => checked.counted_accounts = accounts,
        Err(problem) => checked.store.problems.push(problem),
    }
    let problems = &checked.store.problems;
    if problems.is_empty() {
        return Ok(printer.show(&checked, format!("{name}: sound\n{}", counts(&checked)))?);
    }
    let lines = problems.join("\n  ");
    // If the output is closed, the exit status still tells.
    let text = format!("{name}: not sound\n  {lines}\n{}", counts(&checked));
    let _ = printer.show(&checked, text).and_then(|()| printer.flush());
    let plural = if problems.len() == 1 { "" } else { "s" };
    anyhow::bail!("{name}: {} problem{plural} found", problems.len())
}

/// What the store holds, as text.
pub(super) fn counts(checked: &Checked) -> String {
    let store = &checked.store;
    let orders = shown(store.orders.as_ref().map(|orders| {
        let OrderCounts { pending, shipped, cancelled } = orders;
        format!("{pending} pending, {shipped} shipped, {cancelled} cancelled")
    }));
    let mut text = format!(
        "orders    {orders}; version {}\n\
         pets      {}\n\
         accounts  {}\n\
         keys      {}; version {}",
        shown(store.orders_change_number),
        shown(store.pets),
        shown(store.accounts),
        shown(store.keys),
        shown(store.keys_change_number),
    );
    if let Some(accounts) = checked.counted_accounts {
        text.push_str(&format!("\nlimits    counted for {accounts} accounts"));
    }
    text
}

fn shown(count: Option<impl Display>) -> String {
    count.map_or_else(|| "unreadable".to_string(), |count| count.to_string())
}
