//! Prints results: a line for each claim, below it what contradicts it, and a
//! summary.

use crate::Outcome;
use anstyle::{AnsiColor, Style};
use std::io::{self, Write};

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// The results so far.
pub struct Report<'a> {
    out: &'a mut dyn Write,
    outcomes: Vec<Outcome>,
}

impl<'a> Report<'a> {
    /// A report that is printed to `out`.
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self { out, outcomes: Vec::new() }
    }

    /// Prints what was written.
    pub fn wrote(&mut self, file: &str) -> io::Result<()> {
        writeln!(self.out, "Wrote {file}.")
    }

    /// Prints a claim and the lines that contradict it, or why it could not be
    /// checked.
    pub fn add(&mut self, claim: &str, result: &anyhow::Result<Vec<String>>) -> io::Result<()> {
        match result {
            Ok(lines) if lines.is_empty() => {
                self.outcomes.push(Outcome::Clean);
                writeln!(self.out, "{GOOD}✓{GOOD:#} {claim}")?;
            }
            Ok(lines) => {
                self.outcomes.push(Outcome::Drift);
                writeln!(self.out, "{BAD}✗{BAD:#} {claim}")?;
                lines.iter().try_for_each(|line| writeln!(self.out, "  {line}"))?;
            }
            Err(error) => {
                self.outcomes.push(Outcome::CouldNotRun);
                writeln!(self.out, "{BAD}?{BAD:#} {claim}: could not run\n  {error:#}")?;
            }
        }
        self.out.flush()
    }

    /// Prints how many of `what` passed. Returns the worst outcome.
    pub fn finish(self, what: &str) -> io::Result<Outcome> {
        let count = |outcome| self.outcomes.iter().filter(|other| **other == outcome).count();
        let (failed, unknown) = (count(Outcome::Drift), count(Outcome::CouldNotRun));
        write!(self.out, "{} of {} {what} passed", count(Outcome::Clean), self.outcomes.len())?;
        if failed > 0 {
            write!(self.out, ", {failed} failed")?;
        }
        if unknown > 0 {
            write!(self.out, ", {unknown} could not run")?;
        }
        writeln!(self.out, ".")?;
        Ok(self.outcomes.into_iter().max().unwrap_or(Outcome::Clean))
    }
}
