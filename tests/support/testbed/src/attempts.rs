//! Repeats a run whose result is inconclusive because the machine stalled.

use crate::report::{EXCUSING_STALL, Report, Verdict};
use crate::stall_detector::StallDetector;
use std::io::Write;
use std::time::Duration;

/// If the machine stalled for longer than this, even a run without violations is inconclusive.
const LONGEST_STALL: Duration = Duration::from_secs(1);

const ATTEMPTS: u32 = 3;

/// Repeats a run until it is conclusive, at most three times, and prints each report. Returns the
/// last run's exit status:
///
/// - 0: no violations
/// - 1: violations
/// - 2: an error
/// - 3: inconclusive, because the machine stalled
pub fn until_conclusive(
    out: &mut dyn Write,
    mut run: impl FnMut(&mut Report) -> anyhow::Result<()>,
) -> anyhow::Result<u8> {
    let mut code = 3;
    for _ in 0..ATTEMPTS {
        let stall_detector = StallDetector::start()?;
        let mut report = Report::default();
        let result = run(&mut report);
        let stall = stall_detector.longest_stall();
        report.write(stall, out)?;
        if let Err(error) = &result {
            writeln!(out, "error: {error:#}")?;
        }
        code = exit_status(report.verdict(), result.is_ok(), stall);
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
    fn a_stall_excuses_time_limits_but_not_contradictions() {
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
    fn a_report_lists_the_violations_that_a_stall_excuses() {
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
    fn an_error_is_printed_with_the_figures_before_it() {
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
