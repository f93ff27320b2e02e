//! Tests of the command line. Most of them run the real program, each in its own directory.

mod accounts;
mod audit;
mod backup;
mod check;
mod config;
mod data_directory;
mod errors;
mod handbook;
mod health;
mod help;
mod imports;
mod keys;
mod one_machine;
mod orders;
mod runbook;
mod status;

use std::path::Path;
use store_orders::cli::command;
use store_orders::store::sqlite::SqliteStore;
use testbed::CliSandbox;

/// Returns the program and all its subcommands except `help`, each with its full name and inherited
/// options.
fn commands() -> Vec<clap::Command> {
    fn with_subcommands(command: &clap::Command) -> Vec<clap::Command> {
        let subcommands = command.get_subcommands().flat_map(with_subcommands);
        [command.clone()].into_iter().chain(subcommands).collect()
    }
    let mut program = command().disable_help_subcommand(true);
    program.build();
    let all = with_subcommands(&program);
    assert!(all.len() > 30, "{all:?}");
    all
}

/// Returns the command as a user types it, such as `store-orders orders import`.
fn name_of(command: &clap::Command) -> &str {
    command.get_bin_name().unwrap_or(command.get_name())
}

/// Opens the sandbox's store as a server does.
fn store(sandbox: &CliSandbox) -> SqliteStore {
    SqliteStore::open(&sandbox.path("store-orders-data")).unwrap()
}

/// Blocks until the future completes. Most tests of commands are not async, but some methods of the
/// store are.
fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn damage(file: &Path, page: usize) {
    let mut content = std::fs::read(file).unwrap();
    let bytes = &mut content[page * 4096..(page + 1) * 4096];
    bytes.iter_mut().for_each(|byte| *byte ^= 0xff);
    std::fs::write(file, content).unwrap();
}
