//! Defines the command line. Each group of commands has its own module.

mod accounts;
mod audit;
mod backup;
mod changing;
mod check;
mod config;
mod demo;
mod failure;
mod handbook;
mod health;
mod importing;
mod interrupts;
mod invocation;
mod keys;
mod listing;
mod man;
mod migrate;
mod nginx;
mod openapi;
mod options;
mod orders;
mod pets;
mod printer;
mod record_file;
mod serve;
mod shell;
mod status;
mod systemd_unit;
mod table;
mod timestamp;
mod usage;
mod values;
mod waiting;

pub use failure::{FailureCode, without_secrets};
pub use invocation::{Invocation, InvocationError, wrong_value};

use crate::config::{EffectiveSettings, ServerConfig, with_settings};
use crate::store::StoreError;
use clap::{CommandFactory, Parser, Subcommand};
use failure::Failure;
use options::Options;
use printer::Printer;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use store_orders_api::documents::{V1, V2};

/// An orders API server for a pet store, with commands for its operator
#[derive(Debug, Parser)]
#[command(
    name = "store-orders",
    version = format!(
        "{} (API documents {} and {})",
        env!("CARGO_PKG_VERSION"), V1.version, V2.version
    ),
    propagate_version = true,
    after_help = "\
Examples:
  store-orders orders import orders.csv
  store-orders accounts create acme --plan pro
  store-orders keys issue --account acme
  store-orders orders list --status pending --json

Exit status:
  0    success
  1    failure; standard error says why
  2    invalid command line
  3    the order, account or key that the command names does not exist
  4    the store is not there, or cannot be reached, opened, read or written
  129  SIGHUP ended a command
  130  Ctrl-C ended a command, or a second Ctrl-C stopped a server immediately
  143  SIGTERM ended a command, or a second SIGTERM stopped a server immediately"
)]
pub struct Cli {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Command,
}

const ALERTS: &str = include_str!("admin/alerts.yaml");
const DASHBOARD: &str = include_str!("admin/dashboard.json");

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
    /// Serve a temporary store of sample orders
    ///
    /// The store is deleted when the server stops. The global options do not apply.
    #[command(after_help = "\
Example:
  store-orders demo")]
    Demo(demo::DemoArgs),
    /// Import, ship, cancel, update, show and list orders
    #[command(subcommand)]
    Orders(orders::OrdersCommand),
    /// Import pets
    #[command(subcommand)]
    Pets(pets::PetsCommand),
    /// Create, rename, close and list accounts, and change their plans
    #[command(subcommand)]
    Accounts(accounts::AccountsCommand),
    /// Issue, rotate, revoke, unban, find and list API keys
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// Copy the store to a file, also while a server runs
    ///
    /// The copy is a verified snapshot without the request counts. The copy is synced to disk
    /// before the file gets its name.
    #[command(after_help = "\
Examples:
  store-orders backup store-2026-06-15.sqlite
  store-orders backup /backups/store.sqlite --data-dir /var/lib/store-orders")]
    Backup(backup::BackupArgs),
    /// Restore a store from a backup, without overwriting an existing store
    #[command(after_help = "\
Example:
  store-orders restore store-2026-06-15.sqlite --data-dir ./restored")]
    Restore(backup::RestoreArgs),
    /// Check the integrity of the store and count its orders, pets, accounts and keys
    #[command(after_help = "\
Examples:
  store-orders check
  store-orders check --json")]
    Check,
    /// Check whether the local server is ready, for containers and scripts
    ///
    /// The command requests /readyz from the admin listener, and fails unless the status is 200. By
    /// default, the command asks the server of the data directory. Without such a server, the
    /// command asks 127.0.0.1:8081.
    #[command(after_help = "\
Examples:
  store-orders health --data-dir /var/lib/store-orders
  store-orders health --json --admin-listen 127.0.0.1:9081")]
    Health(health::HealthArgs),
    /// Show which servers use the store
    ///
    /// With a store in PostgreSQL, a server is silent if it was killed, is suspended or cannot
    /// reach the database. The other servers remove a silent server from the list after a few
    /// minutes.
    #[command(after_help = "\
