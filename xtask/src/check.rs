//! `cargo xtask check`: runs every check and prints the problems. With `--fix`, first writes the
//! fixes that can be generated. `cargo xtask generate` is two of these checks with their fixes.
//!
//! The checks read only their [`Inputs`], so that tests can check any document. To add a check,
//! write a function and add it to `CHECKS`.

mod canonical;
mod document;
mod examples;
mod generated;
mod imports;
mod inputs;
mod major_version;
mod problem;
mod promises;
mod published;
mod texts;

pub use document::check_document;
pub use examples::check_examples;
pub use imports::{module_imports, modules_in_map};
pub use inputs::Inputs;
pub use major_version::check_major_version;
pub use problem::{Fix, Problem};
pub use promises::{check_promises, check_served, no_version};
pub use texts::check_texts;

use crate::Outcome;
use crate::check_report::CheckReport;
use std::io::Write;

/// A check, and the statement that is true if the check finds no problem.
struct Check {
    claim: fn(&Inputs) -> String,
    run: fn(&Inputs) -> anyhow::Result<Vec<Problem>>,
}

/// All checks, in the order in which their fixes depend on each other: new samples in a document
/// may require a new version, generated files contain the version, and the emitted documents come
/// from generated code. The published documents come first, because most checks compare with them.
const CHECKS: &[Check] = &[
    Check { claim: published::claim, run: published::run },
    CANONICAL,
    Check { claim: promises::claim, run: promises::run },
    GENERATED,
    Check { claim: document::claim, run: document::run },
    Check { claim: texts::claim, run: texts::run },
    Check { claim: major_version::claim, run: major_version::run },
    Check { claim: examples::claim, run: examples::run },
    Check { claim: imports::claim, run: imports::run },
];

const CANONICAL: Check = Check { claim: canonical::claim, run: canonical::run };
const GENERATED: Check = Check { claim: generated::claim, run: generated::run };

/// The last line of the output. It reminds users that no check compiles the server. The command
/// compiles what the tests use; `cargo check` would compile everything a second time.
const NOT_BUILT: &str = "The server was not compiled: `cargo test --workspace --no-run`.";

/// Runs all checks. If `is_fixing`, writes their fixes and reports what remains.
pub fn check(inputs: &Inputs, is_fixing: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let outcome = run(CHECKS, inputs, is_fixing, out)?;
    writeln!(out, "{NOT_BUILT}")?;
    Ok(outcome)
}

/// `cargo xtask generate`: writes the code samples into the documents, and the generated files.
pub fn generate(inputs: &Inputs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    run(&[CANONICAL, GENERATED], inputs, true, out)
}

fn run(
    checks: &[Check],
    inputs: &Inputs,
    is_fixing: bool,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let mut report = CheckReport::new(out);
    for check in checks {
        let mut result = (check.run)(inputs);
        if let (Ok(problems), true) = (&result, is_fixing) {
            let mut is_written = false;
            for problem in problems {
                if let Some(file) = problem.write(&inputs.repository)? {
                    report.wrote(file)?;
                    is_written = true;
                }
            }
            if is_written {
                result = (check.run)(inputs);
            }
        }
        let result = result.map(|problems| problems.iter().flat_map(Problem::lines).collect());
        report.add(&(check.claim)(inputs), &result)?;
    }
    Ok(report.finish("checks")?)
}
