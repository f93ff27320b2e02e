//! The real program on a data directory, as the operator starts it.

use super::Key;
use super::wire::Tap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

/// The program as it serves a directory; killed when it is dropped.
pub struct Program {
    child: Child,
    base: String,
    /// Holds its responses against the document.
    _tap: Tap,
}

impl Program {
    pub fn serve(directory: &Path) -> Program {
        Program::serve_with(directory, &[])
    }

    /// With these arguments besides. Returns when it answers.
    pub fn serve_with(directory: &Path, arguments: &[&str]) -> Program {
        let mut child = Command::new(env!("CARGO_BIN_EXE_store-orders"))
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(directory)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines
            .map_while(Result::ok)
            .find_map(|line| {
                let base = line.strip_prefix("listening on http://")?;
                base.strip_suffix("/v1")?.parse().ok()
            })
            .expect("the program says where it listens");
        let tap = Tap::before(address);
        Program { child, base: format!("http://{}/v1", tap.address()), _tap: tap }
    }

    /// The base address, which ends in `/v1`.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM, and waits for the end.
    pub fn terminate(mut self) {
        self.signal("TERM");
        assert!(self.wait().success());
    }

    pub fn signal(&self, name: &str) {
        let process = self.child.id().to_string();
        // The shell's own, which is there where no other `kill` is.
        let kill = ["-c", "kill -s \"$0\" \"$1\"", name, &process];
        assert!(Command::new("sh").args(kill).status().unwrap().success());
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
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
    pub fn of_a_new_account(directory: &Path, plan: store_orders_api::plans::Plan) -> Key {
        use store_orders::keys::Environment;
        use store_orders::store::sqlite::{NewKey, SqliteStore};
        let store = SqliteStore::open(directory).unwrap();
        store.create_account("a", plan, None, chrono::Utc::now()).unwrap();
        let environment = Environment::Production;
        let new = NewKey { account: "a", environment, expires_after: None };
        let issued = store.issue_key(&new, chrono::Utc::now().timestamp_millis()).unwrap();
        Key { id: issued.id, text: issued.key.expose().to_string() }
    }
}