Examples:
  store-orders status
  store-orders status --store postgres://store@db.example.com/store --json")]
    Status,
    /// Create the tables of a store in PostgreSQL, or bring them up to date
    ///
    /// Running servers keep answering requests. After about a second, a server that is too old for
    /// the new tables becomes unready (`handbook upgrading`).
    #[command(after_help = "\
Examples:
  store-orders migrate --store postgres://owner@db.example.com/store
  store-orders migrate --print-grants store \\
    --store postgres://owner@db.example.com/store")]
    Migrate(migrate::MigrateArgs),
    /// Print default settings, check settings, and show the settings in force
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Print a hardened systemd unit; its comments say how to install it
    #[command(after_help = "\
Examples:
  store-orders systemd-unit > /etc/systemd/system/store-orders.service
  store-orders systemd-unit --template > store-orders@.service")]
    SystemdUnit(systemd_unit::SystemdUnitArgs),
    /// Print a hardened nginx configuration for a proxy in front of the server
    #[command(after_help = "\
Examples:
  store-orders nginx-conf > /etc/nginx/nginx.conf
  store-orders nginx-conf --site > /etc/nginx/sites-available/store-orders")]
    NginxConf(nginx::NginxConfArgs),
    /// Print the operator's handbook, or the list of its pages
    #[command(after_help = "\
Examples:
  store-orders handbook
  store-orders handbook operating backups
  store-orders handbook runbook StoreOrdersDamaged
  store-orders handbook replicas | less")]
    Handbook(handbook::HandbookArgs),
    /// Print alerts for Prometheus; each names its section of `handbook runbook`
    #[command(after_help = "\
Example:
  store-orders alerts > /etc/prometheus/rules/store-orders.yaml")]
    Alerts,
    /// Print a Grafana dashboard of the server's metrics
    #[command(after_help = "\
Example:
  store-orders dashboard > /var/lib/grafana/dashboards/store-orders.json")]
    Dashboard,
    /// Print a shell completion script
    #[command(after_help = "\
Examples:
  store-orders completions bash > /etc/bash_completion.d/store-orders
  store-orders completions fish > ~/.config/fish/completions/store-orders.fish")]
    Completions(shell::CompletionsArgs),
    /// Print the man page, or write one for each command
    #[command(after_help = "\
Examples:
  store-orders man > store-orders.1
  store-orders man --into /usr/local/share/man/man1")]
    Man(man::ManArgs),
    /// Print the API's OpenAPI document
    #[command(after_help = "\
Examples:
  store-orders openapi > openapi.json
  store-orders openapi --served --production-url https://orders.example.com/v1")]
    Openapi(openapi::OpenapiArgs),
}

/// Commands that print built-in text and do not use a store. Of these, only `openapi --served`
/// reads settings.
const PRINTING: [&str; 8] = [
    "systemd-unit",
    "nginx-conf",
    "handbook",
    "alerts",
    "dashboard",
    "completions",
    "man",
    "openapi",
];

pub fn command() -> clap::Command {
    // Hide the global options that a command does not use. `demo` refuses hidden options; the other
    // commands ignore hidden options.
    let program = with_settings(Cli::command())
        .mut_subcommand("demo", |demo| hide_global_options(demo, |arg| arg.global(false)))
        .mut_subcommand("config", |config| {
            config.mut_subcommand("default", |it| hide_global_options(it, |arg| arg))
        });
    PRINTING.into_iter().fold(program, |program, name| {
        program.mut_subcommand(name, |command| hide_global_options(command, |arg| arg))
    })
}

/// Hides the global options in the help of a command. `change` can modify each hidden option, for
/// example so that the command refuses it.
fn hide_global_options(
    command: clap::Command,
    change: fn(clap::Arg) -> clap::Arg,
) -> clap::Command {
    // Keep `--config` for `openapi`, because the file may contain settings of the served document.
    let is_used = |arg: &clap::Arg| command.get_name() == "openapi" && arg.get_id() == "config";
    // To hide a global argument, give the command a hidden argument of the same name, which
    // replaces the global one.
    let whole = with_settings(Cli::command());
    let global = whole.get_arguments().filter(|arg| arg.is_global_set() && !is_used(arg));
    let hidden: Vec<_> = global.cloned().map(|arg| change(arg).hide(true)).collect();
    command.args(hidden)
}

