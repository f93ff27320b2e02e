//! The table of results: measured values, baselines and targets. A missed target does not fail the
//! benchmark.

use crate::spread::Spread;
use comfy_table::{ContentArrangement, Table, presets};
use std::io::Write;

const HEADER: [&str; 6] = ["Work", "Measured", "Compared with", "Ratio", "Target", "CPU ratio"];

#[derive(Clone, Debug)]
pub struct Row {
    pub work: String,
    pub unit: Unit,
    pub measured: Spread,
    pub baseline_name: String,
    pub baseline: Spread,
    /// The spread of the ratios. Each round has one ratio: the measured value divided by the
    /// baseline's value.
    pub ratio: Spread,
    pub target: Target,
    /// The baseline's processor time per response, divided by this build's processor time per
    /// response. Other programs disturb `ratio` more than `cpu_ratio`. NaN if either time was not
    /// measured.
    pub cpu_ratio: Spread,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    PerSecond,
    Milliseconds,
}

impl Unit {
    fn format(self, spread: Spread) -> String {
        let formatted =
            spread.format(|value| if value < 100.0 { tenths(value) } else { grouped(value) });
        match self {
            Unit::PerSecond => formatted + " /s",
            Unit::Milliseconds => formatted + " ms",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    AtLeast(f64),
    AtMost(f64),
    None,
}

impl Target {
    /// Formats the target and its result. The result is "within noise" if the target is between the
    /// quartiles of the ratio.
    fn format(self, ratio: Spread) -> String {
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

pub fn write(rows: &[Row], out: &mut dyn Write) -> std::io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(HEADER);
    for row in rows {
        table.add_row([
            row.work.clone(),
            row.unit.format(row.measured),
            format!("{}: {}", row.baseline_name, row.unit.format(row.baseline)),
            row.ratio.format(hundredths),
            row.target.format(row.ratio),
            row.cpu_ratio.format(hundredths),
        ]);
    }
    writeln!(out, "{table}")
}

fn tenths(value: f64) -> String {
    format!("{value:.1}")
}

fn hundredths(value: f64) -> String {
    format!("{value:.2}")
}

fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut formatted = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            formatted.push(',');
        }
        formatted.push(digit);
    }
    formatted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(values: [f64; 3]) -> Spread {
        Spread::from_values(values.into_iter())
    }

    #[test]
    fn a_target_is_met_or_missed_only_if_both_quartiles_are() {
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
            assert_eq!(target.format(ratio), result);
        }
        let unknown = spread([f64::NAN; 3]);
        assert_eq!(Target::AtLeast(0.75).format(unknown), "≥ 0.75: **missed**");
    }

    #[test]
    fn a_row_has_its_units_and_its_result() {
        let row = Row {
            work: "list".to_string(),
            unit: Unit::PerSecond,
            measured: spread([1_234_567.0; 3]),
            baseline_name: "dropshot".to_string(),
            baseline: spread([98.76; 3]),
            ratio: spread([0.5, 0.6, 0.7]),
            target: Target::AtLeast(1.0),
            cpu_ratio: spread([f64::NAN; 3]),
        };
        let mut text = Vec::new();
        write(&[row], &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let row = text.lines().last().unwrap();
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let formatted =
            ["1,234,567 /s", "dropshot: 98.8 /s", "0.60 (0.55–0.65)", "≥ 1: **missed**", ""];
        assert_eq!(cells[2..7], formatted, "{text}");
        assert!(text.contains("|------"), "{text}");
    }
}
