//! `migrate`: creates and updates the tables of a store in PostgreSQL. With `--print-grants`, only
//! prints the SQL that grants a server's role its rights.

use super::audit::{Change, record, record_in};
use super::options::Options;
use super::printer::Printer;
use super::waiting::with_notice;
use crate::config::StoreLocation;
use crate::store::postgres::{self, Migrated, PostgresOperatorStore, migrate};
use clap::Args;
use serde_json::json;

#[derive(Args, Debug)]
pub struct MigrateArgs {
    /// Print the SQL that grants ROLE what it needs to serve the store; nothing is executed
    #[arg(long, value_name = "ROLE")]
    print_grants: Option<String>,
    /// Give the store a new id, after a point-in-time recovery
    ///
    /// Run this before a server starts. The ids of new accounts and keys then skip ids that the
    /// original store may have issued.
    #[arg(long, conflicts_with = "print_grants")]
    new_store_id: bool,
}

impl MigrateArgs {
    pub(super) fn run(&self, options: &Options, printer: &mut Printer<'_>) -> anyhow::Result<()> {
        let StoreLocation::Postgres(url) = options.store.location()? else {
            anyhow::bail!(
                "only a store in PostgreSQL is migrated by a command: name it with --store; the one \
                 in a data directory is brought up to date when it is opened"
            );
        };
        if self.new_store_id {
            let id = with_notice(|_| {
                // Migrate first. After a recovery, the tables may be old, or the database of the
                // request counts may be missing.
                migrate(&url)?;
                let store = PostgresOperatorStore::connect(&url)?;
                let id = postgres::begin_new_store(&store)?;
                record(&store, Change { command: "migrate --new-store-id", ..Change::default() });
                anyhow::Ok(id)
            })?;
            return Ok(printer.show(&json!({ "id": id }), format_args!("the store's id is {id}"))?);
        }
        match &self.print_grants {
            Some(role) => Ok(printer.text(&postgres::print_grants(&url, role)?)?),
            None => {
                let Migrated { lines, has_changed } = with_notice(|_| migrate(&url))?;
                if has_changed {
                    let change = Change { command: "migrate", ..Change::default() };
                    record_in(PostgresOperatorStore::connect(&url), change);
                }
                Ok(printer.show(&json!({ "done": lines }), lines.join("\n"))?)
            }
        }
    }
}
