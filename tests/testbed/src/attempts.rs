//! A run that is repeated until the machine did not stand still meanwhile.

use crate::canary::Canary;
use crate::report::Report;
use std::io::Write;
use std::time::Duration;

/// A run in which the machine itself stood still for longer proves nothing.
const LONGEST_STALL: Duration = Duration::from_secs(1);

/// How often a run that proves nothing is repeated.
const ATTEMPTS: u32 = 3;

/// Runs it until it proves something, and prints what each run reported; the exit status:
/// 0 everything held, 1 something did not, 3 the machine stood still each time.
pub fn until_conclusive(
    out: &mut dyn Write,
    mut run: impl FnMut(&mut Report) -> anyhow::Result<()>,
) -> anyhow::Result<u8> {
    let mut code = 3;
    for _ in 0..ATTEMPTS {
        let canary = Canary::start()?;
        let mut report = Report::default();
        run(&mut report)?;
        let stall = canary.longest_stall();
        report.write(stall, out)?;
        code = report.exit_code(stall > LONGEST_STALL);
        if code != 3 {
            break;
        }
    }
    Ok(code)
}
