//! Defines the command `pets import`.

use super::importing::{ImportArgs, import};
use super::options::Options;
use super::printer::Printer;
use clap::Subcommand;
use store_orders_api::types::Pet;

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Example:
  store-orders pets import pets.csv")]
pub enum PetsCommand {
    /// Import pets from a file
    ///
    /// If a record is bad, or its id is already in the store, nothing is imported. With
    /// --skip-existing, records whose id is in the store are skipped. Pets are stored in steps,
    /// which `orders import --help` describes.
    ///
    /// The file is a JSON array, JSON lines, or CSV with a header row. The content decides the
    /// format. A record has the fields id (an integer from -(2^53-1) to 2^53-1) and name.
    #[command(after_help = "\
Examples:
  store-orders pets import pets.csv
  store-orders pets import pets.json --skip-existing")]
    Import(ImportArgs),
}

impl PetsCommand {
    pub(super) fn run(&self, options: &Options, printer: &mut Printer<'_>) -> anyhow::Result<()> {
        let PetsCommand::Import(args) = self;
        import::<Pet>(args, options, printer)
    }
}
