//! The table: what was measured, what it is compared with, and whether that is
//! enough. A missed target is reported, never asserted.

use crate::rounds::{Sample, Series};
use crate::spread::Spread;
use comfy_table::{ContentArrangement, Table, presets};
use std::io::Write;

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was done.
    pub work: String,
    /// How much of it, with its unit.
    pub measured: String,
    /// Microseconds that half of the answers took at most; like what follows unknown, and not
    /// shown, where it is no number.
    pub p50_us: f64,
    /// Microseconds that 99 % of the answers took at most.
    pub p99_us: f64,
    /// Microseconds of processor time that an answer costs the server.
    pub cpu_us: f64,
    /// What it is compared with, and how much that is.
    pub baseline: String,
    /// Measured divided by the baseline, round by round.
    pub ratio: Spread,
    /// The baseline's processor time divided by the server's: the ratio that other
    /// programs on the machine disturb less.
    pub cpu_ratio: f64,
    pub target: Target,
}

/// What a ratio must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    AtLeast(f64),
    AtMost(f64),
    /// Shown without a target.
    None,
}

impl Target {
    /// It is met or missed only if both quartiles are on one side of it.
    fn shown(self, ratio: Spread) -> String {
        let (target, worst_is_enough, best_is_enough) = match self {
            Target::AtLeast(least) => (format!("≥ {least}"), ratio.q1 >= least, ratio.q3 >= least),
            Target::AtMost(most) => (format!("≤ {most}"), ratio.q3 <= most, ratio.q1 <= most),
            Target::None => return String::new(),
        };
        let result = match (worst_is_enough, best_is_enough) {
            (true, true) => "met",
            (false, true) => "within noise",
            _ => "**missed**",
        };
        format!("{target}: {result}")
    }
}

/// Which figure of a series a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// How many a second, with their unit.
    Rate(&'static str),
    /// Bytes a second.
    Bytes,
    /// The latency of 99 % of the answers.
    P99,
    /// How long one takes.
    Seconds,
}

impl Figure {
    fn of(self, sample: &Sample) -> f64 {
        match self {
            Figure::Rate(_) => sample.rate,
            Figure::Bytes => sample.bytes,
            Figure::P99 => sample.p99,
            Figure::Seconds => 1.0 / sample.rate,
        }
    }

    fn shown(self, series: &Series) -> String {
        let spread = series.spread(|sample| self.of(sample));
        match self {
            Figure::Rate(unit) => format!("{} {unit}", spread.shown(grouped)),
            Figure::Bytes => format!("{} GB/s", spread.shown(|value| hundredths(value / 1e9))),
            Figure::P99 => format!("p99 {} µs", spread.shown(grouped)),
            Figure::Seconds => format!("{} s", spread.shown(hundredths)),
        }
    }
}

impl Row {
    /// Compares a series with its baseline.
    pub fn compare(
        work: impl Into<String>,
        figure: Figure,
        own: &Series,
        (baseline_name, baseline): (&str, &Series),
        target: Target,
    ) -> Row {
        let cpu_ratio = match figure {
            Figure::P99 => f64::NAN,
            _ => baseline.ratio(own, |sample| sample.cpu).median,
        };
        Row {
            p50_us: own.spread(|sample| sample.p50).median,
            p99_us: own.spread(|sample| sample.p99).median,
            cpu_us: own.spread(|sample| sample.cpu).median,
            ratio: own.ratio(baseline, |sample| figure.of(sample)),
            cpu_ratio,
            ..Row::single(
                work,
                figure.shown(own),
                format!("{baseline_name}: {}", figure.shown(baseline)),
                f64::NAN,
                target,
            )
        }
    }

    /// A figure that was not taken in rounds.
    pub fn single(
        work: impl Into<String>,
        measured: String,
        baseline: String,
        ratio: f64,
        target: Target,
    ) -> Row {
        let (work, ratio, unknown) = (work.into(), Spread::single(ratio), f64::NAN);
        let (p50_us, p99_us, cpu_us, cpu_ratio) = (unknown, unknown, unknown, unknown);
        Row { work, measured, p50_us, p99_us, cpu_us, baseline, ratio, cpu_ratio, target }
    }

    fn cells(&self) -> [String; 9] {
        let number = |value| Spread::single(value).shown(short);
        [
            self.work.clone(),
            self.measured.clone(),
            self.baseline.clone(),
            self.ratio.shown(hundredths),
            self.target.shown(self.ratio),
            number(self.p50_us),
            number(self.p99_us),
            number(self.cpu_us),
            Spread::single(self.cpu_ratio).shown(hundredths),
        ]
    }
}

/// Writes the rows as a Markdown table.
pub fn write(rows: &[Row], out: &mut dyn Write) -> std::io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header([
        "Work",
        "Measured",
        "Compared with",
        "Ratio",
        "Target",
        "p50 µs",
        "p99 µs",
        "CPU µs",
        "CPU ratio",
    ]);
    for row in rows {
        table.add_row(row.cells());
    }
    writeln!(out, "{table}")
}

fn hundredths(value: f64) -> String {
    format!("{value:.2}")
}

fn short(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { grouped(value) }
}

/// A number with its thousands apart.
pub fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_met_or_missed_only_if_the_spread_clears_it() {
        let ratio = Spread { q1: 0.7, median: 0.8, q3: 0.9 };
        for (target, result) in [
            (Target::AtLeast(0.7), "≥ 0.7: met"),
            (Target::AtLeast(0.75), "≥ 0.75: within noise"),
            (Target::AtLeast(0.85), "≥ 0.85: within noise"),
            (Target::AtLeast(0.91), "≥ 0.91: **missed**"),
            (Target::AtMost(0.9), "≤ 0.9: met"),
            (Target::AtMost(0.75), "≤ 0.75: within noise"),
            (Target::AtMost(0.69), "≤ 0.69: **missed**"),
            (Target::None, ""),
        ] {
            assert_eq!(target.shown(ratio), result);
        }
        let unknown = Spread::single(f64::NAN);
        assert_eq!(Target::AtLeast(0.75).shown(unknown), "≥ 0.75: **missed**");
    }

    #[test]
    fn a_missed_target_is_in_the_table() {
        let rows = [
            Row::single("fast", "2 /s".into(), "disk: 1 /s".into(), 2.0, Target::AtLeast(1.0)),
            Row::single("slow", "1 /s".into(), "disk: 2 /s".into(), 0.5, Target::AtLeast(1.0)),
        ];
        let mut text = Vec::new();
        write(&rows, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("≥ 1: met") && text.contains("≥ 1: **missed**"), "{text}");
        assert!(text.starts_with('|') && text.contains("|------"), "{text}");
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(grouped(1_234_567.4), "1,234,567");
        assert_eq!(grouped(999.0), "999");
    }
}
