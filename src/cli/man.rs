//! Man pages: clap's sections, then examples, exit status, environment and files.

use anyhow::Context;
use clap::{Arg, Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, italic, roman};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Arguments of `man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Directory to write into, one page for each command
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

impl ManArgs {
    pub(super) fn run(&self, command: Command, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut command = without_environment_values(command).disable_help_subcommand(true);
        command.build();
        match &self.into {
            None => Ok(write_page(&command, out)?),
            Some(directory) => {
                let doing = || format!("cannot write man pages into {}", directory.display());
                std::fs::create_dir_all(directory).with_context(doing)?;
                write_pages(&command, directory).with_context(doing)
            }
        }
    }
}

/// A page must not show the environment of the machine that wrote it.
fn without_environment_values(command: Command) -> Command {
    command.mut_args(|arg| arg.hide_env_values(true)).mut_subcommands(without_environment_values)
}

/// Writes a page for the command, and one for each below it.
fn write_pages(command: &Command, directory: &Path) -> io::Result<()> {
    for below in command.get_subcommands() {
        write_pages(below, directory)?;
    }
    let mut page = Vec::new();
    write_page(command, &mut page)?;
    File::create(directory.join(Man::new(command.clone()).get_filename()))?.write_all(&page)
}

fn write_page(command: &Command, out: &mut dyn Write) -> io::Result<()> {
    let man = Man::new(command.clone());
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(out)?;
    }
    let mut own = Roff::default();
    add_examples(command, &mut own);
    add_section(
        &mut own,
        "EXIT STATUS",
        EXIT_STATUS.map(|(status, why)| (status, why.to_string())),
    );
    add_section(&mut own, "ENVIRONMENT", environment(command));
    if shown(command).any(|arg| arg.get_id() == "data_dir") {
        add_section(&mut own, "FILES", FILES.map(|(file, what)| (file, what.to_string())));
    }
    own.to_writer(out)?;
    man.render_version_section(out)
}

/// The examples stand after the command's help.
fn add_examples(command: &Command, page: &mut Roff) {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let mut lines = help.lines().skip_while(|line| !line.starts_with("Example"));
    if lines.next().is_none() {
        return;
    }
    page.control("SH", ["EXAMPLES"]).control("nf", []);
    for line in lines.take_while(|line| !line.is_empty()) {
        page.text([roman(line.trim())]);
    }
    page.control("fi", []);
}

fn add_section(
    page: &mut Roff,
    title: &str,
    entries: impl IntoIterator<Item = (impl Into<String>, String)>,
) {
    let mut entries = entries.into_iter().peekable();
    if entries.peek().is_some() {
        page.control("SH", [title]);
    }
    for (name, text) in entries {
        let name = name.into();
        let name = if name.contains('/') { italic(name) } else { bold(name) };
        page.control("TP", []).text([name]).text([roman(text)]);
    }
}

fn shown(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_hide_set())
}

/// Each variable that the command reads, and what it does.
fn environment(command: &Command) -> Vec<(String, String)> {
    let of_options = shown(command).filter_map(|arg| {
        let (variable, flag) = (arg.get_env()?.to_string_lossy(), arg.get_long()?);
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        Some((variable.into_owned(), format!("{help}. --{flag} overrides it.")))
    });
    let mut variables: Vec<_> = of_options.collect();
    if shown(command).any(|arg| arg.get_id() == "store_password_file") {
        let text = "Password for the store in PostgreSQL. A file that is named overrides it.";
        variables.push(("PGPASSWORD".to_string(), text.to_string()));
    }
    variables
}

/// What a command exits with.
const EXIT_STATUS: [(&str, &str); 4] = [
    ("0", "Success."),
    ("1", "Failure. Standard error says why."),
    ("2", "The command line is invalid."),
    (
        "129, 130, 143",
        "SIGHUP, Ctrl-C or SIGTERM ended the command; or a second Ctrl-C or SIGTERM came, which \
         stops a server at once.",
    ),
];

/// What a data directory holds, below its default name.
const FILES: [(&str, &str); 3] = [
    (
        "./store-orders-data/store.sqlite",
        "The store: orders, pets, accounts and digests of keys. Whole only together with \
         store.sqlite-wal while that exists.",
    ),
    ("./store-orders-data/limits.snapshot", "What the server counted of requests, and bans."),
    (
        "./store-orders-data/server.lock, ./store-orders-data/write-intent.lock",
        "Held by the server, and by whichever program writes.",
    ),
];
