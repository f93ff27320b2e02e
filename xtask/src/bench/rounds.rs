//! Rounds: everything that is compared takes its turn in each, so that what the
//! machine does at the time meets all of it alike.

use super::ground::Ground;
use super::load::{self, Load, Outcome, Work};
use super::machine::CpuTime;
use super::server::Running;
use std::time::Duration;

/// What one turn came to.
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

/// The turns of one of those that are compared.
#[derive(Clone, Debug, Default)]
pub struct Series(Vec<Sample>);

impl Series {
    /// The median of this figure.
    pub fn median(&self, figure: impl Fn(&Sample) -> f64) -> f64 {
        median(self.0.iter().map(figure).collect())
    }

    /// The median of what this figure is in proportion to another's in the same
    /// round.
    pub fn ratio(&self, other: &Series, figure: impl Fn(&Sample) -> f64) -> f64 {
        median(
            self.0.iter().zip(&other.0).map(|(own, other)| figure(own) / figure(other)).collect(),
        )
    }

    /// Whether the bodies were gzip.
    pub fn gzip(&self) -> bool {
        self.0.iter().any(|sample| sample.gzip)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = values.get(middle).copied().unwrap_or(f64::NAN);
    if values.len() % 2 == 1 {
        return upper;
    }
    let lower = values.get(middle.wrapping_sub(1)).copied().unwrap_or(f64::NAN);
    (lower + upper) / 2.0
}

/// One of those that are compared: does its turn.
pub type Turn<'a> = Box<dyn FnMut() -> anyhow::Result<Sample> + 'a>;

/// Goes the rounds, the first of which is not counted.
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

/// A turn that asks a server in a closed loop and looks at what it costs there.
pub fn asking<'a>(
    ground: &Ground,
    server: &'a Running,
    connections: usize,
    work: &'a Work,
    status: u16,
) -> Turn<'a> {
    let span = ground.span;
    let load = Load {
        address: server.address,
        connections,
        span,
        work,
        status,
        bodyless: false,
        stop: None,
    };
    Box::new(move || sample(server, &load))
}

/// Runs a closed loop against a server and looks at what it costs there.
pub fn sample(server: &Running, load: &Load<'_>) -> anyhow::Result<Sample> {
    server.empty_log()?;
    let used = || server.process.pid().map(CpuTime::of).unwrap_or_default();
    let before = used();
    let outcome = load::run(load).map_err(|error| {
        // The log is written every tenth of a second.
        std::thread::sleep(Duration::from_millis(200));
        anyhow::anyhow!("{error:#}{}", server.complaints())
    })?;
    Ok(Sample::of(&outcome, used().since(&before)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_in_the_middle_and_ratios_within_a_round() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(vec![]).is_nan());
        let series = |rates: [u64; 3]| Series(rates.map(|rate| Sample::counted(rate, 1.0)).into());
        // Every round says one half, although the rounds differ tenfold.
        let (own, other) = (series([5, 50, 500]), series([10, 100, 1_000]));
        assert_eq!(own.ratio(&other, |sample| sample.rate), 0.5);
        assert_eq!(own.median(|sample| sample.rate), 50.0);
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
