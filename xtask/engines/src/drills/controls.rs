//! Controls: a store, a network or servers that lack a care which the drills claim to check. If
//! the rules notice nothing, the drills prove nothing.
//!
//! All are made from outside, so that the program under drill is the one that is released: by
//! the database's own means, or by relays that falsify what they carry.

use super::faults::FaultKind;
use super::run::{self, Plan};
use super::server::Networks;
use super::site::{Installation, Lacks};
use clap::ValueEnum;
use history::Rule;
use std::time::Duration;
use testbed::Report;
use testbed::relay::Tampering;

/// A care that is lacking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Control {
    /// Versions from a sequence: servers miss what others cancelled
    Sequence,
    /// Timelines that are not compared: a replaced primary is believed for too long
    Timelines,
    /// An asynchronous standby is promoted: acknowledged cancellations are missing
    AsynchronousStandby,
    /// Lists share a check that was sent before they arrived
    LateSharing,
    /// A batch of admissions is sent twice: it counts twice
    SentTwice,
    /// A key cache that does not expire: revoked keys are accepted
    KeyCache,
}

/// How much earlier a check was sent than the list arrived that shares it.
const SHARED_LATE: Duration = Duration::from_millis(300);

/// For how long the rule may not be broken.
const LONGEST: Duration = Duration::from_secs(300);

/// More than any run lasts.
const FOR_EVER: Duration = Duration::from_secs(86_400);

impl Control {
    fn lacks(self) -> Lacks {
        let stale = |application, age| Networks {
            store: Tampering::StaleVersions { application, age },
            ..Networks::default()
        };
        let complete = Lacks::default();
        match self {
            Control::Sequence => Lacks { sequence_of_commits: true, ..complete },
            Control::Timelines => Lacks { timelines: true, ..complete },
            Control::AsynchronousStandby => Lacks { synchronous_standby: true, ..complete },
            Control::LateSharing => {
                Lacks { networks: stale("store-orders checker", SHARED_LATE), ..complete }
            }
            Control::SentTwice => {
                let limits = Tampering::Twice;
                Lacks { networks: Networks { limits, ..Networks::default() }, ..complete }
            }
            Control::KeyCache => {
                Lacks { networks: stale("store-orders checker", FOR_EVER), ..complete }
            }
        }
    }

    /// The fault that shows what is lacking, or one that hides nothing.
    fn fault(self) -> FaultKind {
        match self {
            Control::Timelines => FaultKind::PromoteCut,
            Control::AsynchronousStandby => FaultKind::PromoteKilled,
            _ => FaultKind::RedisDelay,
        }
    }

    /// The rule that it breaks.
    fn rule(self) -> Rule {
        match self {
            Control::Sequence
            | Control::Timelines
            | Control::AsynchronousStandby
            | Control::LateSharing => Rule::ListedAfter204,
            Control::SentTwice => Rule::RefusedTooEarly,
            Control::KeyCache => Rule::RevokedKeyAccepted,
        }
    }

    /// Runs it until its rule is broken, which must be.
    pub async fn run(
        self,
        installation: &Installation,
        seed: u64,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let plan = Plan {
            seed,
            lasts: LONGEST,
            only: Some(self.fault()),
            lacks: self.lacks(),
            until: Some(self.rule()),
            repeat: "cargo xtask engines controls".to_string(),
        };
        let found = run::run(installation, &plan, &mut Report::default()).await?;
        let by_rule = found.iter().find(|violation| violation.rule == self.rule());
        report.expect(by_rule.is_some(), || {
            format!("not found: {}; but {} others", self.rule().as_str(), found.len())
        });
        if let Some(violation) = by_rule {
            report.figure(format!("noticed: {violation}"));
        }
        Ok(())
    }
}
