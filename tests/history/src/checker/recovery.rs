//! What follows each fault: every server is ready again, and then all lists agree.

use super::findings::{Findings, Interval};
use crate::violation::{Rule, Violation};
use std::collections::BTreeMap;
use std::time::Duration;

/// How soon after a fault every server is ready.
const READY_WITHIN: Duration = Duration::from_secs(5);

/// How soon after that all lists agree.
const AGREEMENT_WITHIN: Duration = Duration::from_secs(2);

/// What is known since the last fault was undone.
#[derive(Default)]
pub struct Recovery {
    servers: Vec<String>,
    fault: String,
    undone: Option<u64>,
    ready: BTreeMap<String, u64>,
    agreed: Option<u64>,
    last: String,
}

impl Recovery {
    /// These servers must be ready after each fault.
    pub fn servers(&mut self, servers: Vec<String>) {
        self.servers = servers;
    }

    /// A fault begins: what followed the one before is complete.
    pub fn fault(&mut self, name: &str, findings: &mut Findings) {
        self.close(findings);
        self.fault = name.to_string();
    }

    /// The fault was undone.
    pub fn undone(&mut self, at: u64) {
        (self.undone, self.agreed) = (Some(at), None);
        self.ready.clear();
        self.last.clear();
    }

    /// A server is ready, for the first time or again: one whose primary was replaced may be
    /// ready until it notices.
    pub fn ready(&mut self, at: u64, server: String, findings: &mut Findings) {
        let Some(undone) = self.undone else { return };
        let text = format!("{server} after {}", self.fault);
        let violation = Violation::new(Rule::NotReady, text, &[]);
        findings.add_if_longer(Interval { from: undone, to: at }, READY_WITHIN, violation);
        self.ready.insert(server, at);
    }

    /// The lists of all servers were compared.
    pub fn compared(
        &mut self,
        at: u64,
        digests: &BTreeMap<String, String>,
        findings: &mut Findings,
    ) {
        let first = digests.values().next();
        let is_equal = digests.values().all(|digest| Some(digest) == first);
        self.last = format!("{digests:?}");
        if !is_equal || digests.len() < self.servers.len() || self.agreed.is_some() {
            return;
        }
        self.agreed = Some(at);
        let Some(all_ready) = self.ready.values().max() else { return };
        let text = format!("after {}", self.fault);
        let violation = Violation::new(Rule::ListsDiffer, text, &[]);
        findings.add_if_longer(Interval { from: *all_ready, to: at }, AGREEMENT_WITHIN, violation);
    }

    /// Nothing more follows the last fault.
    pub fn close(&mut self, findings: &mut Findings) {
        if self.undone.take().is_none() {
            return;
        }
        for server in self.servers.iter().filter(|server| !self.ready.contains_key(*server)) {
            let text = format!("{server} after {}: not at all", self.fault);
            findings.add(Violation::new(Rule::NotReady, text, &[]));
        }
        if self.agreed.is_none() && !self.servers.is_empty() {
            let text = format!("after {}, to the end: {}", self.fault, self.last);
            findings.add(Violation::new(Rule::ListsDiffer, text, &[]));
        }
    }
}
