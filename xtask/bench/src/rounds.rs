//! Rounds are interleaved: whatever is compared takes a turn in each, so that noise
//! affects every contender equally.

use crate::load::{self, Load, Outcome, Work};
use crate::machine::{CpuTime, Side};
use crate::server::MeasuredServer;
use crate::setup::BenchSetup;
use crate::spread::Spread;
use anyhow::ensure;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A turn whose end something else decides takes far less.
pub const TURN_TIMEOUT: Duration = Duration::from_secs(60);

/// The figures of one turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Answers, or whatever is counted, a second.
    pub rate: f64,
    /// Bytes of bodies a second.
    pub bytes: f64,
    /// Half of the answers took no longer, in microseconds.
    pub p50: f64,
    /// 99 % of the answers took no longer, in microseconds.
    pub p99: f64,
    /// Microseconds of processor that the served side used for an answer.
    pub cpu: f64,
    /// The bodies were gzip.
    pub gzip: bool,
}

impl Sample {
    /// Of a closed loop, for which the served side used this much of a core.
    pub fn of(outcome: &Outcome, cpu: Duration) -> Sample {
        Sample {
            rate: outcome.parts() / outcome.seconds,
            bytes: outcome.bytes as f64 / outcome.seconds,
            p50: outcome.quantile(0.5),
            p99: outcome.quantile(0.99),
            cpu: cpu.as_secs_f64() * 1e6 / outcome.parts(),
            gzip: outcome.gzip,
        }
    }

    /// Of a loop that only counts.
    pub fn counted(times: u64, seconds: f64) -> Sample {
        let nothing = f64::NAN;
        let rate = times as f64 / seconds;
        Sample { rate, bytes: nothing, p50: nothing, p99: nothing, cpu: nothing, gzip: false }
    }
}

/// The turns of one contender.
#[derive(Clone, Debug, Default)]
pub struct Series(Vec<Sample>);

impl Series {
    /// This figure over the rounds.
    pub fn spread(&self, figure: impl Fn(&Sample) -> f64) -> Spread {
        Spread::of(self.0.iter().map(figure).collect())
    }

    /// This figure divided by another's in the same round, over the rounds.
    pub fn ratio(&self, other: &Series, figure: impl Fn(&Sample) -> f64) -> Spread {
        let rounds = self.0.iter().zip(&other.0);
        Spread::of(rounds.map(|(own, other)| figure(own) / figure(other)).collect())
    }

    /// Whether the bodies were gzip.
    pub fn gzip(&self) -> bool {
        self.0.iter().any(|sample| sample.gzip)
    }
}

/// A contender: does its turn.
pub type Turn<'a> = Box<dyn FnMut() -> anyhow::Result<Sample> + 'a>;

/// Runs the rounds, the first of which is not counted.
pub fn go<const N: usize>(rounds: usize, mut turns: [Turn<'_>; N]) -> anyhow::Result<[Series; N]> {
    let mut all = [(); N].map(|()| Series::default());
    for round in 0..=rounds {
        for (turn, series) in turns.iter_mut().zip(&mut all) {
            let sample = turn()?;
            if round > 0 {
                series.0.push(sample);
            }
        }
    }
    Ok(all)
}

/// A closed loop that lasts as long as a round.
pub fn load<'a>(
    setup: &BenchSetup,
    server: &MeasuredServer,
    connections: usize,
    work: &'a Work,
    status: u16,
) -> Load<'a> {
    Load { address: server.address, connections, span: setup.span, work, status, stop: None }
}

/// A turn that drives a server with a closed loop.
pub fn asking<'a>(
    setup: &BenchSetup,
    server: &'a MeasuredServer,
    connections: usize,
    work: &'a Work,
    status: u16,
) -> Turn<'a> {
    let load = load(setup, server, connections, work, status);
    Box::new(move || sample(server, &load))
}

/// A turn that starts a server, and stops it when it listens.
pub fn starting<'a>(serve: impl Fn() -> anyhow::Result<MeasuredServer> + 'a) -> Turn<'a> {
    Box::new(move || {
        let server = serve()?;
        let started_in = server.started_in().as_secs_f64();
        server.stop()?;
        Ok(Sample::counted(1, started_in))
    })
}

/// A turn that runs a command on the served side's core, without its output.
pub fn running<'a>(command: impl Fn() -> Command + 'a) -> Turn<'a> {
    Box::new(move || {
        let mut command = command();
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let began = Instant::now();
        ensure!(Side::Served.run(|| Ok(command.status()?))?.success(), "{command:?} failed");
        Ok(Sample::counted(1, began.elapsed().as_secs_f64()))
    })
}

/// Drives a server with a closed loop and measures what that costs it.
pub fn sample(server: &MeasuredServer, load: &Load<'_>) -> anyhow::Result<Sample> {
    server.clear_log()?;
    let pid = server.pid()?;
    let before = CpuTime::of(pid);
    let outcome =
        load::run(load).map_err(|error| anyhow::anyhow!("{error:#}{}", server.complaints()))?;
    Ok(Sample::of(&outcome, CpuTime::of(pid).since(&before)))
}

/// Measures while another closed loop goes on in a thread of its own; both figures. The server's
/// processor time cannot be divided between them.
pub fn while_loaded(
    server: &MeasuredServer,
    other: &Load<'_>,
    measure: impl FnOnce() -> anyhow::Result<Sample>,
) -> anyhow::Result<(Sample, Sample)> {
    let is_over = AtomicBool::new(false);
    let other = Load { stop: Some(&is_over), span: TURN_TIMEOUT, ..*other };
    std::thread::scope(|scope| {
        let load = scope.spawn(|| sample(server, &other));
        let measured = measure();
        is_over.store(true, Ordering::Relaxed);
        let other = load.join().map_err(|_| anyhow::anyhow!("the other load panicked"))??;
        let undivided = |sample| Sample { cpu: f64::NAN, ..sample };
        Ok((undivided(measured?), undivided(other)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_within_a_round() {
        let series = |rates: [u64; 3]| Series(rates.map(|rate| Sample::counted(rate, 1.0)).into());
        // Every round says one half, although the rounds differ tenfold.
        let (own, other) = (series([5, 50, 500]), series([10, 100, 1_000]));
        assert_eq!(own.ratio(&other, |sample| sample.rate), Spread::single(0.5));
        assert_eq!(own.spread(|sample| sample.rate).median, 50.0);
    }

    #[test]
    fn the_first_round_is_not_counted_and_turns_alternate() {
        let order = std::cell::RefCell::new(Vec::new());
        let turn = |name: u64| -> Turn<'_> {
            let order = &order;
            Box::new(move || {
                order.borrow_mut().push(name);
                Ok(Sample::counted(order.borrow().len() as u64, 1.0))
            })
        };
        let [first, second] = go(2, [turn(1), turn(2)]).unwrap();
        assert_eq!((first.0.len(), second.0.len()), (2, 2));
        assert_eq!(*order.borrow(), [1, 2, 1, 2, 1, 2]);
    }
}
