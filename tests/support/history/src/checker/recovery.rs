//! What follows each fault: every server is ready again and serves, and all lists agree.

use super::findings::{Findings, Interval};
use crate::event::Request;
use crate::violation::{Operation, Rule, Violation};
use std::collections::BTreeMap;
use std::mem::{Discriminant, discriminant};
use std::time::Duration;

/// How soon after a fault every server is ready.
const READY_WITHIN: Duration = Duration::from_secs(5);

/// How soon after that it carries out each kind of request.
const SERVES_WITHIN: Duration = Duration::from_secs(5);

/// How soon all lists agree, from the first comparison after that.
const AGREEMENT_WITHIN: Duration = Duration::from_secs(2);

/// What is known since the last fault was undone.
#[derive(Default)]
pub struct Recovery {
    servers: Vec<String>,
    fault: String,
    undone: Option<u64>,
    ready: BTreeMap<String, u64>,
    services: Vec<Service>,
    compared: Option<u64>,
    agreed: bool,
    last: String,
}

/// What is known of a server that is ready and one kind of request.
struct Service {
    server: String,
    kind: Discriminant<Request>,
    /// From the first 503 to the last, before it carried one out.
    refused: Interval,
    is_served: bool,
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
        (self.undone, self.compared, self.agreed) = (Some(at), None, false);
        self.ready.clear();
        self.services.clear();
        self.last.clear();
    }

    /// A server is ready, for the first time or again: one whose primary was replaced may be
    /// ready until it notices.
    pub fn ready(&mut self, at: u64, server: String, findings: &mut Findings) {
        let Some(undone) = self.undone else { return };
        let text = format!("{server} after {}", self.fault);
        let violation = Violation::new(Rule::NotReady, text, &[]);
        // Once all lists agreed, it was ready in time.
        if !self.agreed {
            findings.add_if_longer(Interval { from: undone, to: at }, READY_WITHIN, violation);
        }
        self.services.retain(|one| one.server != server);
        self.ready.insert(server, at);
    }

    /// A server answered a request with this status.
    pub fn answered(&mut self, by: &Operation, status: u16, findings: &mut Findings) {
        let Some(server) = by.asked.server.as_ref().filter(|_| self.undone.is_some()) else {
            return;
        };
        if self.ready.get(server).is_none_or(|ready| by.begun < *ready) {
            return;
        }
        let is_served = match status {
            503 => false,
            200..300 | 404 | 409 => true,
            // Refused before the request was looked at.
            _ => return,
        };
        let kind = discriminant(&by.asked.request);
        let is_of = |one: &&mut Service| one.server == *server && one.kind == kind;
        let Some(service) = self.services.iter_mut().find(is_of) else {
            let refused = Interval { from: by.begun, to: by.ended() };
            self.services.push(Service { server: server.clone(), kind, refused, is_served });
            return;
        };
        if !service.is_served {
            (service.refused.to, service.is_served) = (by.ended(), is_served);
            if is_served {
                let refused = service.refused;
                findings.add_if_longer(refused, SERVES_WITHIN, self.not_serving(server));
            }
        }
    }

    fn not_serving(&self, server: &str) -> Violation {
        Violation::new(Rule::NotServing, format!("{server} after {}", self.fault), &[])
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
        let from = *self.compared.get_or_insert(at);
        if !is_equal || digests.len() < self.servers.len() || self.agreed {
            return;
        }
        self.agreed = true;
        let text = format!("after {}", self.fault);
        let violation = Violation::new(Rule::ListsDiffer, text, &[]);
        findings.add_if_longer(Interval { from, to: at }, AGREEMENT_WITHIN, violation);
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
        for Service { server, refused, .. } in self.services.iter().filter(|one| !one.is_served) {
            findings.add_if_longer(*refused, SERVES_WITHIN, self.not_serving(server));
        }
        if !self.agreed && !self.servers.is_empty() {
            let text = format!("after {}, to the end: {}", self.fault, self.last);
            findings.add(Violation::new(Rule::ListsDiffer, text, &[]));
        }
    }
}
