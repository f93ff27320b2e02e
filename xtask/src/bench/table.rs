//! The table: what was measured, against which floor, and whether that is
//! enough. A figure that falls short is reported, never asserted.

use super::rounds::Series;
use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;
use std::io::Write;

/// One line of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What was done.
    pub work: String,
    /// How much of it, with its unit.
    pub measured: String,
    /// Half of the answers took no longer, in microseconds.
    pub p50_us: Option<f64>,
    /// 99 % of the answers took no longer, in microseconds.
    pub p99_us: Option<f64>,
    /// Microseconds of processor an answer costs the server.
    pub cpu_us: Option<f64>,
    /// What it is compared with, and how much that is.
    pub floor: String,
    /// Measured in proportion to the floor.
    pub ratio: Option<f64>,
    /// The floor's microseconds of processor in proportion to the server's: the
    /// ratio that others on the machine disturb less.
    pub cpu_ratio: Option<f64>,
    /// What the ratio is to be.
    pub target: Target,
    /// Whether it is.
    pub verdict: Verdict,
}

/// What a ratio is to be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
    /// Shown beside the others, without a target of its own.
    None,
}

/// Whether a target is met.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is.
    Met,
    /// It is not.
    FallsShort,
    /// There is no target.
    Shown,
    /// It was not measured, for this reason.
    NotMeasured(String),
}

impl Target {
    fn verdict(self, ratio: f64) -> Verdict {
        match self {
            Target::AtLeast(least) if ratio >= least => Verdict::Met,
            Target::AtMost(most) if ratio <= most => Verdict::Met,
            Target::None => Verdict::Shown,
            _ => Verdict::FallsShort,
        }
    }
}

/// Which figure of a series a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// So many a second.
    Rate(&'static str),
    /// Bytes a second.
    Bytes,
    /// The latency that 99 % keep.
    P99,
    /// How long one takes.
    Seconds,
}

impl Figure {
    fn of(self, series: &Series) -> f64 {
        series.median(|sample| self.pick(sample))
    }

    fn pick(self, sample: &super::rounds::Sample) -> f64 {
        match self {
            Figure::Rate(_) => sample.rate,
            Figure::Bytes => sample.bytes,
            Figure::P99 => sample.p99,
            Figure::Seconds => 1.0 / sample.rate,
        }
    }

    fn shown(self, value: f64) -> String {
        match self {
            Figure::Rate(unit) => format!("{} {unit}", grouped(value)),
            Figure::Bytes => format!("{:.2} GB/s", value / 1e9),
            Figure::P99 => format!("p99 {} µs", grouped(value)),
            Figure::Seconds => format!("{value:.3} s"),
        }
    }
}

impl Row {
    /// Compares a series with its floor.
    pub fn compare(
        work: impl Into<String>,
        figure: Figure,
        own: &Series,
        (floor_name, floor): (&str, &Series),
        target: Target,
    ) -> Row {
        let ratio = own.ratio(floor, |sample| figure.pick(sample));
        let cpu_ratio = finite(floor.ratio(own, |sample| sample.cpu));
        Row {
            work: work.into(),
            measured: figure.shown(figure.of(own)),
            p50_us: finite(own.median(|sample| sample.p50)),
            p99_us: finite(own.median(|sample| sample.p99)),
            cpu_us: finite(own.median(|sample| sample.cpu)),
            floor: format!("{floor_name}: {}", figure.shown(figure.of(floor))),
            ratio: finite(ratio),
            cpu_ratio: cpu_ratio.filter(|_| figure != Figure::P99),
            target,
            verdict: target.verdict(ratio),
        }
    }

    /// A row that could not be measured.
    pub fn missing(work: &str, target: Target, why: &str) -> Row {
        Row {
            work: work.to_string(),
            measured: String::new(),
            p50_us: None,
            p99_us: None,
            cpu_us: None,
            floor: String::new(),
            ratio: None,
            cpu_ratio: None,
            target,
            verdict: Verdict::NotMeasured(why.to_string()),
        }
    }

    /// A row of figures that were not taken in rounds.
    pub fn plain(work: &str, measured: String, floor: String, ratio: f64, target: Target) -> Row {
        let verdict = target.verdict(ratio);
        let ratio = finite(ratio);
        Row { measured, floor, ratio, verdict, ..Row::missing(work, target, "") }
    }

    fn cells(&self) -> [String; 9] {
        let number = |value: Option<f64>| value.map(shown_small).unwrap_or_default();
        [
            self.work.clone(),
            self.measured.clone(),
            number(self.p50_us),
            number(self.p99_us),
            number(self.cpu_us),
            self.floor.clone(),
            self.ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
            self.cpu_ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default(),
            match (&self.target, &self.verdict) {
                (_, Verdict::NotMeasured(why)) => format!("not measured: {why}"),
                (Target::AtLeast(least), Verdict::Met) => format!("≥ {least}: met"),
                (Target::AtMost(most), Verdict::Met) => format!("≤ {most}: met"),
                (Target::AtLeast(least), _) => format!("≥ {least}: FALLS SHORT"),
                (Target::AtMost(most), _) => format!("≤ {most}: FALLS SHORT"),
                (Target::None, _) => String::new(),
            },
        ]
    }
}

/// Writes the rows as a table that Markdown reads, too.
pub fn write(rows: &[Row], out: &mut dyn Write) -> std::io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header([
        "work",
        "measured",
        "p50 µs",
        "p99 µs",
        "CPU µs",
        "compared with",
        "ratio",
        "CPU ratio",
        "target",
    ]);
    for row in rows {
        table.add_row(row.cells());
    }
    writeln!(out, "{table}")
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn shown_small(value: f64) -> String {
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
    fn a_ratio_is_held_to_its_target() {
        assert_eq!(Target::AtLeast(0.75).verdict(0.75), Verdict::Met);
        assert_eq!(Target::AtLeast(0.75).verdict(0.74), Verdict::FallsShort);
        assert_eq!(Target::AtMost(3.0).verdict(3.1), Verdict::FallsShort);
        assert_eq!(Target::AtLeast(0.75).verdict(f64::NAN), Verdict::FallsShort);
        assert_eq!(Target::None.verdict(0.1), Verdict::Shown);
    }

    #[test]
    fn what_falls_short_is_in_the_table() {
        let rows = [
            Row::plain("fast", "2 /s".into(), "floor: 1 /s".into(), 2.0, Target::AtLeast(1.0)),
            Row::plain("slow", "1 /s".into(), "floor: 2 /s".into(), 0.5, Target::AtLeast(1.0)),
            Row::missing("none", Target::AtLeast(1.0), "no switch"),
        ];
        let mut text = Vec::new();
        write(&rows, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("≥ 1: met") && text.contains("≥ 1: FALLS SHORT"), "{text}");
        assert!(text.contains("not measured: no switch"), "{text}");
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(grouped(1_234_567.4), "1,234,567");
        assert_eq!(grouped(999.0), "999");
    }
}
