//! Provides a directory in which tests run the program's commands as an operator would.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::command_output::CommandOutput;
use crate::program::{Program, run};
use crate::server_process::ServerProcess;
use crate::transcript::{Console, assert_console, assert_session};
use snapbox::data::Inline;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// A temporary directory in which tests run commands. By default, a command keeps its store in the
/// subdirectory `store-orders-data`.
#[derive(Debug)]
pub struct CliSandbox {
    program: Program,
    directory: TempDir,
}

impl CliSandbox {
    pub fn new() -> CliSandbox {
        let program = Program::built().unwrap();
        CliSandbox { program, directory: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub fn names(&self, directory: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(directory)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Prepares a command that ignores settings in the caller's environment. The command's
    /// temporary files are in the sandbox. So dropping the sandbox deletes even the files of a
    /// killed `demo`.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program.command();
        command.args(arguments).current_dir(self.directory.path());
        command.env("TMPDIR", self.directory.path());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.run_with_input(arguments, b"")
    }

    pub fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> CommandOutput {
        run(self.command(arguments).envs(environment.iter().copied()), b"").unwrap()
    }

    pub fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> CommandOutput {
        run(&mut self.command(arguments), input).unwrap()
    }

    /// Runs the commands of the session `expected`, and asserts that they print what the session
    /// shows. `assert_session` explains the notation.
    #[track_caller]
    pub fn session(&self, expected: Inline) {
        assert_session(self.program.path(), self.directory.path(), expected);
    }

    /// Runs the commands in a code block of a document, and asserts that they print what the block
    /// shows.
    #[track_caller]
    pub fn console(&self, console: &Console<'_>) {
        assert_console(self.program.path(), self.directory.path(), console);
    }

    pub fn serve(&self, flags: &[&str]) -> ServerProcess {
        let mut command = self.command(&[&["serve", "--admin-listen", "off"], flags].concat());
        ServerProcess::start(&mut command, &self.path("log")).unwrap()
    }

    pub fn import_pending(&self, ids: impl IntoIterator<Item = i64>) {
        let rows: String = ids.into_iter().map(|id| format!("{id},1,1\n")).collect();
        let csv = format!("id,petId,quantity\n{rows}");
        self.run_with_input(&["orders", "import", "-"], csv.as_bytes()).done();
    }
}
