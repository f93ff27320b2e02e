//! The real program, with what it prints and logs.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use store_orders::store::sqlite::SqliteStore;
use tempfile::TempDir;

/// A data directory with these many pending orders, 1 and on.
pub fn directory_with(orders: i64) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let orders: Vec<_> = (1..=orders).map(crate::harness::pending_order).collect();
    let store = SqliteStore::open(directory.path()).unwrap();
    store.import_orders(&orders, false, &|| ()).unwrap();
    directory
}

/// The program as it runs; killed when it is dropped.
pub struct Started {
    child: Child,
    log: PathBuf,
    /// What it printed up to the line that says where it listens; all of it if it
    /// did not come to that.
    pub printed: Vec<String>,
}

impl Started {
    /// `serve` with these arguments, on port 0 unless they say otherwise.
    pub fn serve(directory: &Path, arguments: &[&str]) -> Started {
        let data = directory.to_str().unwrap();
        Started::run(directory, &[&["serve", "--data-dir", data], arguments].concat(), &[])
    }

    /// Any command; returns when it listens or has ended.
    pub fn run(directory: &Path, arguments: &[&str], environment: &[(&str, &Path)]) -> Started {
        Started::after("true", directory, arguments, environment)
    }

    /// The same, in a shell that has done this before.
    pub fn after(
        shell: &str,
        directory: &Path,
        arguments: &[&str],
        environment: &[(&str, &Path)],
    ) -> Started {
        let log = directory.join(format!("log-{}", arguments.join("-").replace('/', "_")));
        // What writes beyond a limit on the size of files is told so, and not killed.
        let shell = format!("trap '' XFSZ && {shell} && exec \"$0\" \"$@\"");
        let mut child = Command::new("sh")
            .args(["-c", &shell, env!("CARGO_BIN_EXE_store-orders")])
            .args(arguments)
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut printed = Vec::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
            let listens = line.starts_with("listening on ");
            printed.push(line);
            if listens {
                break;
            }
        }
        Started { child, log, printed }
    }

    /// Where it said that it listens, without `/v1`.
    pub fn origin(&self) -> &str {
        self.said("listening on ").and_then(|url| url.strip_suffix("/v1")).unwrap()
    }

    /// Where it said that it listens for operators, if it did.
    pub fn operators(&self) -> Option<&str> {
        self.said("operators on ")
    }

    fn said(&self, before: &str) -> Option<&str> {
        self.printed.iter().find_map(|line| line.strip_prefix(before))
    }

    /// All that it has logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, name: &str) {
        let process = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &process]).status().unwrap().success());
    }

    /// Waits for the end.
    pub async fn ended(mut self) -> (ExitStatus, String) {
        super::until("the program ends", || {
            let ended = self.child.try_wait().unwrap().is_some();
            async move { ended }
        })
        .await;
        (self.child.wait().unwrap(), self.log())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
