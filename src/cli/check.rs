//! `check`: the integrity of a store, and counts of its contents.

use super::options::Options;
use super::printer::Printer;
use crate::store::sqlite::{self, Findings};

/// Shows the counts and all problems; any problem makes the command fail.
pub(super) fn check(options: &Options, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    let directory = &options.store.data_dir;
    let found = sqlite::check(directory)?;
    let name = directory.display();
    if found.problems.is_empty() {
        return Ok(printer.show(&found, format!("{name}: sound\n{}", counts(&found)))?);
    }
    let problems = found.problems.join("\n  ");
    printer.show(&found, format!("{name}: not sound\n  {problems}\n{}", counts(&found)))?;
    printer.flush()?;
    let number = found.problems.len();
    let plural = if number == 1 { "" } else { "s" };
    anyhow::bail!("{name}: {number} problem{plural} found")
}

/// The counts as text.
pub(super) fn counts(found: &Findings) -> String {
    let orders = &found.orders;
    let mut text = format!(
        "orders    {} pending, {} shipped, {} cancelled; version {}\n\
         pets      {}\n\
         accounts  {}\n\
         keys      {}; version {}",
        orders.pending,
        orders.shipped,
        orders.cancelled,
        found.orders_version,
        found.pets,
        found.accounts,
        found.keys,
        found.keys_version,
    );
    if let Some(accounts) = found.counted_accounts {
        text.push_str(&format!("\nlimits    counted for {accounts} accounts"));
    }
    text
}
