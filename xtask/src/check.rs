//! `cargo xtask check`: runs every check and prints every problem.
//!
//! The checkout, what the contract emits and the day are passed in, so that tests can check any
//! document. To add a check, write a function and add it to `CHECKS`.

mod canonical;
mod document;
mod generated;
mod imports;
mod inputs;
mod major_version;
mod problem;
mod promises;
mod published;
mod texts;

pub use document::check_document;
pub use inputs::Inputs;
pub use major_version::check_major_version;
pub use problem::Problem;
pub use promises::{check_promises, check_served, no_version};
pub use texts::check_texts;

use crate::Outcome;
use crate::report::Report;
use std::io::{self, Write};

/// A check, and the claim that holds when it finds no problem.
struct Check {
    claim: fn(&Inputs) -> String,
    run: fn(&Inputs) -> anyhow::Result<Vec<Problem>>,
}

const CHECKS: [Check; 8] = [
    Check { claim: canonical::claim, run: canonical::run },
    Check { claim: document::claim, run: document::run },
    Check { claim: texts::claim, run: texts::run },
    Check { claim: generated::claim, run: generated::run },
    Check { claim: major_version::claim, run: major_version::run },
    Check { claim: promises::claim, run: promises::run },
    Check { claim: published::claim, run: published::run },
    Check { claim: imports::claim, run: imports::run },
];

/// What no check looks at.
const NOT_BUILT: &str = "The server was not compiled: `cargo check --workspace`.";

/// Runs all checks. An error is one of the writer.
pub fn check(inputs: &Inputs, out: &mut dyn Write) -> io::Result<Outcome> {
    let mut report = Report::new(&mut *out);
    for check in &CHECKS {
        let result =
            (check.run)(inputs).map(|problems| problems.iter().flat_map(Problem::lines).collect());
        report.add(&(check.claim)(inputs), &result)?;
    }
    let outcome = report.finish("checks")?;
    writeln!(out, "{NOT_BUILT}")?;
    Ok(outcome)
}
