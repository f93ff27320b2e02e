//! A run that is repeated until the machine did not stand still meanwhile.

use crate::canary::Canary;
use crate::report::{EXCUSING_STALL, Report, Verdict};
use std::io::Write;
use std::time::Duration;

/// A run in which the machine itself stood still for longer proves nothing.
const LONGEST_STALL: Duration = Duration::from_secs(1);

/// How often a run that proves nothing is repeated.
const ATTEMPTS: u32 = 3;

/// Runs it until it proves something, and prints what each run reported; the exit status:
/// 0 everything held, 1 something did not, 2 it could not run, 3 the machine stood still each
/// time.
pub fn until_conclusive(
    out: &mut dyn Write,
    mut run: impl FnMut(&mut Report) -> anyhow::Result<()>,
) -> anyhow::Result<u8> {
    let mut code = 3;
    for _ in 0..ATTEMPTS {
        let canary = Canary::start()?;
        let mut report = Report::default();
        let ended = run(&mut report);
        let stall = canary.longest_stall();
        report.write(stall, out)?;
        if let Err(error) = &ended {
            writeln!(out, "error: {error:#}")?;
        }
        code = exit_status(report.verdict(), ended.is_ok(), stall);
        if code != 3 {
            break;
        }
    }
    Ok(code)
}

fn exit_status(verdict: Verdict, has_ended: bool, stall: Duration) -> u8 {
    let (is_conclusive, is_unexcused) = (stall <= LONGEST_STALL, stall <= EXCUSING_STALL);
    match verdict {
        Verdict::Contradicted => 1,
        Verdict::Holds if has_ended && is_conclusive => 0,
        Verdict::Violated if has_ended && is_unexcused => 1,
        Verdict::Holds | Verdict::Violated if !has_ended && is_unexcused => 2,
        Verdict::Holds | Verdict::Violated => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{assert_text, str};

    #[test]
    fn a_stall_excuses_failures_but_no_contradiction() {
        let statuses = |verdict, has_ended| {
            [0, 200, 201, 1_000, 1_001]
                .map(|millis| exit_status(verdict, has_ended, Duration::from_millis(millis)))
        };
        assert_eq!(statuses(Verdict::Holds, true), [0, 0, 0, 0, 3]);
        assert_eq!(statuses(Verdict::Violated, true), [1, 1, 3, 3, 3]);
        assert_eq!(statuses(Verdict::Holds, false), [2, 2, 3, 3, 3]);
        assert_eq!(statuses(Verdict::Violated, false), [2, 2, 3, 3, 3]);
        assert_eq!(statuses(Verdict::Contradicted, true), [1; 5]);
        assert_eq!(statuses(Verdict::Contradicted, false), [1; 5]);
    }

    #[test]
    fn a_report_says_what_a_stall_excuses() {
        let printed = |stall| {
            let (mut report, mut printed) = (Report::default(), Vec::new());
            report.expect(false, || "order 1 is lost".to_string());
            report.expect_unless_stalled(false, || "a 503".to_string());
            report.time("an answer", Duration::from_millis(1_100), Duration::from_secs(1));
            report.write(Duration::from_millis(stall), &mut printed).unwrap();
            String::from_utf8(printed).unwrap()
        };
        let expected = str![[r#"
  an answer: 1.10s (at most 1s)
  the machine's longest stall: 201.00ms
violation: order 1 is lost
excused by the stall: an answer took 1.10s, more than 1s
excused by the stall: a 503
"#]];
        assert_text(&printed(201), expected);
        assert_eq!(printed(0).matches("violation: ").count(), 3);
    }

    #[test]
    fn an_error_is_printed_with_what_was_found_before_it() {
        let mut printed = Vec::new();
        let code = until_conclusive(&mut printed, |report| {
            report.figure("12 requests");
            anyhow::bail!("no failover")
        });
        let printed = String::from_utf8(printed).unwrap();
        assert!(printed.contains("12 requests") && printed.contains("error: no failover"));
        assert!([2, 3].contains(&code.unwrap()));
    }
}
