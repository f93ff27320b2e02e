//! `cargo xtask check`: runs every check and prints the problems. With `--fix`, the command writes
//! the fixes that can be generated, and prints only the problems that remain. `cargo xtask
//! generate` runs the checks `canonical` and `generated` with `--fix`.
//!
//! Callers rely on what a document in `spec/` promises, so the check must find where the code
//! differs from the document. The obvious check generates the code again and compares it with the
//! files in `api/src`. This check is made too, but it proves only that nobody has edited a file. If
//! the generator overlooks a `maximum`, it overlooks the `maximum` both times.
//!
//! So another check asks dropshot, the server's HTTP library. Dropshot and schemars never see the
//! document in `spec/`. They derive another document from the compiled types:
//!
//! ```text
//! spec/openapi-v2.json --generate--> api/src/v2.rs --dropshot, schemars--> emitted document
//!          |                                                                      |
//!          +------------------ compared leaf by leaf (document.rs) ---------------+
//! ```
//!
//! If the generator overlooks a `maximum`, the type has no bound, so the emitted document lacks the
//! `maximum`. The check then names its JSON pointer. If this comparison passes, one of two
//! statements is true of each leaf of the document, that is, of each value that contains no other
//! value:
//!
//! - Dropshot emits the leaf, with the same value. This covers paths, methods, parameters, types,
//!   formats, bounds and required members. Of each operation's responses, dropshot emits only the
//!   success with the lowest status.
//! - `codegen::unemitted` lists the leaf's kind as one that dropshot cannot emit, with the checks
//!   and tests that cover this kind instead. `api/UPSTREAM.md` shows the same table. A test fails
//!   if dropshot emits any leaf of a listed kind, so nobody can list `maximum`.
//!
//! The check reads the file in `spec/` itself, not what the generator has read from it. It also
//! reports each leaf that only the emitted document has.
//!
//! For a time, the generated code contained parts of the document as constants, and added them to
//! what dropshot emitted. The check then compared these parts with a copy of themselves, and could
//! not fail. Today every emitted part has passed through a Rust type and schemars, so a part that
//! either of them drops is missing.
//!
//! Types only declare what a server should do. To emit the document, the check runs the crate `api`
//! in a separate process (`emitted.rs`), and never runs the server. Tests, which the check does not
//! run, prove what the server does. They rely on the document and not on the generated types:
//!
//! - The wire check (`tests/support/test_server`) reads the responses in the integration tests. If
//!   the status, a header or the body of a response is not as documented, the test fails.
//! - `tests/every_documented_answer.rs` fails unless it has received each documented status,
//!   header, code, field and listed value, and sent each query parameter. Few parts are exempt,
//!   such as error codes that only a proxy sends.
//! - Fuzzing (`xtask/src/external_checks/fuzzing.rs`) also sends requests that violate the
//!   document, and expects errors. This matters for the bounds of parameters, because dropshot
//!   emits one copy of each bound, and the parser enforces another.
//!
//! The checks themselves are tested with seeded defects. `xtask/tests/every_leaf.rs` changes each
//! leaf, object and array of the documents, one at a time. The comparison must report the change.
//! For a leaf that dropshot cannot emit, the rules of [`compatibility`](crate::compatibility) must
//! report the edit, and the tests that `unemitted` lists cover the code.
//! `xtask/tests/seeded_defects.rs` makes mistakes that a person might make, and
//! `tests/wire_check.rs` sends responses that are wrong.
//!
//! Text is the weak point. Dropshot emits descriptions from the comments of the generated types.
//! This proves that no description was lost, but not that it is true. Therefore `check/texts.rs`
//! compares the plans, codes and bounds in texts with the values that programs read, and
//! `check/examples.rs` validates the examples.
//!
//! To add a check, write a function for its claim and a function that finds the problems, and add
//! both to `CHECKS`. The checks read only their [`Inputs`], so that tests can check any document.

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

/// A check. The output shows `claim`, a statement that is true if `run` finds no problem.
struct Check {
    claim: fn(&Inputs) -> String,
    run: fn(&Inputs) -> anyhow::Result<Vec<Problem>>,
}

/// All checks, in the order in which they run. A fix never invalidates the result of an earlier
/// check. `published` comes before `promises`, because `promises` relies on the published
/// documents.
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

/// The last line of the output, a reminder that no check compiles the server. It names `cargo test
/// --no-run` and not `cargo check`, because the tests cannot reuse what `cargo check` compiles.
const NOT_BUILT: &str = "The server was not compiled: `cargo test --workspace --no-run`.";

/// Runs all checks. If `is_fixing`, writes their fixes and reports what remains.
pub fn check(inputs: &Inputs, is_fixing: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let outcome = run(CHECKS, inputs, is_fixing, out)?;
    writeln!(out, "{NOT_BUILT}")?;
    Ok(outcome)
}

/// `cargo xtask generate`: writes the documents in canonical form with the code samples, and then
/// the generated files.
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
