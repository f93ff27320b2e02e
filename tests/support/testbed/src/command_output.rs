//! The output and exit status of a command, with assertions for tests.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use anyhow::{Context, bail};
use serde_json::Value;
use std::process::Output;

#[derive(Debug)]
pub struct CommandOutput {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl CommandOutput {
    pub(crate) fn new(output: Output) -> anyhow::Result<CommandOutput> {
        Ok(CommandOutput {
            status: output.status.code().context("a signal ended the command")?,
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        })
    }

    pub fn success(self) -> anyhow::Result<String> {
        if self.status != 0 {
            bail!("exit status {}: {}", self.status, self.stderr.trim());
        }
        Ok(self.stdout)
    }

    pub fn done(self) -> String {
        assert_eq!((self.status, self.stderr.as_str()), (0, ""), "{}", self.stdout);
        self.stdout
    }

    pub fn json(self) -> Value {
        serde_json::from_str(&self.done()).unwrap()
    }

    /// Asserts that the command failed with status 1 and printed only a one-line error. Returns the
    /// error without its prefix `error: `.
    pub fn error(self) -> String {
        self.error_with(1)
    }

    /// Asserts the same as [`CommandOutput::error`], but expects status 4, which means that the
    /// store cannot be used.
    pub fn unavailable(self) -> String {
        self.error_with(4)
    }

    fn error_with(self, status: i32) -> String {
        assert_eq!((self.status, self.stdout.as_str()), (status, ""), "{}", self.stderr);
        let text = self.stderr.strip_prefix("error: ").unwrap().trim_end();
        assert!(!text.contains('\n'), "{text}");
        text.to_string()
    }

    pub fn failed_server(self) -> String {
        assert_eq!(self.stdout, "", "{}", self.stderr);
        let lines: Result<Vec<Value>, _> = self.stderr.lines().map(serde_json::from_str).collect();
        let last = lines.unwrap().pop().unwrap();
        let field = |name| last.get(name).and_then(Value::as_str);
        assert_eq!((field("level"), field("msg")), (Some("ERROR"), Some("serve failed")));
        let error = field("error").unwrap().to_string();
        let status = if error.contains("the store cannot be ") { 4 } else { 1 };
        assert_eq!(self.status, status, "{error}");
        error
    }

    /// Asserts exit status 2 (invalid arguments) and empty standard output. Returns the error.
    pub fn usage(self) -> String {
        assert_eq!((self.status, self.stdout.as_str()), (2, ""), "{}", self.stderr);
        self.stderr
    }
}
