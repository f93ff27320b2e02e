//! A data directory that tests fill with the operator's commands.

use crate::preload::Preload;
use crate::program::{Program, run};
use crate::server_process::ServerProcess;
use anyhow::Context;
use serde_json::Value;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Flags that [`DataDir::start`] adds unless its caller sets them: a free port and no admin
/// listener.
const DEFAULT_FLAGS: [(&str, &str); 2] = [("--listen", "127.0.0.1:0"), ("--admin-listen", "off")];

#[derive(Debug)]
pub struct DataDir {
    program: Program,
    path: PathBuf,
    /// The store's URL, if the store is not in the directory.
    store: Option<String>,
    variables: Vec<(&'static str, PathBuf)>,
    /// The parent directory, if it is temporary. Dropping the `DataDir` deletes the parent
    /// directory.
    _temporary: Option<TempDir>,
}

#[derive(Clone, Debug)]
pub struct Key {
    /// The id that lists and logs show.
    pub id: String,
    /// The secret that clients send.
    pub text: String,
}

impl Key {
    /// Returns the bytes of an HTTP/1.1 request with this key; `target` is the method and path,
    /// such as `GET /v1/pets/7`.
    pub fn http1(&self, target: &str) -> Vec<u8> {
        let bearer = format!("Authorization: Bearer {}", self.text);
        format!("{target} HTTP/1.1\r\nHost: a\r\n{bearer}\r\n\r\n").into_bytes()
    }
}

impl DataDir {
    pub fn at(program: &Program, path: &Path) -> DataDir {
        let (program, path) = (program.clone(), path.to_path_buf());
        DataDir { program, path, store: None, variables: Vec::new(), _temporary: None }
    }

    /// Uses this directory for files, but keeps orders, accounts and keys in the store at this URL.
    pub fn on_store(program: &Program, path: &Path, store: &str) -> DataDir {
        DataDir { store: Some(store.to_string()), ..DataDir::at(program, path) }
    }

    /// Returns a data directory for the built program. Dropping the `DataDir` deletes the
    /// directory.
    pub fn temporary() -> anyhow::Result<DataDir> {
        let (program, directory) = (Program::built()?, tempfile::tempdir()?);
        let path = directory.path().join("data");
        Ok(DataDir { _temporary: Some(directory), ..DataDir::at(&program, &path) })
    }

    /// Preloads the library `disk`, which copies each file to `directory` just before the file is
    /// synced. So the copies have what would survive a power cut. The library cannot copy
    /// write-only files.
    pub fn keep_synced(mut self, disk: &Preload, directory: &Path) -> DataDir {
        let library = disk.library().to_path_buf();
        self.variables = vec![("LD_PRELOAD", library), ("TESTBED_SYNCED", directory.to_path_buf())];
        self
    }

    pub fn store(&self) -> Option<&str> {
        self.store.as_deref()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        self.run_with_input(arguments, b"")
    }

    pub fn run_json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let text = self.run(&[arguments, &["--json"]].concat())?;
        serde_json::from_str(&text).with_context(|| arguments.join(" "))
    }

    pub fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> anyhow::Result<String> {
        let mut command = self.command();
        let output = run(command.args(arguments), input)?;
        output.success().with_context(|| format!("store-orders {}", arguments.join(" ")))
    }

    pub fn import_pending(&self, ids: RangeInclusive<i64>) -> anyhow::Result<()> {
        let rows: String = ids.map(|id| format!("{id},7,1\n")).collect();
        let csv = format!("id,petId,quantity\n{rows}");
        self.run_with_input(&["orders", "import", "-"], csv.as_bytes())?;
        Ok(())
    }

    pub fn issue_key(&self, account: &str, plan: &str) -> anyhow::Result<Key> {
        self.issue(account, &["--plan", plan])
    }

    pub fn issue_enterprise_key(
        &self,
        account: &str,
        per_minute: u32,
        per_day: u32,
    ) -> anyhow::Result<Key> {
        let (minute, day) = (per_minute.to_string(), per_day.to_string());
        let limits = ["--plan", "enterprise", "--per-minute", &minute, "--per-day", &day];
        self.issue(account, &limits)
    }

    fn issue(&self, account: &str, plan: &[&str]) -> anyhow::Result<Key> {
        self.run(&[&["accounts", "create", account], plan].concat())?;
        self.issue_another_key(account)
    }

    pub fn issue_another_key(&self, account: &str) -> anyhow::Result<Key> {
        let issued = self.run_json(&["keys", "issue", "--account", account])?;
        let text = |name| issued.get(name).and_then(Value::as_str).map(ToString::to_string);
        let (id, text) = text("id").zip(text("key")).context("`keys issue` printed no key")?;
        Ok(Key { id, text })
    }

    /// Starts a server on a free port without an admin listener, unless `flags` say otherwise.
    pub fn serve(&self, flags: &[&str]) -> anyhow::Result<ServerProcess> {
        self.start(&mut self.command(), flags)
    }

    /// Starts a server from `sh`, which first runs the command `shell`, for example `ulimit`. Adds
    /// the default flags of [`DataDir::serve`]. The settings of [`DataDir::on_store`] and
    /// [`DataDir::keep_synced`] have no effect.
    pub fn serve_after(&self, shell: &str, flags: &[&str]) -> anyhow::Result<ServerProcess> {
        let mut command = self.program.command_after(shell);
        command.arg("--data-dir").arg(&self.path);
        self.start(&mut command, flags)
    }

    /// Starts a server with the default flags of [`DataDir::serve`]. `command` must use this data
    /// directory, as a command from [`DataDir::command`] does.
    pub fn start(&self, command: &mut Command, flags: &[&str]) -> anyhow::Result<ServerProcess> {
        std::fs::create_dir_all(&self.path)?;
        command.arg("serve").args(flags);
        for (flag, value) in DEFAULT_FLAGS.iter().filter(|(flag, _)| !flags.contains(flag)) {
            command.args([flag, value]);
        }
        ServerProcess::start(command, &self.path.with_extension("log"))
    }

    pub fn command(&self) -> Command {
        let mut command = self.program.command();
        command.arg("--data-dir").arg(&self.path).envs(self.variables.iter().cloned());
        if let Some(store) = &self.store {
            command.args(["--store", store]);
        }
        command
    }
}
