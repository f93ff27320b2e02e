//! Negative controls: damaged set-ups that break a promise which the drills check. `tests/support/history`
//! shows with recordings that each rule fires; the controls show that the drills record what the
//! rules need. Each breaks another rule, by another part of the set-up.
//!
//! All are damaged from outside, so that the tested program is the released one: by relays that
//! rewrite the statements which servers prepare, or by the disk of an embedded store.

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

/// The damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Control {
    /// Another user of the heartbeat's connection commits its write: a replaced primary confirms
    SharedHeartbeat,
    /// Admissions that are not counted
    Uncounted,
    /// An embedded store on a disk that syncs nothing, and a power cut
    LyingDisk,
    /// An embedded store that does not wait for its disk, which holds what is to be synced
    UnheldAnswers,
    /// A key cache that does not expire: revoked keys are accepted
    KeyCache,
}

/// For how long the rule may not be broken.
const LONGEST: Duration = Duration::from_secs(300);

/// A scenario for each.
pub fn controls() -> Vec<Scenario> {
    let of = |control: &Control| {
        let (control, name) = (*control, control.to_possible_value());
        let name = name.map_or_else(String::new, |name| name.get_name().replace('-', "_"));
        Scenario::new(format!("controls::{name}"), move |tools, report| {
            Box::pin(control.run(tools, report))
        })
        .drawing_for(LONGEST)
    };
    Control::value_variants().iter().map(of).collect()
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
            // In the poll for changes of keys, there is none after the first.
            Control::KeyCache => rewritten(&[("keys,\n           EXISTS", "0*orders+1,EXISTS")]),
            Control::LyingDisk | Control::UnheldAnswers => {
                Damage { syncs: true, ..Damage::default() }
            }
        }
    }

    /// The fault that exposes the damage; `ServerClock` if none is needed.
    fn fault(self) -> FaultKind {
        match self {
            Control::SharedHeartbeat => FaultKind::PromoteCut,
            Control::LyingDisk => FaultKind::PowerCut,
            Control::UnheldAnswers => FaultKind::DiskHung,
            _ => FaultKind::ServerClock,
        }
    }

    /// The rule that it breaks.
    fn rule(self) -> Rule {
        match self {
            Control::SharedHeartbeat => Rule::ListedAfter204,
            Control::Uncounted => Rule::AdmittedTooMany,
            Control::LyingDisk => Rule::CancellationLost,
            Control::UnheldAnswers => Rule::AcknowledgedUnsynced,
            Control::KeyCache => Rule::RevokedKeyAccepted,
        }
    }

    /// Runs it until its rule is broken, which must be.
    async fn run(self, tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
        let plan = Plan {
            topology: match self {
                Control::LyingDisk | Control::UnheldAnswers => Topology::Embedded,
                _ => Topology::Postgres,
            },
            seed: tools.seed,
            lasts: LONGEST,
            only: Some(self.fault()),
            damage: self.damage(),
            until: Some(self.rule()),
            repeat: "cargo xtask faults controls::".to_string(),
        };
        let found = run::run(tools, &plan, &mut Report::default()).await?;
        let by_rule = found.iter().find(|violation| violation.rule == self.rule());
        report.expect(by_rule.is_some(), || {
            format!("not found: {}; but {} others", self.rule(), found.len())
        });
        if let Some(violation) = by_rule {
            report.figure(format!("noticed: {violation}"));
        }
        Ok(())
    }
}
