//! Controls: a store, a network or servers that are damaged so that they break a promise which
//! the drills claim to check. If the rules notice nothing, the drills prove nothing.
//!
//! All are damaged from outside, so that the program under drill is the one that is released: by
//! the database's own means, by relays that rewrite the statements which servers prepare, or by
//! what an embedded store leaves on its disk.

use super::faults::FaultKind;
use super::run::{self, Plan};
use super::site::Disabled;
use super::topology::Topology;
use crate::scenario::{Scenario, Tools};
use clap::ValueEnum;
use history::Rule;
use std::time::Duration;
use testbed::Report;
use testbed::relay::Tampering;

/// What is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Control {
    /// Changes numbered by a sequence: servers miss what others cancelled
    Sequence,
    /// No journal: after a failover that lost changes servers keep what they had
    NoJournal,
    /// No wait after a failover: another server still lists from the replaced primary
    NoWait,
    /// Another user of the heartbeat's connection commits its write: a replaced primary confirms
    SharedHeartbeat,
    /// An asynchronous standby is promoted: acknowledged cancellations are missing
    AsynchronousStandby,
    /// Lists share a check that was sent before they arrived
    LateSharing,
    /// Admissions that count twice in the minute
    CountedTwice,
    /// Admissions that are not counted
    Uncounted,
    /// Orders that the operator shipped are pending
    Unshipped,
    /// Sessions whose commits wait for no disk and no standby: kill -9 of the primary loses them
    Unflushed,
    /// An embedded store on a disk that syncs nothing, and a power cut
    LyingDisk,
    /// An embedded store that does not wait for its disk, which holds what is to be synced
    UnheldAnswers,
    /// An embedded store whose counts are gone after a kill
    LostCounts,
    /// A key cache that does not expire: revoked keys are accepted
    KeyCache,
}

/// The last change in the question how fresh a list is, and the one before it.
const QUESTION: &str = "          FROM changes ORDER BY version DESC LIMIT 1) last";
const LATE_QUESTION: &str = "FROM changes ORDER BY version DESC LIMIT 1 OFFSET 1) last";

/// Numbers that are committed in another order than they are drawn, by writers that do not wait
/// for each other.
const SEQUENCE: &str = "
    CREATE SEQUENCE drawn START 1000000000000;
    CREATE FUNCTION draw() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            NEW.changed_in = nextval('drawn');
            PERFORM pg_sleep(random() * 0.02);
            RETURN NEW;
        END $$;
    CREATE TRIGGER drawn BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION draw();
    CREATE FUNCTION draw_change() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE is_of_orders boolean = NEW.orders = NEW.version;
        BEGIN
            NEW.version = nextval('drawn');
            IF is_of_orders THEN NEW.orders = NEW.version; END IF;
            RETURN NEW;
        END $$;
    CREATE TRIGGER drawn BEFORE INSERT ON changes FOR EACH ROW EXECUTE FUNCTION draw_change();";

/// Orders are not shipped, though the command says so.
const UNSHIPPED: &str = "
    CREATE FUNCTION unship() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN NEW.status = OLD.status; RETURN NEW; END $$;
    CREATE TRIGGER unship BEFORE UPDATE ON orders FOR EACH ROW
        WHEN (NEW.status = 'shipped') EXECUTE FUNCTION unship();";

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
    fn disabled(self) -> Disabled {
        let whole = Disabled::default();
        let rewritten = |texts| Disabled { tampering: Tampering(texts), ..whole };
        match self {
            Control::Sequence => Disabled {
                statements: SEQUENCE,
                ..rewritten(&[("FROM versions FOR NO KEY UPDATE", "FROM versions")])
            },
            Control::NoJournal => Disabled {
                synchronous_standby: true,
                ..rewritten(&[(
                    "version = $1 AND id::text || ' ' || tableoid = $2",
                    "version<>$1 OR id::text<>$2",
                )])
            },
            // To servers, every primary is the one before.
            Control::NoWait => Disabled {
                addresses: true,
                ..rewritten(&[
                    ("pg_walfile_name(pg_current_wal_lsn())", "'000000010000000000000001'"),
                    ("pg_postmaster_start_time()", "'epoch'::timestamptz"),
                ])
            },
            Control::SharedHeartbeat => rewritten(&[(
                "FROM replicas WHERE id = $1 FOR NO KEY UPDATE",
                "FROM replicas WHERE id = $1",
            )]),
            Control::AsynchronousStandby => Disabled { synchronous_standby: true, ..whole },
            Control::LateSharing => rewritten(&[(QUESTION, LATE_QUESTION)]),
            Control::CountedTwice => rewritten(&[("minute_used + given", "minute_used+given*2")]),
            Control::Uncounted => rewritten(&[("minute_used + given", "minute_used")]),
            // In the startup options.
            Control::Unflushed => rewritten(&[("synchronous_commit=on", "synchronous_commit=no")]),
            Control::Unshipped => Disabled { statements: UNSHIPPED, ..whole },
            Control::LyingDisk | Control::UnheldAnswers => Disabled { syncs: true, ..whole },
            Control::LostCounts => Disabled { counts: true, ..whole },
            // In the poll for changes of keys, there is none after the first.
            Control::KeyCache => rewritten(&[("keys,\n           EXISTS", "0*orders+1,EXISTS")]),
        }
    }

    /// The fault that brings the damage to light, or one that hides nothing.
    fn fault(self) -> FaultKind {
        match self {
            Control::NoWait | Control::SharedHeartbeat => FaultKind::PromoteCut,
            Control::AsynchronousStandby | Control::NoJournal => FaultKind::PromoteKilled,
            Control::Unflushed => FaultKind::PrimaryKill,
            Control::LyingDisk => FaultKind::PowerCut,
            Control::UnheldAnswers => FaultKind::DiskHung,
            Control::LostCounts => FaultKind::ServerKill,
            _ => FaultKind::ServerClock,
        }
    }

    /// The rule that it breaks.
    fn rule(self) -> Rule {
        match self {
            Control::Sequence
            | Control::NoWait
            | Control::SharedHeartbeat
            | Control::AsynchronousStandby
            | Control::LateSharing => Rule::ListedAfter204,
            Control::NoJournal => Rule::ListsDiffer,
            Control::CountedTwice => Rule::RefusedTooEarly,
            Control::Uncounted | Control::LostCounts => Rule::AdmittedTooMany,
            Control::Unshipped => Rule::CameBack,
            Control::Unflushed | Control::LyingDisk => Rule::CancellationLost,
            Control::UnheldAnswers => Rule::AcknowledgedUnsynced,
            Control::KeyCache => Rule::RevokedKeyAccepted,
        }
    }

    /// Runs it until its rule is broken, which must be.
    async fn run(self, tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
        let plan = Plan {
            topology: match self {
                Control::LyingDisk | Control::UnheldAnswers | Control::LostCounts => {
                    Topology::Embedded
                }
                _ => Topology::Postgres,
            },
            seed: tools.seed,
            lasts: LONGEST,
            only: Some(self.fault()),
            disabled: self.disabled(),
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
