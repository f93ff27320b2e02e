//! What a run measured, and what did not hold.

use std::io::Write;
use std::time::Duration;

/// A failure proves nothing if the machine stood still for longer: a request may wait for
/// 250 ms to be counted, and is refused by such a stall alone.
pub const EXCUSING_STALL: Duration = Duration::from_millis(200);

/// The figures of a run and its violations.
#[derive(Debug, Default)]
pub struct Report {
    figures: Vec<String>,
    violations: Vec<Found>,
    /// Times with what they may be, judged at the end, when the longest stall is known.
    times: Vec<(String, Duration, Duration)>,
}

/// Something that did not hold.
#[derive(Debug)]
struct Found {
    text: String,
    /// Whether a stall of the machine may explain it.
    is_of_time: bool,
}

impl Report {
    /// Notes a figure.
    pub fn figure(&mut self, text: impl Into<String>) {
        self.figures.push(text.into());
    }

    /// Notes a time, which must not exceed its bound by more than the machine stalled.
    pub fn time(&mut self, what: impl Into<String>, taken: Duration, bound: Duration) {
        self.times.push((what.into(), taken, bound));
    }

    /// Something that must hold, whatever the machine did, and what is said if it does not.
    pub fn expect(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        self.add(holds, false, otherwise);
    }

    /// Something that must hold unless the machine stood still: a request was answered in time,
    /// and not 503.
    pub fn expect_unless_stalled(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        self.add(holds, true, otherwise);
    }

    fn add(&mut self, holds: bool, is_of_time: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.violations.push(Found { text: otherwise(), is_of_time });
        }
    }

    /// Whether everything held so far, and each time is within its bound.
    pub fn holds(&self) -> bool {
        let are_in_time = self.times.iter().all(|(_, taken, bound)| taken <= bound);
        self.violations.is_empty() && are_in_time
    }

    /// What did not hold so far, apart from times.
    pub fn violations(&self) -> Vec<&str> {
        self.violations.iter().map(|found| found.text.as_str()).collect()
    }

    /// Prints everything, with what a stall of this length excuses.
    pub fn write(&mut self, stall: Duration, out: &mut dyn Write) -> std::io::Result<()> {
        let mut excused = Vec::new();
        for (what, taken, bound) in std::mem::take(&mut self.times) {
            self.figures.push(format!("{what}: {taken:.2?} (at most {bound:?})"));
            let text = format!("{what} took {taken:.2?}, more than {bound:?}");
            if taken > bound + stall {
                self.violations.push(Found { text, is_of_time: true });
            } else if taken > bound {
                excused.push(text);
            }
        }
        for figure in &self.figures {
            writeln!(out, "  {figure}")?;
        }
        writeln!(out, "  the machine's longest stall: {stall:.2?}")?;
        for Found { text, is_of_time } in &self.violations {
            match *is_of_time && stall > EXCUSING_STALL {
                true => excused.push(text.clone()),
                false => writeln!(out, "violation: {text}")?,
            }
        }
        for text in excused {
            writeln!(out, "excused by the stall: {text}")?;
        }
        Ok(())
    }

    /// What was found, once times are judged.
    pub fn verdict(&self) -> Verdict {
        match self.violations.iter().all(|found| found.is_of_time) {
            false => Verdict::Contradicted,
            true if self.violations.is_empty() => Verdict::Holds,
            true => Verdict::Violated,
        }
    }
}

/// What a run found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything held.
    Holds,
    /// Something did not, which a stall of the machine may explain.
    Violated,
    /// Something did not, which no stall explains.
    Contradicted,
}
