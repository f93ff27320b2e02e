//! Prints results: a line for each claim, below it what contradicts it, and a
//! summary.

use crate::Outcome;
use anstyle::{AnsiColor, Style};
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

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

    /// Runs each item, twice as many at once as there are cores: they wait for servers and browsers.
    /// Adds the claims and results as the runs end.
    pub fn add_each<T: Sync>(
        &mut self,
        items: &[T],
        run: impl Fn(&T) -> (String, anyhow::Result<Vec<String>>) + Sync,
    ) -> io::Result<()> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let begun = AtomicUsize::new(0);
        let (ended, results) = mpsc::channel();
        thread::scope(|scope| {
            for _ in 0..2 * cores {
                let (begun, run, ended) = (&begun, &run, ended.clone());
                scope.spawn(move || {
                    while let Some(item) = items.get(begun.fetch_add(1, Ordering::Relaxed))
                        && ended.send(run(item)).is_ok()
                    {}
                });
            }
            drop(ended);
            results.iter().try_for_each(|(claim, result)| self.add(&claim, &result))
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_run_once_and_the_worst_outcome_counts() {
        let mut printed = Vec::new();
        let mut report = Report::new(&mut printed);
        let run = |number: &u32| {
            let findings = if *number == 7 { vec!["a finding".to_string()] } else { Vec::new() };
            (number.to_string(), Ok(findings))
        };
        report.add_each(&Vec::from_iter(0..100), run).unwrap();
        assert_eq!(report.finish("numbers").unwrap(), Outcome::Drift);
        let printed = String::from_utf8(printed).unwrap();
        let printed = anstream::adapter::strip_str(&printed).to_string();
        for number in 0..100 {
            let line = format!("{} {number}", if number == 7 { "✗" } else { "✓" });
            assert!(printed.lines().any(|printed| printed == line), "{line} is not in {printed}");
        }
        assert!(printed.ends_with("\n99 of 100 numbers passed, 1 failed.\n"), "{printed}");
    }
}
