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
    /// The whole file is checked first: if a record is bad, or an id is in the store already,
    /// nothing is imported. Then it is stored in steps of 10,000 orders. While servers use the
    /// store, a step has 500 orders and a pause follows it, so that requests have priority; the
    /// servers list the orders of each step immediately. An import that ends early says how many it
    /// stored; the same command with --skip-existing imports the rest. If there is no store yet,
    /// the import creates one and says where.
    ///
    /// The file is a JSON array, JSON lines, or CSV with a header row; its content
    /// decides. A record has the fields id, petId (integers from -(2^53-1) to 2^53-1, because
    /// JavaScript rounds larger ones) and quantity (1 to 2147483647), and may have shipDate
    /// (RFC 3339, any offset; a leap second becomes the second after it), complete (true, or false, the default) and status (pending, the
    /// default, or shipped). Field names may be in any letter case. An id is never used
    /// again, not even that of a cancelled order.
    #[command(after_help = "\
Examples:
  store-orders orders import orders.csv
  store-orders orders import orders.csv --dry-run --all-errors
  store-orders orders import orders.json --skip-existing --ignore-unknown
  zcat orders.ndjson.gz | store-orders orders import -")]
    Import(ImportArgs),
    /// Mark orders as shipped, so that they can no longer be cancelled
    ///
    /// All orders are checked first: if an order does not exist, or is cancelled, no order is
    /// marked. Many orders are marked in steps, as in an import. An order that has shipped already
    /// stays as it is, and the output names it.
    #[command(after_help = "\
Examples:
  store-orders orders ship 1001 1002
  store-orders orders ship --file shipped.txt
  cut -d, -f1 shipped.csv | store-orders orders ship -")]
    Ship(OrderIds),
    /// Cancel orders without a customer's key
    ///
    /// All orders are checked first: if an order does not exist, or has shipped, no order is
    /// cancelled. Many orders are cancelled in steps, as in an import. An order that is cancelled
    /// already stays as it is, and the output names it. The order's cancelledBy is
    /// operator:USER, and the audit log has the reason (`handbook operating "the audit log"`).
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
    /// Change the shipDate and complete of orders
    ///
    /// The file is in one of the formats of an import. The whole file is checked first: if a record
    /// is bad, or an order does not exist or is cancelled, nothing is changed. A record has an id,
    /// and shipDate, complete or both. A field that is absent, null or an empty cell stays as it
    /// is. Many orders are changed in steps, as in an import. If an update ended early, the same
    /// command does the rest.
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
        /// The order's id
        #[arg(value_name = "ID", value_parser = values::id, allow_negative_numbers = true)]
        id: i64,
    },
    /// List orders in ascending order of id
    ///
    /// An order must match all options. Orders without a ship date match neither --from nor --to.
    #[command(after_help = "\
Examples:
  store-orders orders list --status pending --limit 20
  store-orders orders list --pet 7 --from 2026-06-01 --to 2026-06-30
  store-orders orders list --json > orders.json")]
    List {
        /// Only orders with this status
        #[arg(long, value_parser = values::status())]
        status: Option<Status>,
        /// Only orders of this pet
        #[arg(long, value_name = "ID", value_parser = values::id, allow_negative_numbers = true)]
        pet: Option<i64>,
        /// Only orders with a ship date on this day (UTC) or later
        #[arg(long, value_name = "DATE", value_parser = values::first_moment)]
        from: Option<DateTime<Utc>>,
        /// Only orders with a ship date on this day (UTC) or earlier
        #[arg(long, value_name = "DATE", value_parser = values::next_day)]
        to: Option<DateTime<Utc>>,
        /// At most N orders
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

/// The orders that `ship` or `cancel` changes.
#[derive(Args, Debug)]
pub struct OrderIds {
    /// The orders, or `-` for standard input with an id on each line
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

/// An argument that names orders.
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
