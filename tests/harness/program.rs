//! The real program, as the operator starts it, with what it prints and logs.

use super::Key;
use super::wire::Tap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use store_orders::keys::Environment;
use store_orders::store::NewKey;
use store_orders::store::sqlite::SqliteStore;
use store_orders_api::plans::Plan;
use tempfile::TempDir;

/// A free port, and nobody else's.
pub const QUIETLY: [&str; 4] = ["--listen", "127.0.0.1:0", "--admin-listen", "off"];

/// How long something may take to come about that is waited for: far more than
/// it needs, so that only what never comes fails.
pub const LONGEST: Duration = Duration::from_secs(60);

/// Waits until this is so.
pub async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < LONGEST, "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A data directory with these many pending orders, 1 and on.
pub fn directory_with(orders: i64) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let orders: Vec<_> = (1..=orders).map(crate::harness::pending_order).collect();
    let store = SqliteStore::open(directory.path()).unwrap();
    store.import_orders(&orders, false, &|| ()).unwrap();
    directory
}

/// The program as it runs; killed when it is dropped.
pub struct Program {
    child: Child,
    log: PathBuf,
    /// None where it speaks no plain HTTP, or ended at once.
    tap: Option<Tap>,
    /// What it printed up to the line that says where it listens; all of it if it
    /// did not come to that.
    pub printed: Vec<String>,
}

impl Program {
    /// `serve` with these arguments, on port 0 unless they say otherwise.
    pub fn serve(directory: &Path, arguments: &[&str]) -> Program {
        let data = directory.to_str().unwrap();
        Program::run(directory, &[&["serve", "--data-dir", data], arguments].concat(), &[])
    }

    /// Any command; returns when it listens or has ended.
    pub fn run(directory: &Path, arguments: &[&str], environment: &[(&str, &Path)]) -> Program {
        Program::after("true", directory, arguments, environment)
    }

    /// The same, in a shell that has done this before.
    pub fn after(
        shell: &str,
        directory: &Path,
        arguments: &[&str],
        environment: &[(&str, &Path)],
    ) -> Program {
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
        let mut program = Program { child, log, tap: None, printed };
        program.tap = program.tap();
        program
    }

    /// A tap before it, where there is a runtime to keep it.
    fn tap(&self) -> Option<Tap> {
        tokio::runtime::Handle::try_current().ok()?;
        let address = self.said("listening on http://")?.strip_suffix("/v1")?;
        Some(Tap::before(address.parse().unwrap()))
    }

    /// Where it said that it listens, without `/v1`: past the tap, for tests of
    /// connections.
    pub fn origin(&self) -> &str {
        self.said("listening on ").and_then(|url| url.strip_suffix("/v1")).unwrap()
    }

    /// The same, for a socket.
    pub fn address(&self) -> SocketAddr {
        self.origin().strip_prefix("http://").unwrap().parse().unwrap()
    }

    /// The base address, which ends in `/v1`; responses are held against the
    /// document.
    pub fn base(&self) -> String {
        format!("http://{}/v1", self.tap.as_ref().unwrap().address())
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
        // The shell's own, which is there where no other `kill` is.
        let kill = ["-c", "kill -s \"$0\" \"$1\"", name, &process];
        assert!(Command::new("sh").args(kill).status().unwrap().success());
    }

    /// SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM, and waits for a clean end.
    pub async fn terminate(self) {
        self.signal("TERM");
        let (status, log) = self.ended().await;
        assert!(status.success(), "{log}");
    }

    /// Waits for the end.
    pub async fn ended(mut self) -> (ExitStatus, String) {
        until("the program ends", || {
            let ended = self.child.try_wait().unwrap().is_some();
            async move { ended }
        })
        .await;
        (self.child.wait().unwrap(), self.log())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Key {
    /// The key of a new account in the store of this directory, as of the
    /// machine's time.
    pub fn of_a_new_account(directory: &Path, plan: Plan) -> Key {
        let store = SqliteStore::open(directory).unwrap();
        store.create_account("a", plan, None, chrono::Utc::now()).unwrap();
        let environment = Environment::Production;
        let new = NewKey { account: "a", environment, expires_after: None };
        let issued = store.issue_key(&new, chrono::Utc::now().timestamp_millis()).unwrap();
        Key { id: issued.id, text: issued.key.expose().to_string() }
    }
}
