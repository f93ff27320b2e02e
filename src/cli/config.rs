//! The command `config`: prints a file with the defaults, checks settings, or shows the settings in
//! force.

use super::options::Options;
use super::printer::{Printer, warn};
use super::table::Column;
use crate::config::{DocumentSettings, EffectiveSettings, ServerConfig, default_file};
use clap::Subcommand;
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  store-orders config default > store-orders.toml
  store-orders config check store-orders.toml")]
pub enum ConfigCommand {
    /// Print a file with the meaning and the default of every setting
    #[command(after_help = "\
Example:
  store-orders config default > store-orders.toml")]
    Default,
    /// Check the settings of a file, the environment and flags
    #[command(after_help = "\
Example:
  store-orders config check store-orders.toml")]
    Check {
        /// The file to check instead of the one that --config names
        #[arg(value_name = "FILE")]
        checked_file: Option<PathBuf>,
        #[command(flatten)]
        settings: Box<ServerConfig>,
    },
    /// Show the settings in force and where each comes from
    #[command(after_help = "\
Examples:
  store-orders config show --config store-orders.toml
  STORE_ORDERS_LISTEN=0.0.0.0:8080 store-orders config show --json")]
    Show(Box<ServerConfig>),
}

impl ConfigCommand {
    /// Runs the command. `check` reports valid settings without checking them, because
    /// `Invocation::run` has already refused invalid ones. `check` also warns if the served
    /// documents have no address that clients outside this machine can use.
    pub(super) fn run(
        &self,
        options: &Options,
        effective: &EffectiveSettings,
        printer: &mut Printer<'_>,
    ) -> anyhow::Result<()> {
        match self {
            ConfigCommand::Default => Ok(printer.text(&default_file())?),
            ConfigCommand::Check { checked_file, settings } => {
                if serves_relative_address(settings) {
                    warn(
                        "the served documents have no address that clients outside this machine can \
                         use; fix: set --production-url or --staging-url, such as \
                         https://orders.example.com/v1",
                    );
                }
                let file = checked_file.as_ref().or(options.config.as_ref());
                let name = file.map(|file| file.display().to_string());
                let text = match &name {
                    Some(name) => format!("{name}: the settings are valid"),
                    None => "the settings are valid; no file was named".to_string(),
                };
                Ok(printer.show(&json!({ "file": name, "usable": true }), text)?)
            }
            ConfigCommand::Show(_) => show(effective, printer),
        }
    }
}

/// True if clients on other machines can reach the server, directly or through a proxy, but the
/// served documents name no absolute URL of the server.
fn serves_relative_address(config: &ServerConfig) -> bool {
    let DocumentSettings { production_url, staging_url, .. } = &config.document;
    let is_local = config.listen.resolve("--listen").is_ok_and(|listen| listen.ip().is_loopback());
    let is_reachable = !is_local || !config.trusted_proxies.is_empty();
    production_url.is_none() && staging_url.is_none() && is_reachable
}

fn show(effective: &EffectiveSettings, printer: &mut Printer<'_>) -> anyhow::Result<()> {
    let columns = ["key", "value", "origin"].map(Column::text).to_vec();
    let mut listing = printer.listing(columns, true);
    for setting in effective.settings() {
        listing.add(setting)?;
    }
    Ok(listing.finish()?)
}
