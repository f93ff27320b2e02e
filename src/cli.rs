//! The operator's command line: which commands there are, and what all of them
//! share. What each does is in the file of its group.

mod accounts;
mod backup;
mod check;
mod config;
mod demo;
mod importing;
mod invocation;
mod keys;
mod listing;
mod orders;
mod pets;
mod printer;
mod serve;
mod shell;
mod systemd_unit;
mod table;
mod values;

pub use invocation::{Invocation, Refusal};

use crate::config::{InForce, ServerConfig, StoreSettings};
use crate::store::StoreError;
use crate::store::sqlite::SqliteStore;
use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use printer::Printer;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use store_orders_api::document::API_VERSION;

/// The orders API server of a pet store, and its operator's commands.
#[derive(Debug, Parser)]
#[command(
    name = "store-orders",
    version = format!("{} (API {API_VERSION})", env!("CARGO_PKG_VERSION")),
    propagate_version = true,
    after_help = "\
Examples:
  store-orders orders import orders.csv
  store-orders accounts create acme --plan pro
  store-orders keys issue --account acme
  store-orders orders list --status pending --json

Exit status: 0 done, 1 not done (the error says why), 2 wrong command line;
130 or 143: told by a second Ctrl-C or SIGTERM to stop at once."
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
    #[command(flatten)]
    store: StoreSettings,
    /// A TOML file with settings; see `config default`
    #[arg(long, global = true, value_name = "FILE", env = "STORE_ORDERS_CONFIG")]
    config: Option<PathBuf>,
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
  store-orders serve --listen 0.0.0.0:443 --tls-cert cert.pem --tls-key key.pem
  store-orders serve --environment staging --trusted-proxy 10.0.0.0/8")]
    Serve(Box<ServerConfig>),
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
    /// Copy the store to a file, while servers go on
    ///
    /// The copy is the store as of one moment, checked and safely on the disk
    /// before it gets its name. What was counted against limits is not in it.
    #[command(after_help = "\
Examples:
  store-orders backup store-2026-06-15.sqlite
  store-orders backup /backups/store.sqlite --data-dir /var/lib/store-orders")]
    Backup(backup::BackupArgs),
    /// Make the store of a backup, where there is none yet
    #[command(after_help = "\
Example:
  store-orders restore store-2026-06-15.sqlite --data-dir ./restored")]
    Restore(backup::RestoreArgs),
    /// Check that the store is sound, and count what it holds
    #[command(after_help = "\
Examples:
  store-orders check
  store-orders check --json")]
    Check,
    /// Print, check and show settings
    #[command(subcommand)]
    Config(config::Command),
    /// Print a hardened systemd unit that serves with the flags given here
    #[command(after_help = "\
Example:
  store-orders systemd-unit --listen 0.0.0.0:8080 > store-orders.service")]
    SystemdUnit(Box<ServerConfig>),
    /// Print a script that completes this program's command lines
    #[command(after_help = "\
Examples:
  store-orders completions bash > /etc/bash_completion.d/store-orders
  store-orders completions fish > ~/.config/fish/completions/store-orders.fish")]
    Completions(shell::CompletionsArgs),
    /// Print the man page, or write one for every command
    #[command(after_help = "\
Examples:
  store-orders man > store-orders.1
  store-orders man --into /usr/local/share/man/man1")]
    Man(shell::ManArgs),
    /// Print the API's OpenAPI document
    #[command(after_help = "\
Example:
  store-orders openapi > openapi.json")]
    Openapi,
}

impl Cli {
    fn run(&self, in_force: &InForce, out: &mut dyn Write) -> anyhow::Result<()> {
        self.dispatch(in_force, out).map_err(|error| match error.downcast_ref() {
            // SQLite does not always say which file it means.
            Some(StoreError::Engine { .. }) => {
                error.context(format!("data directory {}", self.options.store.data_dir.display()))
            }
            _ => error,
        })
    }

    fn dispatch(&self, in_force: &InForce, out: &mut dyn Write) -> anyhow::Result<()> {
        let options = &self.options;
        let printer = &mut Printer::new(&mut *out, options.json);
        match &self.command {
            Command::Serve(settings) => {
                Ok(serve::serve(&options.store.data_dir, settings, in_force, out)?)
            }
            Command::Demo(args) => Ok(demo::demo(args, out)?),
            Command::Orders(command) => command.run(options, printer),
            Command::Pets(command) => command.run(options, printer),
            Command::Accounts(command) => command.run(options, printer),
            Command::Keys(command) => command.run(options, printer),
            Command::Backup(args) => args.run(options, printer),
            Command::Restore(args) => args.run(options, printer),
            Command::Check => check::check(options, printer),
            Command::Config(command) => command.run(options, in_force, printer),
            Command::SystemdUnit(settings) => systemd_unit::print(options, settings, in_force, out),
            Command::Completions(args) => args.run(out),
            Command::Man(args) => args.run(out),
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
        let directory = &self.store.data_dir;
        if directory.exists() && !directory.is_dir() {
            anyhow::bail!(
                "cannot use the data directory {}: it is a file; choose another --data-dir",
                directory.display()
            );
        }
        Ok(SqliteStore::open(directory)?)
    }
}

/// The status to exit with after this error.
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    error.downcast_ref().map_or(ExitCode::FAILURE, serve::ServeError::exit_code)
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
