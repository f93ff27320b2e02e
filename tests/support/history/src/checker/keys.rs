//! Keys: a revoked one is accepted for a second at most, a valid one is never refused, from
//! the moment that the command that issued it has ended.

use super::findings::Findings;
use crate::violation::{Operation, Rule, Violation};
use std::collections::HashMap;
use std::sync::Arc;

/// How long a replica may not know that the operator revoked a key, in nanoseconds. No stall of the
/// machine makes it longer: a server whose last look at the store is older accepts no key.
const LEARNT_WITHIN: u64 = 1_000_000_000;

/// The keys of a recording.
#[derive(Default)]
pub struct Keys {
    keys: HashMap<String, Key>,
}

struct Key {
    issued: u64,
    /// When a command that may have revoked it began.
    revoking: Option<u64>,
    revoked: Option<Arc<Operation>>,
}

impl Keys {
    /// A key was issued.
    pub fn add(&mut self, key: String, at: u64) {
        self.keys.insert(key, Key { issued: at, revoking: None, revoked: None });
    }

    /// A command that revokes the key begins.
    pub fn revoking(&mut self, key: &str, at: u64) {
        if let Some(key) = self.keys.get_mut(key) {
            key.revoking.get_or_insert(at);
        }
    }

    /// It has succeeded.
    pub fn revoked(&mut self, key: &str, by: &Arc<Operation>) {
        if let Some(key) = self.keys.get_mut(key) {
            key.revoked.get_or_insert_with(|| Arc::clone(by));
        }
    }

    /// Whether a request that ended then may have been refused as one without a valid key:
    /// those are counted by address.
    pub fn may_be_revoked(&self, operation: &Operation) -> bool {
        let name = operation.asked.key.as_ref();
        let revoking = name.and_then(|name| self.keys.get(name)?.revoking);
        revoking.is_some_and(|revoking| revoking < operation.ended())
    }

    /// A request with a key was answered; whether its account has a limit that can be reached.
    pub fn answered(
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
            && operation.begun.saturating_sub(revoked.ended()) > LEARNT_WITHIN
        {
            let text = "more than a second later".to_string();
            let because = [revoked, operation];
            findings.add(Violation::new(Rule::RevokedKeyAccepted, text, &because));
        }
        // Requests without a valid key are counted by address, and refused so at their limit.
        let is_refused = status == 401 || (status == 429 && !has_limit);
        let is_valid = key.revoking.is_none_or(|revoking| revoking > operation.ended());
        if is_refused && is_valid && key.issued <= operation.begun {
            let text = "it had been issued before".to_string();
            findings.add(Violation::new(Rule::ValidKeyRefused, text, &[operation]));
        }
    }
}
