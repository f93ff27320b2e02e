//! The command line: the real program, each test in a directory of its own.

mod accounts;
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
use std::sync::Arc;
use store_orders::cli::command;
use store_orders::store::sqlite::SqliteStore;
use testbed::CliSandbox;

/// The program and all commands below it, each with its whole name and the options of those above.
fn commands() -> Vec<clap::Command> {
    fn with_those_below(command: &clap::Command) -> Vec<clap::Command> {
        let below = command.get_subcommands().flat_map(with_those_below);
        [command.clone()].into_iter().chain(below).collect()
    }
    let mut program = command().disable_help_subcommand(true);
    program.build();
    let all = with_those_below(&program);
    assert!(all.len() > 30, "{all:?}");
    all
}

/// As it is typed: `store-orders orders import`.
fn name_of(command: &clap::Command) -> &str {
    command.get_bin_name().unwrap_or(command.get_name())
}

/// The store of the commands, as the server opens it.
fn store(sandbox: &CliSandbox) -> Arc<SqliteStore> {
    Arc::new(SqliteStore::open(&sandbox.path("store-orders-data")).unwrap())
}

/// What a store answers.
fn wait<T>(asked: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(asked)
}

/// Inverts every byte of a page of a file.
fn damage(file: &Path, page: usize) {
    let mut content = std::fs::read(file).unwrap();
    let bytes = &mut content[page * 4096..(page + 1) * 4096];
    bytes.iter_mut().for_each(|byte| *byte ^= 0xff);
    std::fs::write(file, content).unwrap();
}
