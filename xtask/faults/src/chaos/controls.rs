//! Negative controls: chaos runs with a seeded defect, which makes the service break a rule. Tests
//! with recordings in `tests/support/history` show that each rule detects a violation; the controls
//! show that chaos runs record what the rules need. Each control breaks a different rule by a
//! defect in a different part.
//!
//! The tested program is the released one. The defects are outside of the program: relays rewrite
//! the statements that servers prepare, or the disk of an embedded store ignores syncs.

use super::faults::FaultKind;
use super::run::{self, Plan};
use super::site::Damage;
use super::topology::Topology;
use crate::scenario::{Scenario, Tools};
use clap::ValueEnum;
use history::Rule;
use std::time::Duration;
use testbed::Report;
use testbed::relay::Tampering;

/// A seeded defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Control {
    /// The heartbeat locks no row, so its commit writes nothing: a replaced primary confirms it
    SharedHeartbeat,
    /// Admitted requests are not counted
    Uncounted,
    /// The disk of an embedded store syncs nothing, and the power is cut
    LyingDisk,
    /// An embedded store answers without waiting for its hung disk
    UnheldAnswers,
    /// The key cache does not expire: revoked keys are accepted
    KeyCache,
}

/// Time in which the control must break its rule.
const DETECTION_TIMEOUT: Duration = Duration::from_secs(300);

/// Returns a scenario for each control.
pub fn controls() -> Vec<Scenario> {
    let scenario = |control: &Control| {
        let (control, name) = (*control, control.to_possible_value());
        let name = name.map_or_else(String::new, |name| name.get_name().replace('-', "_"));
        Scenario::new(format!("controls::{name}"), move |tools, report| {
            Box::pin(control.run(tools, report))
        })
        .with_fault_time(DETECTION_TIMEOUT)
    };
    Control::value_variants().iter().map(scenario).collect()
}

impl Control {
    fn damage(self) -> Damage {
        let rewritten = |texts| Damage { tampering: Tampering(texts), ..Damage::default() };
        match self {
            Control::SharedHeartbeat => rewritten(&[(
                "FROM replicas WHERE id = $1 FOR NO KEY UPDATE",
                "FROM replicas WHERE id = $1",
            )]),
            Control::Uncounted => rewritten(&[("minute_used + given", "minute_used")]),
            // Makes the server's poll for changed keys report no change after the first poll.
            Control::KeyCache => rewritten(&[("keys,\n           EXISTS", "0*orders+1,EXISTS")]),
            Control::LyingDisk | Control::UnheldAnswers => {
                Damage { has_lying_disk: true, ..Damage::default() }
            }
        }
    }

    /// Returns the fault that exposes the defect; `ServerClock` if no fault is needed.
    fn fault(self) -> FaultKind {
        match self {
            Control::SharedHeartbeat => FaultKind::PromoteCut,
            Control::LyingDisk => FaultKind::PowerCut,
            Control::UnheldAnswers => FaultKind::DiskHung,
            _ => FaultKind::ServerClock,
        }
    }

    /// Returns the rule that the control breaks.
    fn rule(self) -> Rule {
        match self {
            Control::SharedHeartbeat => Rule::ListedAfter204,
            Control::Uncounted => Rule::AdmittedTooMany,
            Control::LyingDisk => Rule::CancellationLost,
            Control::UnheldAnswers => Rule::AcknowledgedUnsynced,
            Control::KeyCache => Rule::RevokedKeyAccepted,
        }
    }

    /// Runs a chaos run until it breaks the control's rule, and fails if it never does.
    async fn run(self, tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
        let plan = Plan {
            topology: match self {
                Control::LyingDisk | Control::UnheldAnswers => Topology::Embedded,
                _ => Topology::Postgres,
            },
            seed: tools.seed,
            duration: DETECTION_TIMEOUT,
            only_kind: Some(self.fault()),
            damage: self.damage(),
            expected_rule: Some(self.rule()),
            repeat_command: "cargo xtask faults controls::".to_string(),
        };
        let violations = run::run(tools, &plan, &mut Report::default()).await?;
        let by_rule = violations.iter().find(|violation| violation.rule == self.rule());
        report.expect(by_rule.is_some(), || {
            format!("no violation of {}, but {} others", self.rule(), violations.len())
        });
        if let Some(violation) = by_rule {
            report.figure(format!("detected: {violation}"));
        }
        Ok(())
    }
}
