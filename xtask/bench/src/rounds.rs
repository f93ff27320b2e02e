//! Runs measurements in rounds. In each round, every build and the baseline take one turn, so that
//! noise affects all of them alike.

use crate::load::Load;
use crate::machine::{cpu_seconds, on_served_core};
use crate::spread::Spread;
use crate::table::{Row, Target, Unit};
use anyhow::{Context, ensure};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testbed::ServerProcess;

#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The measured value, in the unit of the row's [`Work`].
    pub amount: f64,
    /// The seconds of processor time that the server used per response, or NaN if not measured.
    pub cpu: f64,
}

impl Sample {
    pub fn without_cpu(amount: f64) -> Sample {
        Sample { amount, cpu: f64::NAN }
    }

    pub fn milliseconds(span: Duration) -> Sample {
        Sample::without_cpu(span.as_secs_f64() * 1e3)
    }
}

/// Runs one measurement, such as a load of 700 ms, and returns its result.
pub type Turn<'a> = Box<dyn FnMut() -> anyhow::Result<Sample> + 'a>;

/// A value for each measured build. `this` belongs to this checkout, and `other` to the program
/// that `--program` names.
pub struct Builds<T> {
    pub this: T,
    pub other: Option<T>,
}

impl<T> Builds<T> {
    pub fn map<'a, U>(
        &'a self,
        mut map: impl FnMut(&'a T) -> anyhow::Result<U>,
    ) -> anyhow::Result<Builds<U>> {
        Ok(Builds { this: map(&self.this)?, other: self.other.as_ref().map(map).transpose()? })
    }
}

pub struct Work {
    pub name: String,
    pub unit: Unit,
    pub target: Target,
}

/// Compares this build with the baseline, and with the other build if given. In each round, the
/// builds and the baseline take one turn each, so changes in the machine's speed affect all of
/// them. Returns a row for each comparison.
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
    let (mut this, mut series) = (builds.this, vec![Vec::new(); compared.len() + 1]);
    for round in 0..=rounds {
        let turns = std::iter::once(&mut this).chain(compared.iter_mut().map(|(_, _, turn)| turn));
        let mut turns: Vec<_> = turns.zip(&mut series).collect();
        // A turn's position within a round may affect its result, so every second round runs the
        // turns in reverse order.
        if round % 2 == 1 {
            turns.reverse();
        }
        for (turn, series) in turns {
            let sample = turn().with_context(|| name.clone())?;
            // The first round only warms up and is not counted.
            if round > 0 {
                series.push(sample);
            }
        }
    }
    let (this, others) = series.split_first().context("this build takes turns")?;
    let amount = |sample: &Sample| sample.amount;
    let rows = compared.iter().zip(others).map(|((baseline_name, target, _), other)| Row {
        work: name.clone(),
        unit,
        measured: Spread::from_values(this.iter().map(amount)),
        baseline_name: (*baseline_name).to_string(),
        baseline: Spread::from_values(other.iter().map(amount)),
        ratio: Spread::from_values(
            this.iter().zip(other).map(|(this, other)| this.amount / other.amount),
        ),
        target: *target,
        cpu_ratio: Spread::from_values(
            this.iter().zip(other).map(|(this, other)| other.cpu / this.cpu),
        ),
    });
    Ok(rows.collect())
}

/// Returns a turn that sends requests to a server in a closed loop. The turn measures the responses
/// per second, and the server's CPU time per response.
pub fn load_turn(server: &ServerProcess, mut load: Load, span: Duration) -> Turn<'_> {
    Box::new(move || {
        // Empties the log, which would otherwise fill the disk.
        server.clear_log()?;
        let before = cpu_seconds(server)?;
        let outcome = load.run(server.address()?, span);
        let (answers, seconds) = outcome.with_context(|| last_warnings(server))?;
        let cpu = (cpu_seconds(server)? - before) / answers;
        Ok(Sample { amount: answers / seconds, cpu })
    })
}

/// Returns a turn that starts and stops a server. The turn measures only the start, until the
/// server prints its address.
pub fn start_turn<'a>(serve: impl Fn() -> anyhow::Result<ServerProcess> + 'a) -> Turn<'a> {
    Box::new(move || {
        let server = serve()?;
        let started_in = server.started_in();
        server.stop()?;
        Ok(Sample::milliseconds(started_in))
    })
}

/// Returns a turn that measures how long a command runs on the core for servers.
pub fn command_turn<'a>(mut command: Command) -> Turn<'a> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    Box::new(move || {
        let began = Instant::now();
        ensure!(on_served_core(|| Ok(command.status()?))?.success(), "{command:?} failed");
        Ok(Sample::milliseconds(began.elapsed()))
    })
}

fn last_warnings(server: &ServerProcess) -> String {
    // The server writes its log every tenth of a second, so the last lines may still be missing.
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
    fn all_take_turns_and_ratios_are_within_a_round() {
        let turns = RefCell::new(Vec::new());
        let turn = |name: &'static str, factor: f64| -> Turn<'_> {
            let turns = &turns;
            let mut round = 0;
            Box::new(move || {
                turns.borrow_mut().push(name);
                round += 1;
                // The first round is an outlier that must not count. Later rounds differ by powers
                // of ten, so a ratio of different rounds fails the test.
                let amount = if round == 1 { 7.0 } else { factor * 10_f64.powi(round) };
                Ok(Sample { amount, cpu: factor })
            })
        };
        let builds = Builds { this: turn("own", 2.0), other: Some(turn("other", 1.0)) };
        let work =
            Work { name: "list".to_string(), unit: Unit::PerSecond, target: Target::AtLeast(1.0) };
        let rows = compare(3, work, builds, "bare", turn("bare", 4.0)).unwrap();
        assert_eq!(*turns.borrow(), ["own", "bare", "other", "other", "bare", "own"].repeat(2));
        let [bare, other] = &rows[..] else { panic!("{rows:?}") };
        let single = |value| Spread::from_values([value].into_iter());
        assert_eq!((bare.ratio, bare.cpu_ratio), (single(0.5), single(2.0)));
        assert_eq!((other.ratio, other.cpu_ratio), (single(2.0), single(0.5)));
        assert_eq!((bare.measured.median, bare.baseline.median), (2_000.0, 4_000.0));
        assert_eq!((bare.target, other.target), (Target::AtLeast(1.0), Target::None));
        assert_eq!((&*bare.baseline_name, &*other.baseline_name), ("bare", "the other build"));
    }
}
