//! Prints the results of checks: a line for each check with the problems below it, and a summary.

use crate::Outcome;
use anstyle::{AnsiColor, Style};
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

pub struct CheckReport<'a> {
    out: &'a mut dyn Write,
    outcomes: Vec<Outcome>,
}

impl<'a> CheckReport<'a> {
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self { out, outcomes: Vec::new() }
    }

    pub fn wrote(&mut self, file: &str) -> io::Result<()> {
        writeln!(self.out, "Wrote {file}.")
    }

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

    /// Calls `run` for each item and adds the results as they arrive. Runs two items per core at
    /// the same time, because the items mostly wait for servers and browsers.
    pub fn add_each<T: Sync>(
        &mut self,
        items: &[T],
        run: impl Fn(&T) -> (String, anyhow::Result<Vec<String>>) + Sync,
    ) -> io::Result<()> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let next = AtomicUsize::new(0);
        let (sender, results) = mpsc::channel();
        thread::scope(|scope| {
            for _ in 0..2 * cores {
                let (next, run, sender) = (&next, &run, sender.clone());
                scope.spawn(move || {
                    while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed))
                        && sender.send(run(item)).is_ok()
                    {}
                });
            }
            drop(sender);
            results.iter().try_for_each(|(claim, result)| self.add(&claim, &result))
        })
    }

    /// Prints how many checks passed, and returns the worst outcome. `what` names the checks in the
    /// printed line, such as "views".
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
    fn each_item_runs_once_and_the_worst_outcome_is_returned() {
        let mut printed = Vec::new();
        let mut report = CheckReport::new(&mut printed);
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
