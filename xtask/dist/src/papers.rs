//! What comes with the program: man pages, completions, the unit and configurations, as the
//! program prints them.

use crate::archive::Entry;
use anyhow::Context;
use testbed::Program;

/// Where each shell looks for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/store-orders"),
    ("fish", "share/fish/vendor_completions.d/store-orders.fish"),
    ("zsh", "share/zsh/site-functions/_store-orders"),
];

/// What the program prints under which command.
const PRINTED: [(&[&str], &str); 6] = [
    (&["systemd-unit"], "lib/systemd/system/store-orders.service"),
    (&["alerts"], "share/doc/store-orders/alerts.yaml"),
    (&["config", "default"], "share/doc/store-orders/store-orders.toml"),
    (&["dashboard"], "share/doc/store-orders/dashboard.json"),
    (&["nginx-conf"], "share/doc/store-orders/nginx.conf"),
    (&["openapi"], "share/doc/store-orders/openapi.json"),
];

/// The files that this program prints.
pub fn printed(program: &Program) -> anyhow::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for (command, path) in PRINTED {
        entries.push(Entry::file(path, program.run(command)?.success()?));
    }
    for (shell, path) in COMPLETIONS {
        entries.push(Entry::file(path, program.run(&["completions", shell])?.success()?));
    }
    let directory = tempfile::tempdir()?;
    let into = directory.path().to_str().context("the temporary directory is not UTF-8")?;
    program.run(&["man", "--into", into])?.success()?;
    for page in std::fs::read_dir(directory.path())? {
        let page = page?;
        let name = page.file_name().to_string_lossy().into_owned();
        entries.push(Entry::file(format!("share/man/man1/{name}"), std::fs::read(page.path())?));
    }
    Ok(entries)
}
