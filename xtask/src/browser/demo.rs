//! The server that serves the pages: the demonstration, with its key.

use crate::repository::Repository;
use anyhow::{Context, bail};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use testbed::ChildProcess;

/// A running demonstration.
pub struct Demo {
    process: ChildProcess,
    address: String,
    /// The key that it printed.
    pub key: String,
}

impl Demo {
    /// Builds the server and starts it on a free port.
    pub fn start(repository: &Repository) -> anyhow::Result<Demo> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let built = Command::new(cargo)
            .args(["build", "--quiet", "--package", "store-orders"])
            .current_dir(repository.root())
            .status()
            .context("cannot run cargo")?;
        if !built.success() {
            bail!("the server does not compile");
        }
        let mut child = Command::new(std::env::current_exe()?.with_file_name("store-orders"))
            .args(["demo", "--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the server")?;
        let lines = child.stdout.take().map(BufReader::new);
        let process = ChildProcess::new(child, "the server");
        let mut key = None;
        for line in lines.into_iter().flat_map(BufRead::lines) {
            let line = line?;
            if let Some(printed) = line.trim_start().strip_prefix("KEY=") {
                key = Some(printed.to_string());
            } else if let Some(base) = line.strip_prefix("listening on http://") {
                let address = base.split('/').next().unwrap_or_default().to_string();
                let key = key.context("the demonstration printed no key")?;
                return Ok(Demo { process, address, key });
            }
        }
        bail!("the server ended before it listened")
    }

    /// Where it listens, without a path.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends it; it takes its store with it.
    pub fn stop(self) -> anyhow::Result<()> {
        self.process.stop().map(drop)
    }
}
