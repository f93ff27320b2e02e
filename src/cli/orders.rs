//! `orders`: import, ship, cancel, update, show, list.

use super::changing::{PendingChange, UpdateArgs, change_pending};
use super::importing::{ImportArgs, import};
use super::listing::ListingArgs;
use super::options::Options;
use super::printer::Printer;
use super::record_file::ShownErrors;
use super::table::{Column, record_text};
use super::values;
use crate::orders::OrderFilter;
use crate::store::{Order, Status, StoreError};
use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  store-orders orders import orders.csv
  store-orders orders list --status pending")]
pub enum OrdersCommand {
    /// Import orders from a file
    ///
    /// The whole file is checked first. If a record is bad, or its id is already in the store,
    /// nothing is imported. With --skip-existing, records whose id is in the store are skipped.
    ///
    /// The orders are then stored in steps of 10,000. While a server uses the store, a step has
    /// only 500 orders, and a pause follows it, so that requests need not wait long. As soon as a
    /// step ends, lists contain its orders. An import that ends early prints how many orders it has
    /// stored. To import the rest, run the same command again with --skip-existing. If the data
    /// directory has no store yet, the import creates one and prints its location.
    ///
    /// The file is a JSON array, JSON lines, or CSV with a header row. The command recognizes the
    /// format by the content.
    ///
    /// A record has the fields id, petId (integers from -(2^53-1) to 2^53-1, because JavaScript
    /// rounds larger ones) and quantity (1 to 2147483647). It may also have the fields shipDate
    /// (RFC 3339, with any offset; a leap second becomes the second after it), complete (true or
    /// false, by default false) and status (pending or shipped, by default pending). The letter
    /// case of field names does not matter. An id can be used only once, even if its order is
    /// cancelled.
    #[command(after_help = "\
Examples:
  store-orders orders import orders.csv
  store-orders orders import orders.csv --dry-run --all-errors
  store-orders orders import orders.json --skip-existing --ignore-unknown
  zcat orders.ndjson.gz | store-orders orders import -")]
    Import(ImportArgs),
    /// Mark orders as shipped, so that they can no longer be cancelled
    ///
    /// All orders are checked first. If an order does not exist or is cancelled, no order is
    /// marked. Many orders are marked in steps, which `orders import --help` describes.
    ///
    /// Orders that have already shipped stay as they are. The output lists the first 20 such
    /// orders, or all with --json.
    #[command(after_help = "\
Examples:
  store-orders orders ship 1001 1002
  store-orders orders ship --file shipped.txt
  cut -d, -f1 shipped.csv | store-orders orders ship -")]
    Ship(OrderIds),
    /// Cancel orders without a customer's key
    ///
    /// All orders are checked first. If an order does not exist or has shipped, no order is
    /// cancelled. Many orders are cancelled in steps, which `orders import --help` describes.
    ///
    /// Orders that are already cancelled stay as they are. The output lists the first 20 such
    /// orders, or all with --json.
    ///
    /// The field cancelledBy of each cancelled order is operator:USER. The audit log contains the
    /// reason (`handbook operating "the audit log"`).
    #[command(after_help = "\
Examples:
  store-orders orders cancel 1001 1002 --reason \"restored from a backup\"
  store-orders orders cancel --file cancelled.txt --reason \"ticket 4711\"
  cut -d, -f1 cancelled.csv | store-orders orders cancel - --reason recall")]
    Cancel {
        #[command(flatten)]
        orders: OrderIds,
        /// Reason for the audit log
        #[arg(long, value_name = "TEXT", value_parser = values::reason)]
        reason: String,
    },
    /// Change the fields shipDate and complete of orders
    ///
    /// The file has one of the formats of an import. A record has an id and at least one of
    /// shipDate and complete. A field that is absent, null or an empty cell keeps its value in the
    /// store.
    ///
    /// The command changes nothing if a record is bad, or its order does not exist or is cancelled.
    /// A large update has several steps, which `orders import --help` describes. If an update ends
    /// early, run the same command again to change the rest.
    #[command(after_help = "\
Examples:
  store-orders orders update shipped.csv
  store-orders orders update changes.json --dry-run
  echo '{\"id\": 1001, \"complete\": true}' | store-orders orders update -")]
    Update(UpdateArgs),
    /// Show everything that the store has about an order
    #[command(after_help = "\
Example:
  store-orders orders show 1001 --json")]
    Show {
        /// The order's id, as `orders list` shows it
        #[arg(value_name = "ID", value_parser = values::id, allow_negative_numbers = true)]
        id: i64,
    },
    /// List orders in ascending order of id
    ///
    /// Orders must match all given filters. --from and --to exclude orders without a ship date.
    #[command(after_help = "\
Examples:
  store-orders orders list --status pending --limit 20
  store-orders orders list --pet 7 --from 2026-06-01 --to 2026-06-30
  store-orders orders list --json > orders.json")]
    List {
        /// List only orders with this status
        #[arg(long, value_parser = values::status())]
        status: Option<Status>,
        /// List only orders of this pet
        #[arg(long, value_name = "ID", value_parser = values::id, allow_negative_numbers = true)]
        pet: Option<i64>,
        /// List only orders with a ship date on this day (UTC) or later
        #[arg(long, value_name = "DATE", value_parser = values::first_moment)]
        from: Option<DateTime<Utc>>,
        /// List only orders with a ship date on this day (UTC) or earlier
        #[arg(long, value_name = "DATE", value_parser = values::next_day)]
        to: Option<DateTime<Utc>>,
        /// List at most N orders
        #[arg(long, value_name = "N")]
        limit: Option<u64>,
        #[command(flatten)]
        table: ListingArgs,
    },
}

