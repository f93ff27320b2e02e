//! `cargo xtask check`: runs every check and prints the problems. With `--fix`, first writes the
//! fixes that can be generated. `cargo xtask generate` is two of these checks with their fixes.
//!
//! Callers rely on what a document in `spec/` promises, so the check must find what the code does
//! differently. The obvious check generates the code again and compares it with the files in
//! `api/src`. This proves only that nobody has edited a file: if the generator overlooks a
//! `maximum`, it overlooks it both times. The next idea is to compare the document that dropshot,
//! the server's HTTP library, emits. But for a time the generated Rust module (the contract)
//! carried parts of the document as constants, in 1,900 lines, and added them to what dropshot
//! emits. For these parts, the check compared the document with a copy of it, and could not fail.
//!
//! Now the comparison goes through something that is not a copy. The generated code has types
//! instead of such constants, and dropshot and schemars, which have never seen the document, derive
//! one from the compiled types:
//!
//! ```text
//! spec/openapi-v2.json --generate--> api/src/v2.rs --dropshot, schemars--> emitted document
//!          |                                                                      |
//!          +------------------ compared leaf by leaf (document.rs) ---------------+
//! ```
//!
//! If the generator overlooks a `maximum`, the type has no bound, so the emitted document lacks it,
//! and the check names its JSON pointer. For each leaf of the document, one of two things is always
//! true:
//!
//! - Dropshot emits the leaf, with the same value. This covers paths, methods, parameters, types,
//!   formats, bounds, required members, and the first success of each operation.
//! - Dropshot cannot emit it, and its kind is in `codegen::unemitted`, with the checks and tests
//!   that prove it instead. `api/UPSTREAM.md` shows the same table. A leaf of no kind is a problem.
//!
//! Types only declare what a server should do. To emit the document, the check compiles and runs
//! only the crate `api`, in a process of its own (`emitted.rs`), and not the server. What the
//! server does is proven by tests, which read the document and not the generated types:
//!
//! - The wire check (`tests/support/test_server`) stands between client and server in the
//!   integration tests. If the status, a header or the body of a response is not as documented, the
//!   test fails.
//! - `tests/every_documented_answer.rs` fails unless the tests have received each documented
//!   status, header, code, field and listed value, and sent each query parameter.
//! - Fuzzing (`xtask/src/external_checks/fuzzing.rs`) sends requests that violate the document, and
//!   expects them to be refused. For the bounds of parameters this is necessary, because the
//!   generated code has each bound twice: dropshot emits the one, and the parser enforces the
//!   other.
//!
//! The checks themselves are tested with seeded defects. `xtask/tests/every_leaf.rs` changes each
//! leaf, object and array of the documents, one at a time. Either this check must name the place,
//! or it must be a change that needs a new version, by the rules of
//! [`compatibility`](crate::compatibility). `xtask/tests/seeded_defects.rs` makes the mistakes that
//! a person might make in the files, and `tests/wire_check.rs` sends responses that are wrong.
//!
//! Text is the weak place. Descriptions pass through the types as comments, so their return proves
//! that none was lost, not that they are true. Therefore `check/texts.rs` compares the plans, codes
//! and bounds in texts with the values that programs read. `check/examples.rs` validates the
//! examples.
//!
//! The checks read only their [`Inputs`], so that tests can check any document. An input that
//! cannot be read stops only the checks that need it. To add a check, write a function and add it
//! to `CHECKS`.

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

/// All checks. A check comes after the checks whose fixes can change its input: inserting samples
/// may require a new version, the version is part of the generated files, and the documents are
/// emitted from generated code. The published documents come first, because most checks compare
/// with them.
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
