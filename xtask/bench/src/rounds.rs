//! Rounds: each build and the baseline take a turn in each, so that noise affects all alike. A
//! baseline that is no program is a constant.

use crate::load::Load;
use crate::machine::{cpu_seconds, on_served_core};
use crate::spread::Spread;
use crate::table::{Row, Target, Unit};
use anyhow::{Context, ensure};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testbed::ServerProcess;

/// The figures of one turn.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// In the unit of the row.
    pub amount: f64,
    /// Seconds of processor time that the server used for an answer.
    pub cpu: f64,
}

impl Sample {
    /// Of something without answers.
    pub fn of(amount: f64) -> Sample {
        Sample { amount, cpu: f64::NAN }
    }

    pub fn milliseconds(span: Duration) -> Sample {
        Sample::of(span.as_secs_f64() * 1e3)
    }
}

/// Takes one turn.
pub type Turn<'a> = Box<dyn FnMut() -> anyhow::Result<Sample> + 'a>;

/// The build of this checkout, and the other one if there is one.
pub struct Builds<T> {
    pub own: T,
    pub other: Option<T>,
}

impl<T> Builds<T> {
    pub fn map<'a, U>(
        &'a self,
        mut map: impl FnMut(&'a T) -> anyhow::Result<U>,
    ) -> anyhow::Result<Builds<U>> {
        Ok(Builds { own: map(&self.own)?, other: self.other.as_ref().map(map).transpose()? })
    }
}

/// What a row is about.
pub struct Work {
    pub name: String,
    pub unit: Unit,
    pub target: Target,
}

/// Compares this build with a baseline, and with the other build.
pub fn compare(
    rounds: u16,
    work: Work,
    builds: Builds<Turn<'_>>,
    baseline_name: &str,
    baseline: Turn<'_>,
) -> anyhow::Result<Vec<Row>> {
    let Work { name, unit, target } = work;
    let other = builds.other.map(|turn| ("the other build", Target::None, turn));
    let mut compared: Vec<_> =
        [(baseline_name, target, baseline)].into_iter().chain(other).collect();
    let (mut own, mut series) = (builds.own, vec![Vec::new(); compared.len() + 1]);
    for round in 0..=rounds {
        let turns = std::iter::once(&mut own).chain(compared.iter_mut().map(|(_, _, turn)| turn));
        let mut turns: Vec<_> = turns.zip(&mut series).collect();
        // What comes first may gain or lose by it.
        if round % 2 == 1 {
            turns.reverse();
        }
        for (turn, series) in turns {
            let sample = turn().with_context(|| name.clone())?;
            // The first round warms up.
            if round > 0 {
                series.push(sample);
            }
        }
    }
    let (own, others) = series.split_first().context("this build takes turns")?;
    let amount = |sample: &Sample| sample.amount;
    let rows = compared.iter().zip(others).map(|((baseline_name, target, _), other)| Row {
        work: name.clone(),
        unit,
        measured: Spread::of(own.iter().map(amount)),
        baseline_name: (*baseline_name).to_string(),
        baseline: Spread::of(other.iter().map(amount)),
        ratio: Spread::of(own.iter().zip(other).map(|(own, other)| own.amount / other.amount)),
        target: *target,
        cpu_ratio: Spread::of(own.iter().zip(other).map(|(own, other)| other.cpu / own.cpu)),
    });
    Ok(rows.collect())
}

/// Drives a server with a closed loop: answers a second.
pub fn loading(server: &ServerProcess, mut load: Load, span: Duration) -> Turn<'_> {
    Box::new(move || {
        // It would fill the disk.
        server.clear_log()?;
        let before = cpu_seconds(server)?;
        let outcome = load.run(server.address()?, span);
        let (answers, seconds) = outcome.with_context(|| complaints(server))?;
        let cpu = (cpu_seconds(server)? - before) / answers;
        Ok(Sample { amount: answers / seconds, cpu })
    })
}

/// Starts a server, and stops it when it listens.
pub fn starting<'a>(serve: impl Fn() -> anyhow::Result<ServerProcess> + 'a) -> Turn<'a> {
    Box::new(move || {
        let server = serve()?;
        let started_in = server.started_in();
        server.stop()?;
        Ok(Sample::milliseconds(started_in))
    })
}

/// Runs a command on the served side's core, without its output.
pub fn running<'a>(mut command: Command) -> Turn<'a> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    Box::new(move || {
        let began = Instant::now();
        ensure!(on_served_core(|| Ok(command.status()?))?.success(), "{command:?} failed");
        Ok(Sample::milliseconds(began.elapsed()))
    })
}

/// The last lines of the log above the level of information.
fn complaints(server: &ServerProcess) -> String {
    // The log is written every tenth of a second.
    std::thread::sleep(Duration::from_millis(200));
    let log = server.log();
    let lines = log.lines().filter(|line| !line.contains(r#""level":"INFO""#));
    let last: Vec<&str> = lines.rev().take(3).collect();
    format!("the server's log, the last line first: {}", last.join(" / "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn all_take_turns_and_ratios_are_those_within_a_round() {
        let turns = RefCell::new(Vec::new());
        let turn = |name: &'static str, factor: f64| -> Turn<'_> {
            let turns = &turns;
            let mut round = 0;
            Box::new(move || {
                turns.borrow_mut().push(name);
                round += 1;
                // The first round is an outlier, and later ones differ tenfold.
                let amount = if round == 1 { 7.0 } else { factor * 10_f64.powi(round) };
                Ok(Sample { amount, cpu: factor })
            })
        };
        let builds = Builds { own: turn("own", 2.0), other: Some(turn("other", 1.0)) };
        let work =
            Work { name: "list".to_string(), unit: Unit::PerSecond, target: Target::AtLeast(1.0) };
        let rows = compare(3, work, builds, "bare", turn("bare", 4.0)).unwrap();
        assert_eq!(*turns.borrow(), ["own", "bare", "other", "other", "bare", "own"].repeat(2));
        let [bare, other] = &rows[..] else { panic!("{rows:?}") };
        let single = |value| Spread::of([value].into_iter());
        assert_eq!((bare.ratio, bare.cpu_ratio), (single(0.5), single(2.0)));
        assert_eq!((other.ratio, other.cpu_ratio), (single(2.0), single(0.5)));
        assert_eq!((bare.measured.median, bare.baseline.median), (2_000.0, 4_000.0));
        assert_eq!((bare.target, other.target), (Target::AtLeast(1.0), Target::None));
        assert_eq!((&*bare.baseline_name, &*other.baseline_name), ("bare", "the other build"));
    }
}
