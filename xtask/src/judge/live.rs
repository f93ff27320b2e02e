//! The live server: built once, started with a store of its own for each judge,
//! ended by its id.

use crate::repository::Repository;
use anyhow::{Context, bail};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A pending order with a ship date, for pet 7.
pub const PENDING: i64 = 1;
/// A shipped order without one.
pub const SHIPPED: i64 = 2;
/// No order.
pub const MISSING: i64 = 999_999;

/// The server program.
pub struct Live {
    program: PathBuf,
}

impl Live {
    /// Builds it, beside this program.
    pub fn build(repository: &Repository) -> anyhow::Result<Live> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["build", "--quiet", "--package", "store-orders"]);
        let status = command.current_dir(repository.root()).status().context("cannot run cargo")?;
        if !status.success() {
            bail!("the server does not compile");
        }
        Ok(Live { program: std::env::current_exe()?.with_file_name("store-orders") })
    }

    /// Starts it with some orders and pets.
    pub fn start(&self) -> anyhow::Result<Running> {
        let directory = tempfile::tempdir()?;
        let orders = directory.path().join("orders.json");
        let pets = directory.path().join("pets.json");
        std::fs::write(&orders, orders_of_the_store().to_string())?;
        std::fs::write(&pets, (0..20).map(pet).collect::<Value>().to_string())?;
        self.operator(directory.path(), &["orders", "import", &orders.to_string_lossy()])?;
        self.operator(directory.path(), &["pets", "import", &pets.to_string_lossy()])?;

        let mut serve = self.command(directory.path());
        // Callers without a key are not to be limited before those with one.
        serve.args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "off"]);
        serve.args(["--keyless-per-minute", "1000000"]);
        let log = std::fs::File::create(directory.path().join("log"))?;
        let mut child = serve.stdout(Stdio::piped()).stderr(log).spawn().context("cannot serve")?;
        let lines = child.stdout.take().map(BufReader::new);
        let running =
            |base_url| Running { child, base_url, directory, program: self.program.clone() };
        for line in lines.into_iter().flat_map(BufRead::lines) {
            if let Some((_, base_url)) = line?.split_once("listening on ") {
                return Ok(running(base_url.to_string()));
            }
        }
        bail!("the server ended before it listened")
    }

    fn command(&self, data: &Path) -> Command {
        command(&self.program, data)
    }

    fn operator(&self, data: &Path, arguments: &[&str]) -> anyhow::Result<Value> {
        operator(&self.program, data, arguments)
    }
}

/// A running server. It is killed when it is dropped.
pub struct Running {
    child: Child,
    /// What every path is relative to.
    pub base_url: String,
    directory: TempDir,
    program: PathBuf,
}

impl Running {
    /// A key of a new account with these requests a minute.
    pub fn key(&self, account: &str, per_minute: u32) -> anyhow::Result<String> {
        let (data, per_minute) = (self.directory.path(), per_minute.to_string());
        let plan = ["--plan", "enterprise", "--per-day", "1000000", "--per-minute", &per_minute];
        operator(&self.program, data, &[&["accounts", "create", account], &plan[..]].concat())?;
        let issued = operator(&self.program, data, &["keys", "issue", "--account", account])?;
        // The server hears of a new key within a second.
        std::thread::sleep(std::time::Duration::from_secs(1));
        let key = issued.get("key").and_then(Value::as_str);
        Ok(key.context("keys issue printed no key")?.to_string())
    }

    /// What a judge found, with what the server says of it: all that it logged
    /// but requests. No key is left in it.
    pub fn explained(&self, found: &str, keys: &[&str]) -> String {
        let log = std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        let lines = log.lines().filter(|line| !line.contains(r#""msg":"request""#));
        let mut text = format!("{found}\nThe server's log, without its requests:\n");
        text.extend(lines.flat_map(|line| [line, "\n"]));
        keys.iter().fold(text, |text, key| text.replace(key, "<key>"))
    }

    /// A directory that goes with the server.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended; there is nothing more to do about it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(program: &Path, data: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove("STORE_ORDERS_DATA_DIR").arg("--data-dir").arg(data.join("data"));
    command
}

fn operator(program: &Path, data: &Path, arguments: &[&str]) -> anyhow::Result<Value> {
    let mut command = command(program, data);
    let output = command.args(arguments).arg("--json").output().context("cannot run the server")?;
    if !output.status.success() {
        bail!("{}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).with_context(|| arguments.join(" "))
}

/// Enough that whoever guesses small numbers finds pending and shipped ones.
fn orders_of_the_store() -> Value {
    let order = |id: i64| {
        let status = if id % 3 == 2 { "shipped" } else { "pending" };
        // Import takes `null` for a date that is not known.
        let ship_date = (id % 2 == 1).then_some("2026-12-24T09:30:00Z");
        json!({ "id": id, "petId": 7, "quantity": 1, "status": status, "shipDate": ship_date })
    };
    (-50..300).map(order).collect()
}

fn pet(id: i64) -> Value {
    json!({ "id": id, "name": format!("Pet {id}") })
}
