//! Negative controls: chaos runs with a seeded defect, which makes the service break a rule. The
//! controls show that the recorded events of a run are enough to detect the violation.
//!
//! The tested program is unchanged. With PostgreSQL, relays rewrite the statements that servers
//! prepare. With an embedded store, syncs succeed without effect.

use super::faults::FaultKind;
use super::run::{self, Plan};
use super::site::SeededDefects;
use super::topology::Topology;
use crate::scenario::{Scenario, Tools};
use clap::ValueEnum;
use history::Rule;
use std::time::Duration;
use testbed::Report;
use testbed::relay::Tampering;

/// A negative control, named for its seeded defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NegativeControl {
    /// The heartbeat locks no row, so its commit writes nothing, and even a replaced primary
    /// confirms the commit
    UnlockedHeartbeat,
    /// Admitted requests are not counted
    Uncounted,
    /// Syncs of an embedded store succeed without effect, and then the power is cut
    LyingDisk,
    /// During the fault `DiskHung`, syncs of an embedded store succeed without effect instead of
    /// waiting. So the server sends responses too early
    UnheldAnswers,
    /// The key cache does not notice changes of keys, so revoked keys are accepted
    KeyCache,
}

/// A negative control injects faults for at most this time, or twice this time on a slow machine.
const DETECTION_TIMEOUT: Duration = Duration::from_secs(300);

pub fn negative_controls() -> Vec<Scenario> {
    let scenario = |control: &NegativeControl| {
        let (control, name) = (*control, control.to_possible_value());
        let name = name.map_or_else(String::new, |name| name.get_name().replace('-', "_"));
        Scenario::new(format!("negative_controls::{name}"), move |tools, report| {
            Box::pin(control.run(tools, report))
        })
        .with_fault_time(DETECTION_TIMEOUT)
    };
    NegativeControl::value_variants().iter().map(scenario).collect()
}

impl NegativeControl {
    fn seeded_defects(self) -> SeededDefects {
        let rewritten =
            |texts| SeededDefects { tampering: Tampering(texts), ..SeededDefects::default() };
        match self {
            NegativeControl::UnlockedHeartbeat => rewritten(&[(
                "FROM replicas WHERE id = $1 FOR NO KEY UPDATE",
                "FROM replicas WHERE id = $1",
            )]),
            NegativeControl::Uncounted => rewritten(&[("minute_used + given", "minute_used")]),
            // The replacement keeps the last change number of keys constant, so servers notice no
            // change of a key.
            NegativeControl::KeyCache => {
                rewritten(&[("keys,\n           EXISTS", "0*orders+1,EXISTS")])
            }
            NegativeControl::LyingDisk | NegativeControl::UnheldAnswers => {
                SeededDefects { has_lying_disk: true, ..SeededDefects::default() }
            }
        }
    }

    /// Returns the fault that exposes the defect. Defects that show without a fault get
    /// `ServerClock`.
    fn fault(self) -> FaultKind {
        match self {
            NegativeControl::UnlockedHeartbeat => FaultKind::PromoteCut,
            NegativeControl::LyingDisk => FaultKind::PowerCut,
            NegativeControl::UnheldAnswers => FaultKind::DiskHung,
            _ => FaultKind::ServerClock,
        }
    }

    fn rule(self) -> Rule {
        match self {
            NegativeControl::UnlockedHeartbeat => Rule::ListedAfter204,
            NegativeControl::Uncounted => Rule::AdmittedTooMany,
            NegativeControl::LyingDisk => Rule::CancellationLost,
            NegativeControl::UnheldAnswers => Rule::AcknowledgedUnsynced,
            NegativeControl::KeyCache => Rule::RevokedKeyAccepted,
        }
    }

    /// Performs a chaos run with the seeded defect. Reports a failure unless the run finds a
    /// violation of the control's rule.
    async fn run(self, tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
        let plan = Plan {
            topology: match self {
                NegativeControl::LyingDisk | NegativeControl::UnheldAnswers => Topology::Embedded,
                _ => Topology::Postgres,
            },
            seed: tools.seed,
            duration: DETECTION_TIMEOUT,
            only_kind: Some(self.fault()),
            seeded_defects: self.seeded_defects(),
            expected_rule: Some(self.rule()),
            repeat_command: "cargo xtask faults negative_controls::".to_string(),
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
