//! The live server: built once, started with a store of its own for each judge.

use crate::repository::Repository;
use anyhow::{Context, bail};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The lowest id.
pub const FIRST_ORDER: i64 = -50;
/// A pending order with a ship date, for pet 7.
pub const PENDING: i64 = 1;
/// A shipped order without a ship date.
pub const SHIPPED: i64 = 2;
/// No order has this id.
pub const MISSING: i64 = 999_999;

/// The program `store-orders`.
pub struct ServerProgram {
    path: PathBuf,
}

impl ServerProgram {
    /// Builds it next to this program.
    pub fn build(repository: &Repository) -> anyhow::Result<ServerProgram> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["build", "--quiet", "--package", "store-orders"]);
        let status = command.current_dir(repository.root()).status().context("cannot run cargo")?;
        if !status.success() {
            bail!("the server does not compile");
        }
        Ok(ServerProgram { path: std::env::current_exe()?.with_file_name("store-orders") })
    }

    /// Starts it with some orders and pets.
    pub fn start(&self) -> anyhow::Result<RunningServer> {
        let directory = tempfile::tempdir()?;
        for (kind, records) in [("orders", orders()), ("pets", (0..20).map(pet).collect())] {
            let file = directory.path().join(kind).with_extension("json");
            std::fs::write(&file, records.to_string())?;
            run(&self.path, directory.path(), &[kind, "import", &file.to_string_lossy()])?;
        }
        let mut serve = command(&self.path, directory.path());
        // Requests without a key must not exhaust their own limit first.
        serve.args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "off"]);
        serve.args(["--keyless-per-minute", "1000000"]);
        let log = std::fs::File::create(directory.path().join("log"))?;
        let mut child = serve.stdout(Stdio::piped()).stderr(log).spawn().context("cannot serve")?;
        let lines = child.stdout.take().map(BufReader::new);
        let mut server =
            RunningServer { child, base_url: String::new(), directory, program: self.path.clone() };
        for line in lines.into_iter().flat_map(BufRead::lines) {
            if let Some((_, base_url)) = line?.split_once("listening on ") {
                server.base_url = base_url.to_string();
                return Ok(server);
            }
        }
        bail!("the server ended before it listened")
    }
}

/// A running server. It is killed when dropped.
pub struct RunningServer {
    child: Child,
    /// The base URL, which ends in `/v1`.
    pub base_url: String,
    directory: TempDir,
    program: PathBuf,
}

impl RunningServer {
    /// A key of a new account with this limit.
    pub fn key(&self, account: &str, per_minute: u32) -> anyhow::Result<String> {
        let (data, per_minute) = (self.directory.path(), per_minute.to_string());
        let plan = ["--plan", "enterprise", "--per-day", "1000000", "--per-minute", &per_minute];
        run(&self.program, data, &[&["accounts", "create", account], &plan[..]].concat())?;
        let issued = run(&self.program, data, &["keys", "issue", "--account", account])?;
        // The server polls for new keys every second.
        std::thread::sleep(std::time::Duration::from_secs(1));
        let key = issued.get("key").and_then(Value::as_str);
        Ok(key.context("keys issue printed no key")?.to_string())
    }

    /// Findings, if there are any, followed by the server's log without its
    /// requests. The keys are redacted.
    pub fn with_log(&self, mut findings: Vec<String>, keys: &[&str]) -> Vec<String> {
        if !findings.is_empty() {
            let log =
                std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
            findings.push("The server's log, without its requests:".to_string());
            let lines = log.lines().filter(|line| !line.contains(r#""msg":"request""#));
            findings.extend(lines.map(str::to_string));
        }
        let redact = |line: String| keys.iter().fold(line, |line, key| line.replace(key, "<key>"));
        findings.into_iter().map(redact).collect()
    }

    /// A directory that is removed with the server.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove("STORE_ORDERS_DATA_DIR").arg("--data-dir").arg(directory.join("data"));
    command
}

fn run(program: &Path, directory: &Path, arguments: &[&str]) -> anyhow::Result<Value> {
    let mut command = command(program, directory);
    let output = command.args(arguments).arg("--json").output().context("cannot run the server")?;
    if !output.status.success() {
        bail!("{}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).with_context(|| arguments.join(" "))
}

/// Enough that generated small ids hit both pending and shipped orders.
fn orders() -> Value {
    let order = |id: i64| {
        let status = if id % 3 == 2 { "shipped" } else { "pending" };
        // Import takes `null` for an unknown date.
        let ship_date = (id % 2 == 1).then_some("2026-12-24T09:30:00Z");
        json!({ "id": id, "petId": 7, "quantity": 1, "status": status, "shipDate": ship_date })
    };
    (FIRST_ORDER..300).map(order).collect()
}

fn pet(id: i64) -> Value {
    json!({ "id": id, "name": format!("Pet {id}") })
}
