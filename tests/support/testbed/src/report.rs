//! Collects the figures and the violations of a test run. A long stall of the machine excuses the
//! violations that a stall may explain.

use std::io::Write;
use std::time::Duration;

/// If the machine stalls for longer than this, the violations that a stall may explain are excused.
/// For example, a stalled server reads its store too late and refuses requests.
pub const EXCUSING_STALL: Duration = Duration::from_millis(200);

#[derive(Debug, Default)]
pub struct Report {
    figures: Vec<String>,
    violations: Vec<ReportedViolation>,
    /// Each entry has a name, the measured time and its bound. `write` applies the bounds, because
    /// the machine's longest stall extends each bound and is known only at the end of the run.
    times: Vec<(String, Duration, Duration)>,
}

#[derive(Debug)]
struct ReportedViolation {
    text: String,
    /// True if a stall of the machine may explain the violation.
    is_of_time: bool,
}

impl Report {
    /// Adds a line that the report prints before the violations.
    pub fn figure(&mut self, text: impl Into<String>) {
        self.figures.push(text.into());
    }

    /// Adds a measured time. When the report is written, the machine's longest stall extends
    /// `bound`. A stall longer than `EXCUSING_STALL` excuses every measured time.
    pub fn time(&mut self, what: impl Into<String>, taken: Duration, bound: Duration) {
        self.times.push((what.into(), taken, bound));
    }

    /// Adds a violation if the condition does not hold. A stall of the machine does not excuse this
    /// violation. `otherwise` describes it.
    pub fn expect(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        self.add(holds, false, otherwise);
    }

    /// Expects that a condition holds, such as a response in time. A violation is excused if the
    /// machine stalled for longer than `EXCUSING_STALL`.
    pub fn expect_unless_stalled(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        self.add(holds, true, otherwise);
    }

    fn add(&mut self, holds: bool, is_of_time: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.violations.push(ReportedViolation { text: otherwise(), is_of_time });
        }
    }

    pub fn holds(&self) -> bool {
        let are_in_time = self.times.iter().all(|(_, taken, bound)| taken <= bound);
        self.violations.is_empty() && are_in_time
    }

    /// Returns the violations so far. Measured times above their bounds are missing until
    /// [`Report::write`] adds them.
    pub fn violations(&self) -> Vec<&str> {
        self.violations.iter().map(|violation| violation.text.as_str()).collect()
    }

    /// Prints the figures and the violations. `stall` is the machine's longest stall. If this stall
    /// may explain a violation, the violation is printed as excused.
    pub fn write(&mut self, stall: Duration, out: &mut dyn Write) -> std::io::Result<()> {
        let mut excused = Vec::new();
        for (what, taken, bound) in std::mem::take(&mut self.times) {
            self.figures.push(format!("{what}: {taken:.2?} (at most {bound:?})"));
            let text = format!("{what} took {taken:.2?}, more than {bound:?}");
            if taken > bound + stall {
                self.violations.push(ReportedViolation { text, is_of_time: true });
            } else if taken > bound {
                excused.push(text);
            }
        }
        for figure in &self.figures {
            writeln!(out, "  {figure}")?;
        }
        writeln!(out, "  the machine's longest stall: {stall:.2?}")?;
        for ReportedViolation { text, is_of_time } in &self.violations {
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

    /// Returns the verdict. Call [`Report::write`] first, because `write` turns times above their
    /// bounds into violations.
    pub fn verdict(&self) -> Verdict {
        match self.violations.iter().all(|violation| violation.is_of_time) {
            false => Verdict::Contradicted,
            true if self.violations.is_empty() => Verdict::Holds,
            true => Verdict::Violated,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Holds,
    /// There are violations, all of which a stall of the machine may explain.
    Violated,
    /// At least one violation cannot come from a stall of the machine.
    Contradicted,
}
