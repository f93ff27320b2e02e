//! Summarizes repeated measurements by their median and quartiles, which a few outliers hardly
//! change.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub q1: f64,
    pub median: f64,
    pub q3: f64,
}

impl Spread {
    /// Computes the quartiles of these values by linear interpolation.
    pub fn from_values(values: impl Iterator<Item = f64>) -> Spread {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let quantile = |part: f64| {
            let position = sorted.len().saturating_sub(1) as f64 * part;
            let value_at = |index: f64| sorted.get(index as usize).copied().unwrap_or(f64::NAN);
            let (below, above) = (value_at(position.floor()), value_at(position.ceil()));
            below + (above - below) * position.fract()
        };
        Spread { q1: quantile(0.25), median: quantile(0.5), q3: quantile(0.75) }
    }

    /// Formats the median, followed by the quartiles if they differ. Returns an empty string if the
    /// median is NaN, because then nothing was measured.
    pub fn format(self, format_value: impl Fn(f64) -> String) -> String {
        if !self.median.is_finite() {
            return String::new();
        }
        let median = format_value(self.median);
        if self.q1 == self.q3 {
            return median;
        }
        format!("{median} ({}–{})", format_value(self.q1), format_value(self.q3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_interpolated() {
        let spread = Spread::from_values([4.0, 1.0, 3.0, 2.0].into_iter());
        assert_eq!((spread.q1, spread.median, spread.q3), (1.75, 2.5, 3.25));
        assert_eq!(Spread::from_values([3.0, 1.0, 2.0].into_iter()).median, 2.0);
        assert_eq!(Spread::from_values(std::iter::empty()).format(|value| value.to_string()), "");
    }

    #[test]
    fn a_single_figure_shows_no_quartiles() {
        let whole = |value: f64| format!("{value:.0}");
        assert_eq!(Spread::from_values([5.0].into_iter()).format(whole), "5");
        assert_eq!(Spread { q1: 1.0, median: 2.0, q3: 3.0 }.format(whole), "2 (1–3)");
    }
}
