//! Finds or builds the program `store-orders`, and runs its commands.

use crate::child_process;
use crate::command_output::CommandOutput;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
}

impl Program {
    /// Finds the program `store-orders` in the `target` directory and profile of the calling
    /// program. `cargo test` builds `store-orders` before it runs the tests.
    pub fn built() -> anyhow::Result<Program> {
        let name = format!("store-orders{}", std::env::consts::EXE_SUFFIX);
        let path = profile_directory()?.join(name);
        if !path.is_file() {
            bail!("{} is missing: cargo build --package store-orders", path.display());
        }
        Ok(Program { path })
    }

    pub fn at(path: &Path) -> Program {
        Program { path: path.to_path_buf() }
    }

    /// Builds the program from the checkout at `repository`, in the same cargo profile as the
    /// running executable.
    pub fn build(repository: &Path) -> anyhow::Result<Program> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["build", "--quiet", "--bin", "store-orders"]).current_dir(repository);
        if profile_directory()?.ends_with("release") {
            command.args(["--release", "--package", "store-orders"]);
        } else {
            // With `--package`, cargo would choose other features than for tests, and compile a
            // fifth of the crates again.
            command.arg("--workspace");
        }
        if !command.status().context("cannot run cargo")?.success() {
            bail!("the server does not compile");
        }
        Program::built()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Prepares a command that ignores settings in the caller's environment.
    pub fn command(&self) -> Command {
        without_settings(Command::new(&self.path))
    }

    /// Returns [`Program::command`], run by a shell that first runs `shell`.
    pub fn command_after(&self, shell: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{shell} && exec \"$0\" \"$@\"")]).arg(&self.path);
        without_settings(command)
    }

    pub fn run(&self, arguments: &[&str]) -> anyhow::Result<CommandOutput> {
        run(self.command().args(arguments), b"")
    }
}

pub(crate) fn run(command: &mut Command, input: &[u8]) -> anyhow::Result<CommandOutput> {
    CommandOutput::new(child_process::output(command, input)?)
}

pub(crate) fn without_settings(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("STORE_ORDERS_") {
            command.env_remove(name);
        }
    }
    command
}

/// Returns the directory of this program's profile, such as `target/debug`. Test programs are in
/// its subdirectory `deps`.
fn profile_directory() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let directory = program.parent().context("this program is in no directory")?;
    let profile = if directory.ends_with("deps") { directory.parent() } else { Some(directory) };
    Ok(profile.context("this program is in no target directory")?.to_path_buf())
}
