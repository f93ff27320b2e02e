//! Starts live servers for the external checks and `cargo xtask browser`. Each server has its own
//! data.

use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;
use testbed::{DataDir, Program, ServerProcess};

pub const FIRST_ORDER: i64 = -50;
/// A pending order with a ship date, for pet 7.
pub const PENDING: i64 = 1;
/// A shipped order without a ship date.
pub const SHIPPED: i64 = 2;
pub const MISSING: i64 = 999_999;

/// A running server. It stops when dropped.
pub struct LiveServer {
    process: ServerProcess,
    data: DataDir,
    directory: TempDir,
}

impl LiveServer {
    /// Starts a server with 20 pets and an order for every id from `FIRST_ORDER` to 299.
    pub fn start(program: &Program) -> anyhow::Result<LiveServer> {
        LiveServer::start_with(program, &[])
    }

    pub fn start_with(program: &Program, flags: &[&str]) -> anyhow::Result<LiveServer> {
        let directory = tempfile::tempdir()?;
        let data = DataDir::at(program, &directory.path().join("data"));
        for (kind, records) in [("orders", orders()), ("pets", (0..20).map(pet).collect())] {
            data.run_with_input(&[kind, "import", "-"], records.to_string().as_bytes())?;
        }
        // Raise the limit for unauthenticated requests so far that the checks never reach this
        // limit.
        let process =
            data.serve(&[&["--unauthenticated-per-minute", "1000000"], flags].concat())?;
        Ok(LiveServer { process, data, directory })
    }

    /// The base URL, which ends in `/v1`.
    pub fn base_url(&self) -> &str {
        self.process.base_url()
    }

    pub fn origin(&self) -> &str {
        self.process.origin()
    }

    pub fn address(&self) -> &str {
        self.origin().trim_start_matches("http://")
    }

    /// Returns the rest of the first printed line that starts with `prefix`. Ignores indentation.
    pub fn printed_after(&self, prefix: &str) -> Option<&str> {
        self.process.printed_after(prefix)
    }

    pub fn issue_key(&self, account: &str, per_minute: u32) -> anyhow::Result<String> {
        Ok(self.data.issue_enterprise_key(account, per_minute, 1_000_000)?.text)
    }

    /// If there are findings, appends the server's log, without the lines about requests. Replaces
    /// the keys with `<key>`, so that no key is printed.
    pub fn with_log(&self, mut findings: Vec<String>, keys: &[&str]) -> Vec<String> {
        if !findings.is_empty() {
            findings.push("The server's log, without its requests:".to_string());
            let log = self.process.log();
            let lines = log.lines().filter(|line| !line.contains(r#""msg":"request""#));
            findings.extend(lines.map(str::to_string));
        }
        let redact = |line: String| keys.iter().fold(line, |line, key| line.replace(key, "<key>"));
        findings.into_iter().map(redact).collect()
    }

    /// A directory that is removed when the server is dropped.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}

/// Returns orders with every id from [`FIRST_ORDER`] to 299, so that the small random ids of
/// schemathesis often name an order.
fn orders() -> Value {
    let order = |id: i64| {
        let status = if id % 3 == 2 { "shipped" } else { "pending" };
        // Only positive odd ids have a ship date. The import treats `null` as an unknown date.
        let ship_date = (id % 2 == 1).then_some("2026-12-24T09:30:00Z");
        json!({ "id": id, "petId": 7, "quantity": 1, "status": status, "shipDate": ship_date })
    };
    (FIRST_ORDER..300).map(order).collect()
}

fn pet(id: i64) -> Value {
    json!({ "id": id, "name": format!("Pet {id}") })
}
