//! Checks that servers recover after each fault. Servers must become ready and execute requests,
//! and their lists must agree.

use super::findings::{Findings, Interval};
use crate::event::Request;
use crate::violation::{Operation, Rule, Violation};
use std::collections::BTreeMap;
use std::mem::{Discriminant, discriminant};
use std::time::Duration;

/// Maximum time from the end of a fault until every server is ready.
const READY_WITHIN: Duration = Duration::from_secs(5);

/// A ready server may answer all requests of one kind, such as lists, with 503 for at most this
/// time.
const SERVES_WITHIN: Duration = Duration::from_secs(5);

/// The lists of all servers must agree within this time. The time begins with the first comparison
/// after a fault is undone.
const AGREEMENT_WITHIN: Duration = Duration::from_secs(2);

#[derive(Default)]
pub struct Recovery {
    servers: Vec<String>,
    fault: String,
    undone: Option<u64>,
    ready: BTreeMap<String, u64>,
    services: Vec<Service>,
    compared: Option<u64>,
    agreed: bool,
    last_digests: String,
}

/// The requests of one kind to a server that is ready after a fault, up to the first request that
/// the server executes.
struct Service {
    server: String,
    kind: Discriminant<Request>,
    /// Spans all requests so far. The server refused each of them, except the last one if
    /// `is_served` is true.
    refused: Interval,
    is_served: bool,
}

impl Recovery {
    /// Sets the servers that must be ready after each fault.
    pub fn set_servers(&mut self, servers: Vec<String>) {
        self.servers = servers;
    }

    pub fn begin_fault(&mut self, name: &str, findings: &mut Findings) {
        self.close(findings);
        self.fault = name.to_string();
    }

    /// Records that the fault was undone. Forgets all earlier observations, because only what
    /// servers do after the fault shows that they have recovered.
    pub fn record_undone(&mut self, at: u64) {
        (self.undone, self.compared, self.agreed) = (Some(at), None, false);
        self.ready.clear();
        self.services.clear();
        self.last_digests.clear();
    }

    /// Records that a server has reported readiness. A server may report it twice after a failover:
    /// once before it detects the failover, and again after it has recovered.
    pub fn record_ready(&mut self, at: u64, server: String, findings: &mut Findings) {
        let Some(undone) = self.undone else { return };
        let text = format!("{server} after {}", self.fault);
        let violation = Violation::new(Rule::NotReady, text, &[]);
        // Once all lists have agreed, every server has been ready. So a report of readiness after
        // the agreement is no violation.
        if !self.agreed {
            findings.add_if_longer(Interval { from: undone, to: at }, READY_WITHIN, violation);
        }
        self.services.retain(|one| one.server != server);
        self.ready.insert(server, at);
    }

    /// Records whether a ready server executed the request `by` or refused it with 503.
    pub fn record_answer(&mut self, by: &Operation, status: u16, findings: &mut Findings) {
        let Some(server) = by.asked.server.as_ref().filter(|_| self.undone.is_some()) else {
            return;
        };
        if self.ready.get(server).is_none_or(|ready| by.begun < *ready) {
            return;
        }
        let is_served = match status {
            503 => false,
            200..300 | 404 | 409 => true,
            // A server sends any other status before it executes the request. So such a status does
            // not show whether the server can execute requests.
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
                findings.add_if_longer(refused, SERVES_WITHIN, self.not_serving_violation(server));
            }
        }
    }

    fn not_serving_violation(&self, server: &str) -> Violation {
        Violation::new(Rule::NotServing, format!("{server} after {}", self.fault), &[])
    }

    /// Records a comparison of the lists of all servers. `digests` lacks the servers that did not
    /// return a list.
    pub fn record_comparison(
        &mut self,
        at: u64,
        digests: &BTreeMap<String, String>,
        findings: &mut Findings,
    ) {
        let first = digests.values().next();
        let is_equal = digests.values().all(|digest| Some(digest) == first);
        self.last_digests = format!("{digests:?}");
        let from = *self.compared.get_or_insert(at);
        if !is_equal || digests.len() < self.servers.len() || self.agreed {
            return;
        }
        self.agreed = true;
        let text = format!("after {}", self.fault);
        let violation = Violation::new(Rule::ListsDiffer, text, &[]);
        findings.add_if_longer(Interval { from, to: at }, AGREEMENT_WITHIN, violation);
    }

    /// Ends the checks after a fault, because the next fault or the end of the recording comes.
    /// Adds a violation for each server that has not recovered, and for lists that have not agreed.
    pub fn close(&mut self, findings: &mut Findings) {
        if self.undone.take().is_none() {
            return;
        }
        for server in self.servers.iter().filter(|server| !self.ready.contains_key(*server)) {
            let text = format!("{server} after {}: not at all", self.fault);
            findings.add(Violation::new(Rule::NotReady, text, &[]));
        }
        for Service { server, refused, .. } in self.services.iter().filter(|one| !one.is_served) {
            findings.add_if_longer(*refused, SERVES_WITHIN, self.not_serving_violation(server));
        }
        if !self.agreed && !self.servers.is_empty() {
            let text = format!("after {}, to the end: {}", self.fault, self.last_digests);
            findings.add(Violation::new(Rule::ListsDiffer, text, &[]));
        }
    }
}
