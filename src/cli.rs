//! The operator's command line: which commands there are, and what all of them
//! share. What each does is in the file of its group.

mod accounts;
mod demo;
mod importing;
mod keys;
mod listing;
mod orders;
mod pets;
mod printer;
mod serve;
mod table;
mod values;

use crate::store::StoreError;
use crate::store::sqlite::SqliteStore;
use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use printer::Printer;
use std::io::{self, Write};
use std::path::PathBuf;

/// The orders API server of a pet store, and its operator's commands.
#[derive(Debug, Parser)]
#[command(
    name = "store-orders",
    version,
    propagate_version = true,
    after_help = "\
Examples:
  store-orders orders import orders.csv
  store-orders accounts create acme --plan pro
  store-orders keys issue --account acme
  store-orders orders list --status pending --json

Exit status: 0 done, 1 not done (the error says why), 2 wrong command line."
)]
pub struct Cli {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(Args, Debug)]
struct Options {
    /// Where the store is kept; created at need
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "STORE_ORDERS_DATA_DIR",
        default_value = "./store-orders-data"
    )]
    data_dir: PathBuf,
    /// Write JSON instead of text
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the store until SIGTERM or Ctrl-C
    #[command(after_help = "\
Examples:
  store-orders serve
  store-orders serve --listen 0.0.0.0:8080 --data-dir /var/lib/store-orders
  store-orders serve --environment staging --trusted-proxy 10.0.0.0/8")]
    Serve(serve::ServeArgs),
    /// Serve a store of made-up orders, gone when it ends
    #[command(after_help = "\
Example:
  store-orders demo")]
    Demo(demo::DemoArgs),
    /// Import, ship and show orders
    #[command(subcommand)]
    Orders(orders::Command),
    /// Import pets
    #[command(subcommand)]
    Pets(pets::Command),
    /// Create accounts, change their plans, list them
    #[command(subcommand)]
    Accounts(accounts::Command),
    /// Issue, rotate, revoke and list API keys
    #[command(subcommand)]
    Keys(keys::Command),
    /// Print the API's OpenAPI document
    #[command(after_help = "\
Example:
  store-orders openapi > openapi.json")]
    Openapi,
}

impl Cli {
    /// Carries the command out; what it has to show goes to `out`.
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        self.dispatch(out).map_err(|error| match error.downcast_ref() {
            // SQLite does not always say which file it means.
            Some(StoreError::Sqlite { .. }) => {
                error.context(format!("data directory {}", self.options.data_dir.display()))
            }
            _ => error,
        })
    }

    fn dispatch(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let options = &self.options;
        let printer = &mut Printer::new(&mut *out, options.json);
        match &self.command {
            Command::Serve(args) => Ok(serve::serve(&options.data_dir, args, out)?),
            Command::Demo(args) => Ok(demo::demo(args, out)?),
            Command::Orders(command) => command.run(options, printer),
            Command::Pets(command) => command.run(options, printer),
            Command::Accounts(command) => command.run(options, printer),
            Command::Keys(command) => command.run(options, printer),
            Command::Openapi => {
                let document = store_orders_api::document::emitted_text()
                    .context("the OpenAPI document cannot be made")?;
                Ok(out.write_all(document.as_bytes())?)
            }
        }
    }
}

impl Options {
    fn open_store(&self) -> anyhow::Result<SqliteStore> {
        let directory = &self.data_dir;
        if directory.exists() && !directory.is_dir() {
            anyhow::bail!(
                "cannot use the data directory {}: it is a file; choose another --data-dir",
                directory.display()
            );
        }
        Ok(SqliteStore::open(directory)?)
    }
}

/// Whether a command ended because nobody reads its output any more. Only where
/// that is the error itself: an issued key that could not be shown is lost.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("store-orders "), "{} has no example", command.get_name());
            command.get_subcommands().filter(|sub| sub.get_name() != "help").for_each(check);
        }
        check(&Cli::command());
    }
}
