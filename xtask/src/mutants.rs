//! `cargo xtask mutants`: cargo-mutants on a random sample that can be repeated. Each
//! mutant runs the unit tests of its crate; those that survive run the tests of their
//! area. A thin wrapper: cargo-mutants makes, builds and tests the mutants.

mod areas;
mod sample;
mod tool;

use crate::Outcome;
use crate::repository::Repository;
use anyhow::bail;
use areas::{AREAS, area_of};
use sample::Shard;
use std::collections::BTreeSet;
use std::io::Write;
use tool::{CargoMutants, Verdicts};

/// The part of the viable mutants that tests must catch, in percent.
const MUST_CATCH: usize = 95;

/// Arguments of `cargo xtask mutants`.
#[derive(Clone, Debug, clap::Args)]
pub struct MutantsArgs {
    /// Which sample: the same seed draws the same mutants from the same code
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How many mutants to draw; about a third of them does not compile
    #[arg(long, value_name = "N", default_value_t = 450)]
    pub sample: usize,
    /// Only this part of the sample, such as 1/2
    #[arg(long, value_name = "K/N", default_value = "1/1")]
    pub shard: Shard,
    /// Draw only from mutants whose name has this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub only: String,
}

/// Runs the sample and prints the survivors. Drift if too many survived.
pub fn mutants(
    arguments: &MutantsArgs,
    repository: &Repository,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let tool = CargoMutants::new(repository)?;
    let mut names = tool.list()?;
    names.retain(|name| name.contains(&arguments.only));
    let drawn = sample::draw(names, arguments.seed, arguments.sample);
    let drawn: Vec<String> = arguments.shard.part(drawn);
    if drawn.is_empty() {
        bail!("no mutant is left to run");
    }
    writeln!(out, "{} mutants of seed {}", drawn.len(), arguments.seed)?;
    let mut verdicts = tool.run("unit", &drawn, &[], &["--lib"])?;
    for area in AREAS {
        let names: Vec<String> =
            verdicts.missed.iter().filter(|name| area_of(name) == area.name).cloned().collect();
        for suite in area.suites {
            let left: Vec<String> =
                names.iter().filter(|name| verdicts.missed.contains(*name)).cloned().collect();
            if !left.is_empty() {
                let label = format!("{}-{}", area.name, suite.package);
                let again = tool.run(&label, &left, &[suite.package], suite.arguments)?;
                let is_left = |name: &String| !left.contains(name) || again.missed.contains(name);
                verdicts.missed.retain(is_left);
            }
        }
    }
    print(&drawn, &verdicts, out)
}

/// A line for each area, then the survivors.
fn print(drawn: &[String], verdicts: &Verdicts, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let viable: BTreeSet<&String> =
        drawn.iter().filter(|name| !verdicts.unviable.contains(*name)).collect();
    let missed = &verdicts.missed;
    for area in AREAS {
        let all = viable.iter().filter(|name| area_of(name) == area.name).count();
        let survived = missed.iter().filter(|name| area_of(name) == area.name).count();
        writeln!(out, "{:8} {} of {all} caught", area.name, all - survived)?;
    }
    missed.iter().try_for_each(|name| writeln!(out, "survived: {name}"))?;
    let caught = viable.len() - missed.len();
    writeln!(out, "{caught} of {} viable mutants caught.", viable.len())?;
    let enough = caught * 100 >= viable.len() * MUST_CATCH;
    Ok(if enough { Outcome::Clean } else { Outcome::Drift })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survivors_are_named_and_too_many_of_them_fail() {
        let drawn: Vec<String> = (0..21).map(|line| format!("src/keys.rs:{line}:1: x")).collect();
        let missed = |count: usize| drawn.iter().take(count).cloned().collect();
        let unviable: BTreeSet<String> = drawn.iter().skip(20).cloned().collect();
        let of = |count| Verdicts { missed: missed(count), unviable: unviable.clone() };
        let mut out = Vec::new();
        assert_eq!(print(&drawn, &of(1), &mut out).unwrap(), Outcome::Clean);
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("keys     19 of 20 caught\n"), "{text}");
        assert!(text.ends_with("survived: src/keys.rs:0:1: x\n19 of 20 viable mutants caught.\n"));
        assert_eq!(print(&drawn, &of(2), &mut Vec::new()).unwrap(), Outcome::Drift);
    }
}
