//! The names of what is counted in Redis.

use redis::Cmd;

/// The layout of what is stored: another one has other names.
const LAYOUT: &str = "sto1";

/// How much of the store's id is in a name.
const STORE_CHARS: usize = 8;

/// The names of one store's counts: two stores on one Redis never meet.
#[derive(Clone, Debug)]
pub struct CountNames {
    prefix: String,
}

impl CountNames {
    /// Those of the store with this id.
    pub fn new(store_id: &str) -> CountNames {
        let store: String = store_id.chars().take(STORE_CHARS).collect();
        CountNames { prefix: format!("{LAYOUT}:{store}:") }
    }

    /// The clock, with the epoch and the number of the last batch.
    pub fn clock(&self) -> String {
        format!("{}clock", self.prefix)
    }

    /// The windows of an account, by its row in the store.
    pub fn account(&self, row: i64) -> String {
        format!("{}a:{row}", self.prefix)
    }

    /// The strikes of a key, by its row in the store.
    pub fn key(&self, row: i64) -> String {
        format!("{}k:{row}", self.prefix)
    }

    /// Appends the clock, and an account and a key for each request.
    pub fn append_to(&self, command: &mut Cmd, requests: impl Iterator<Item = (i64, i64)>) {
        command.arg(self.clock());
        for (account, key) in requests {
            command.arg(self.account(account)).arg(self.key(key));
        }
    }
}
