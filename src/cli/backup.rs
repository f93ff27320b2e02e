//! The commands `backup` and `restore`. `backup` copies an embedded store, even while a server uses
//! the store. `backup` refuses a store in PostgreSQL, because PostgreSQL has its own tools for
//! backups. `restore` creates a store from the copy. The new store can be embedded or in
//! PostgreSQL.

use super::audit::{Change, record, record_in};
use super::check::{CheckOutput, format_counts};
use super::interrupts::Interrupts;
use super::options::Options;
use super::printer::Printer;
use super::waiting::show_progress;
use crate::config::{StoreLocation, path_parser};
use crate::store::postgres::{self, PostgresOperatorStore};
use crate::store::sqlite::{self, SqliteStore};
use clap::Args;
use indicatif::HumanBytes;
use serde::Serialize;
use serde_json::json;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct BackupArgs {
    /// The file to write; it must not exist
    #[arg(value_name = "FILE", value_parser = path_parser())]
    file: PathBuf,
}

#[derive(Args, Debug)]
pub struct RestoreArgs {
    /// The file that `backup` wrote
    #[arg(value_name = "FILE", value_parser = path_parser())]
    file: PathBuf,
    /// Replace the store in the data directory, and keep the old files in a new subdirectory, such
    /// as replaced-1
    #[arg(long)]
    replace: bool,
}

#[derive(Serialize)]
struct RestoreOutput {
    #[serde(flatten)]
    restored: CheckOutput,
    /// The directory to which `--replace` moved the files of an old store.
    replaced: Option<PathBuf>,
}

impl BackupArgs {
    pub(super) fn run(&self, options: &Options, printer: &mut Printer<'_>) -> anyhow::Result<()> {
        let StoreLocation::Directory(directory) = options.store.location()? else {
            anyhow::bail!(
                "a store in PostgreSQL is backed up with its own tools: pg_dump for a copy, a base \
                 backup and archived WAL (pg_basebackup, archive_command) for point-in-time recovery"
            );
        };
        let interrupts = Interrupts::watch()?;
        let copy = |progress: sqlite::CopyProgress<'_>| {
            sqlite::back_up(&directory, &self.file, progress, &|| interrupts.status().is_some())
        };
        let bytes =
            match (with_percent(copy), interrupts.error(|| "nothing was written".to_string())) {
                (Err(_), Some(error)) => return Err(error.into()),
                (copied, _) => copied?,
            };
        let file = self.file.display();
        let text = format!("wrote {file}: {}", HumanBytes(bytes));
        Ok(printer.show(&json!({ "file": file.to_string(), "bytes": bytes }), text)?)
    }
}

impl RestoreArgs {
    pub(super) fn run(&self, options: &Options, printer: &mut Printer<'_>) -> anyhow::Result<()> {
        let file = self.file.to_string_lossy();
        let change = Change { command: "restore", file: Some(&*file), ..Change::default() };
        let (name, store, replaced) = match options.store.location()? {
            StoreLocation::Directory(directory) => {
                let (report, replaced) = with_percent(|progress| match self.replace {
                    true => sqlite::replace(&self.file, &directory, progress)
                        .map(|replaced| (replaced.report, replaced.old)),
                    false => sqlite::restore(&self.file, &directory, progress)
                        .map(|report| (report, None)),
                })?;
                record_in(SqliteStore::open_existing(&directory), change);
                (directory.display().to_string(), report, replaced)
            }
            StoreLocation::Postgres(_) if self.replace => {
                anyhow::bail!(
                    "--replace is for a data directory; fix: restore into an empty database"
                )
            }
            StoreLocation::Postgres(url) => {
                let commands = PostgresOperatorStore::connect(&url)?;
                let restored =
                    with_percent(|progress| postgres::restore(&self.file, &commands, progress))?;
                record(&commands, change);
                (url.to_string(), restored, None)
            }
        };
        let restored = CheckOutput { store, counted_accounts: None };
        let mut text = format!("restored {name}\n{}", format_counts(&restored));
        if let Some(replaced) = &replaced {
            text.push_str(&format!("\nreplaced  {}", replaced.display()));
        }
        Ok(printer.show(&RestoreOutput { restored, replaced }, text)?)
    }
}

fn with_percent<T>(copy: impl FnOnce(sqlite::CopyProgress<'_>) -> T) -> T {
    show_progress("{wide_bar} {percent} %{left}", |report| copy(&|copied, all| report(copied, all)))
}
