//! `backup` and `restore`: a copy of a live store, and a store made of one.

use super::Options;
use super::check::{Checked, counts};
use super::printer::Printer;
use crate::store::sqlite;
use clap::Args;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use serde_json::json;
use std::path::PathBuf;

/// Where the copy goes.
#[derive(Args, Debug)]
pub struct BackupArgs {
    /// The file to write, which must not exist
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Where the copy is.
#[derive(Args, Debug)]
pub struct RestoreArgs {
    /// The file that `backup` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl BackupArgs {
    pub(super) fn run(&self, options: &Options, printer: &mut Printer<'_>) -> anyhow::Result<()> {
        let directory = &options.store.data_dir;
        let bytes = with_bar(|progress| sqlite::back_up(directory, &self.file, progress))?;
        let file = self.file.display();
        let text = format_args!("wrote {file}: {}", HumanBytes(bytes)).to_string();
        Ok(printer.show(&json!({ "file": file.to_string(), "bytes": bytes }), text)?)
    }
}

impl RestoreArgs {
    pub(super) fn run(&self, options: &Options, printer: &mut Printer<'_>) -> anyhow::Result<()> {
        let directory = &options.store.data_dir;
        let store = with_bar(|progress| sqlite::restore(&self.file, directory, progress))?;
        let restored = Checked { store, counted_accounts: None };
        let text = format!("restored {}\n{}", directory.display(), counts(&restored));
        Ok(printer.show(&restored, text)?)
    }
}

/// The bar is drawn on a terminal only.
fn with_bar<T>(work: impl FnOnce(sqlite::CopyProgress<'_>) -> T) -> T {
    let bar = ProgressBar::no_length().with_style(
        ProgressStyle::with_template("{bar:40} {percent} %")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    let result = work(&|copied, all| {
        bar.set_length(all);
        bar.set_position(copied);
    });
    bar.finish_and_clear();
    result
}