impl Cli {
    fn run(&self, effective: &EffectiveSettings, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut printer = Printer::new(out, self.options.json);
        let result = self.dispatch(effective, &mut printer);
        if matches!(self.command, Command::Serve(_) | Command::Demo(_)) {
            return result;
        }
        let result = result.map_err(|error| {
            // Errors of SQLite and PostgreSQL do not always name the store, so its name is added.
            let is_engine_error = |cause: &(dyn std::error::Error + 'static)| {
                matches!(cause.downcast_ref(), Some(StoreError::Engine { .. }))
            };
            match error.chain().any(is_engine_error) {
                true => error.context(self.options.store.name()),
                false => error,
            }
        });
        if let Err(error) = &result {
            // Ignore a failure to print the error, because the command returns the error anyway.
            let _ = Failure::from_error(error).show(&mut printer);
        }
        result
    }

    fn dispatch(
        &self,
        effective: &EffectiveSettings,
        printer: &mut Printer<'_>,
    ) -> anyhow::Result<()> {
        let options = &self.options;
        match &self.command {
            Command::Serve(settings) => serve::serve(&options.store, settings, effective),
            Command::Demo(args) => demo::demo(args, printer.out()),
            Command::Orders(command) => command.run(options, printer),
            Command::Pets(command) => command.run(options, printer),
            Command::Accounts(command) => command.run(options, printer),
            Command::Keys(command) => command.run(options, printer),
            Command::Backup(args) => args.run(options, printer),
            Command::Restore(args) => args.run(options, printer),
            Command::Check => check::check(options, printer),
            Command::Health(args) => args.run(options, printer),
            Command::Status => status::status(options, printer),
            Command::Migrate(args) => args.run(options, printer),
            Command::Config(command) => command.run(options, effective, printer),
            Command::SystemdUnit(args) => Ok(printer.text(&args.text())?),
            Command::NginxConf(args) => Ok(printer.text(&args.text())?),
            Command::Handbook(args) => args.run(printer.out()),
            Command::Alerts => Ok(printer.text(ALERTS)?),
            Command::Dashboard => Ok(printer.text(DASHBOARD)?),
            Command::Completions(args) => args.run(command(), printer.out()),
            Command::Man(args) => args.run(command(), printer.out()),
            Command::Openapi(args) => args.run(printer.out()),
        }
    }
}

/// Returns 128 plus the signal's number if a signal ended the program. Otherwise, the failure's
/// code decides the exit status.
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    let signal = error.downcast_ref::<serve::EndedBySignal>();
    ExitCode::from(
        signal.map_or_else(|| Failure::from_error(error).code.status(), |signal| signal.status),
    )
}

/// Prints in JSON why the command line or the settings were refused, if the command line has
/// `--json`.
pub fn show_refusal(code: FailureCode, text: &str, out: &mut dyn Write) -> io::Result<()> {
    // Search for `--json` without parsing, because the command line may be invalid.
    if !std::env::args_os().any(|argument| argument == "--json") {
        return Ok(());
    }
    let message = text.split("\n\nUsage:").next().unwrap_or(text);
    let message = message.split("\n\nFor more").next().unwrap_or(message);
    let message = without_secrets(message.trim_start_matches("error: "));
    Failure { code, message }.show(&mut Printer::new(out, true))
}

/// Returns true if this command line runs `serve`, which logs to standard error. The command line
/// may be invalid.
pub fn writes_log(arguments: impl IntoIterator<Item = OsString>) -> bool {
    let lenient = command().ignore_errors(true);
    let matches = lenient.try_get_matches_from(arguments);
    matches.is_ok_and(|matches| matches.subcommand_name() == Some("serve"))
}

/// True if a command failed because its output was closed. The program does not report such
/// failures. False for `KeyNotShown`, because the operator must see that a new key was not printed.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_valid() {
        command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("store-orders "), "{} has no example", command.get_name());
            command.get_subcommands().filter(|sub| sub.get_name() != "help").for_each(check);
        }
        check(&command());
    }
}
