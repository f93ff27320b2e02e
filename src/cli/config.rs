//! `config`: the default file, and the settings that are in force.

use super::Options;
use super::printer::Printer;
use super::table::Column;
use crate::config::{InForce, ServerConfig, default_file};
use clap::Subcommand;
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  store-orders config default > store-orders.toml
  store-orders config check store-orders.toml")]
pub enum Command {
    /// Print a file with every setting, what it means and its default
    #[command(after_help = "\
Example:
  store-orders config default > store-orders.toml")]
    Default,
    /// Check the settings of a file, the environment and flags without starting
    #[command(after_help = "\
Example:
  store-orders config check store-orders.toml")]
    Check {
        /// The file to check, in place of the one that --config names
        #[arg(value_name = "FILE")]
        checked_file: Option<PathBuf>,
        #[command(flatten)]
        settings: Box<ServerConfig>,
    },
    /// Show the settings in force, and where each of them comes from
    #[command(after_help = "\
Examples:
  store-orders config show --config store-orders.toml
  STORE_ORDERS_LISTEN=0.0.0.0:8080 store-orders config show --json")]
    Show(Box<ServerConfig>),
}

impl Command {
    /// Settings that cannot be used have been refused before.
    pub(super) fn run(
        &self,
        options: &Options,
        in_force: &InForce,
        printer: &mut Printer<'_>,
    ) -> anyhow::Result<()> {
        match self {
            Command::Default => Ok(printer.text(&default_file())?),
            Command::Check { checked_file, .. } => {
                let file = checked_file.as_ref().or(options.config.as_ref());
                let name = file.map(|file| file.display().to_string());
                let text = match &name {
                    Some(name) => format!("{name}: the settings can be used"),
                    None => "the settings can be used; no file was named".to_string(),
                };
                Ok(printer.show(&json!({ "file": name, "usable": true }), text)?)
            }
            Command::Show(_) => show(in_force, printer),
        }
    }
}

fn show(in_force: &InForce, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    let mut listing =
        printer.listing(vec![Column::text("key"), Column::text("value"), Column::text("origin")]);
    for setting in in_force.settings() {
        listing.add(setting, || {
            vec![setting.key.clone(), setting.text(), setting.origin.to_string()]
        })?;
    }
    Ok(listing.finish()?)
}
