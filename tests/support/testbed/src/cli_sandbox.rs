//! A directory in which tests run the program's commands like an operator.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::command_output::CommandOutput;
use crate::program::{Program, run};
use crate::server_process::ServerProcess;
use crate::transcript::{Console, assert_console, assert_session};
use snapbox::data::Inline;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// A directory to run commands in. Without `--data-dir`, commands use its subdirectory
/// `store-orders-data`.
#[derive(Debug)]
pub struct CliSandbox {
    program: Program,
    directory: TempDir,
}

impl CliSandbox {
    /// Creates an empty directory.
    pub fn new() -> CliSandbox {
        let program = Program::built().unwrap();
        CliSandbox { program, directory: tempfile::tempdir().unwrap() }
    }

    /// Returns a path below the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    /// The sorted names in a directory, including hidden ones.
    pub fn names(&self, directory: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(directory)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Prepares a command without settings in its environment. Its temporary files are below the
    /// directory, so that the files of a killed `demo` are deleted, too.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program.command();
        command.args(arguments).current_dir(self.directory.path());
        command.env("TMPDIR", self.directory.path());
        command
    }

    /// Runs a command without input.
    pub fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.run_with_input(arguments, b"")
    }

    /// Runs a command with these environment variables.
    pub fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> CommandOutput {
        run(self.command(arguments).envs(environment.iter().copied()), b"").unwrap()
    }

    /// Runs a command with this standard input.
    pub fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> CommandOutput {
        run(&mut self.command(arguments), input).unwrap()
    }

    /// Runs the commands of a session in a shell, and asserts their output. Lines of standard error
    /// are shown after `! `, or, if the command failed, after its exit status, such as `(3) `.
    #[track_caller]
    pub fn session(&self, expected: Inline) {
        assert_session(self.program.path(), self.directory.path(), expected);
    }

    /// Runs the commands of a document's session, and asserts that their output is as shown.
    #[track_caller]
    pub fn console(&self, console: &Console<'_>) {
        assert_console(self.program.path(), self.directory.path(), console);
    }

    /// Starts a server with these flags and without an admin listener.
    pub fn serve(&self, flags: &[&str]) -> ServerProcess {
        let mut command = self.command(&[&["serve", "--admin-listen", "off"], flags].concat());
        ServerProcess::start(&mut command, &self.path("log")).unwrap()
    }

    /// Imports pending orders with these ids for pet 1.
    pub fn import_pending(&self, ids: impl IntoIterator<Item = i64>) {
        let rows: String = ids.into_iter().map(|id| format!("{id},1,1\n")).collect();
        let csv = format!("id,petId,quantity\n{rows}");
        self.run_with_input(&["orders", "import", "-"], csv.as_bytes()).done();
    }
}