impl OrdersCommand {
    pub(super) fn run(&self, options: &Options, printer: &mut Printer<'_>) -> anyhow::Result<()> {
        match self {
            OrdersCommand::Import(args) => import::<Order>(args, options, printer),
            OrdersCommand::Ship(orders) => orders.change(PendingChange::Ship, options, printer),
            OrdersCommand::Cancel { orders, reason } => {
                orders.change(PendingChange::Cancel { reason }, options, printer)
            }
            OrdersCommand::Update(args) => args.run(options, printer),
            OrdersCommand::Show { id } => show(*id, options, printer),
            OrdersCommand::List { status, pet, from, to, limit, table } => {
                let filter = OrderFilter {
                    pet_id: *pet,
                    ship_date_from: *from,
                    ship_date_before: *to,
                    ..OrderFilter::default()
                };
                list(*status, &filter, *limit, table.wide, options, printer)
            }
        }
    }
}

/// The arguments that select the orders for the commands `ship` and `cancel`.
#[derive(Args, Debug)]
pub struct OrderIds {
    /// Ids of the orders, or `-` to read them from standard input, one on each line
    #[arg(
        required_unless_present = "file",
        conflicts_with = "file",
        value_name = "ID",
        value_parser = IdArg::parse,
        allow_negative_numbers = true
    )]
    ids: Vec<IdArg>,
    /// File with an id on each line
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    shown: ShownErrors,
}

impl OrderIds {
    fn change(
        &self,
        pending: PendingChange<'_>,
        options: &Options,
        printer: &mut Printer<'_>,
    ) -> anyhow::Result<()> {
        let id = |argument: &IdArg| match argument {
            IdArg::Id(id) => Some(*id),
            IdArg::Input => None,
        };
        let ids: Vec<i64> = self.ids.iter().filter_map(id).collect();
        let input = (ids.len() < self.ids.len()).then_some(Path::new("-"));
        let file = self.file.as_deref().or(input);
        change_pending(pending, &ids, file, self.shown, options, printer)
    }
}

#[derive(Clone, Copy, Debug)]
pub enum IdArg {
    Id(i64),
    /// `-`: standard input contains the ids.
    Input,
}

impl IdArg {
    fn parse(text: &str) -> Result<IdArg, String> {
        if text == "-" { Ok(IdArg::Input) } else { values::id(text).map(IdArg::Id) }
    }
}

fn show(id: i64, options: &Options, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    let Some(order) = options.open_store()?.order(id)? else {
        let why =
            format!("there is no order {id}; `store-orders orders list` shows those there are");
        return Err(StoreError::NotFound(why).into());
    };
    Ok(printer.show(&order, record_text(columns(), &order)?)?)
}

fn list(
    status: Option<Status>,
    filter: &OrderFilter,
    limit: Option<u64>,
    wide: bool,
    options: &Options,
    printer: &mut Printer<'_>,
) -> anyhow::Result<()> {
    // The columns about cancellations are only in wide tables and in tables of cancelled orders.
    let is_complete = wide || status == Some(Status::Cancelled);
    let shown = COLUMNS.len() + if is_complete { CANCELLED.len() } else { 0 };
    let store = options.open_store()?;
    let mut listing = printer.listing(columns().take(shown).collect(), wide);
    let mut remaining = limit.unwrap_or(u64::MAX);
    let mut result = Ok(());
    store.for_each_order(status, &mut |order| {
        if remaining == 0 {
            return ControlFlow::Break(());
        }
        if !filter.matches(&order) {
            return ControlFlow::Continue(());
        }
        remaining -= 1;
        result = listing.add(&order);
        if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    result?;
    Ok(listing.finish()?)
}

const COLUMNS: [Column; 6] = [
    Column::number("id"),
    Column::number("petId"),
    Column::number("quantity"),
    Column::day("shipDate"),
    Column::text("complete"),
    Column::text("status"),
];

const CANCELLED: [Column; 2] = [Column::minute("cancelledAt"), Column::text("cancelledBy")];

fn columns() -> impl Iterator<Item = Column> {
    COLUMNS.into_iter().chain(CANCELLED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Cancelled, OrderStatus};

    #[test]
    fn the_table_has_a_column_for_each_field() {
        let cancelled =
            Cancelled { at: "2026-06-15T12:00:00Z".parse().unwrap(), by: "key_1".into() };
        let order = Order {
            id: 1,
            pet_id: 7,
            quantity: 1,
            ship_date: Some("2026-06-16T12:00:00Z".parse().unwrap()),
            complete: true,
            status: OrderStatus::Cancelled(Box::new(cancelled)),
        };
        let json = serde_json::to_value(order).unwrap();
        let fields: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(columns().map(|column| column.name).collect::<Vec<_>>(), fields);
    }
}
