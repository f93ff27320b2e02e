//! Checks that a revoked key is accepted for at most a second. Also checks that a valid key is not
//! refused.

use super::findings::Findings;
use crate::violation::{Operation, Rule, Violation};
use std::collections::HashMap;
use std::sync::Arc;

/// For at most this time after a revocation, a server may still accept the key. Stalls do not
/// extend this time, because a server with outdated data accepts no key.
const MAX_REVOCATION_DELAY_NANOS: u64 = 1_000_000_000;

#[derive(Default)]
pub struct Keys {
    keys: HashMap<String, Key>,
}

struct Key {
    issued: u64,
    /// The start time of the first command that may have revoked the key.
    revoking: Option<u64>,
    revoked: Option<Arc<Operation>>,
}

impl Keys {
    pub fn add(&mut self, key: String, at: u64) {
        self.keys.insert(key, Key { issued: at, revoking: None, revoked: None });
    }

    /// Records that a command to revoke the key begins. From now on, the key may be refused.
    pub fn record_revocation_start(&mut self, key: &str, at: u64) {
        if let Some(key) = self.keys.get_mut(key) {
            key.revoking.get_or_insert(at);
        }
    }

    /// Records that the command to revoke the key succeeded. One second after the command ended,
    /// every server must refuse the key.
    pub fn record_revocation(&mut self, key: &str, by: &Arc<Operation>) {
        if let Some(key) = self.keys.get_mut(key) {
            key.revoked.get_or_insert_with(|| Arc::clone(by));
        }
    }

    /// True if the key may have been revoked before the server responded. The server may then have
    /// counted the request against the client's address.
    pub fn may_be_revoked(&self, operation: &Operation) -> bool {
        let name = operation.asked.key.as_ref();
        let revoking = name.and_then(|name| self.keys.get(name)?.revoking);
        revoking.is_some_and(|revoking| revoking < operation.ended())
    }

    /// Adds a violation if the server accepted the key more than a second after its revocation.
    /// Also adds a violation if the server refused the key while it was valid. `has_limit` is true
    /// if clients can reach a limit of the key's account.
    pub fn check_answer(
        &self,
        operation: &Arc<Operation>,
        status: u16,
        has_limit: bool,
        findings: &mut Findings,
    ) {
        let name = operation.asked.key.as_ref();
        let Some(key) = name.and_then(|name| self.keys.get(name)) else { return };
        let is_accepted = !matches!(status, 401 | 503);
        if let Some(revoked) = key.revoked.as_ref().filter(|_| is_accepted)
            && operation.begun.saturating_sub(revoked.ended()) > MAX_REVOCATION_DELAY_NANOS
        {
            let text = "more than a second later".to_string();
            let because = [revoked, operation];
            findings.add(Violation::new(Rule::RevokedKeyAccepted, text, &because));
        }
        // A server counts a request with a refused key against the client's address, so a 429 may
        // replace the 401. If clients cannot reach the account's limit, every 429 means that the
        // key was refused.
        let is_refused = status == 401 || (status == 429 && !has_limit);
        let is_valid = key.revoking.is_none_or(|revoking| revoking > operation.ended());
        if is_refused && is_valid && key.issued <= operation.begun {
            let text = "the key had been issued before".to_string();
            findings.add(Violation::new(Rule::ValidKeyRefused, text, &[operation]));
        }
    }
}
