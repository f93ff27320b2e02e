//! The median of some rounds and how far they spread.

/// Quartiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub q1: f64,
    pub median: f64,
    pub q3: f64,
}

impl Spread {
    /// Of the values of some rounds.
    pub fn of(mut values: Vec<f64>) -> Spread {
        values.sort_unstable_by(f64::total_cmp);
        let at = |quarters: f64| Spread::quantile(&values, quarters / 4.0);
        Spread { q1: at(1.0), median: at(2.0), q3: at(3.0) }
    }

    /// Of a figure that was taken once.
    pub fn single(value: f64) -> Spread {
        Spread { q1: value, median: value, q3: value }
    }

    /// The quantile of sorted values, interpolated between two of them.
    pub fn quantile(sorted: &[f64], part: f64) -> f64 {
        let place = sorted.len().saturating_sub(1) as f64 * part;
        let at = |index: f64| sorted.get(index as usize).copied().unwrap_or(f64::NAN);
        let (below, above) = (at(place.floor()), at(place.ceil()));
        below + (above - below) * place.fract()
    }

    /// The median and, where there are rounds, the quartiles; nothing if it is unknown.
    pub fn shown(self, shown: impl Fn(f64) -> String) -> String {
        if !self.median.is_finite() {
            return String::new();
        }
        let median = shown(self.median);
        if self.q1 == self.q3 {
            return median;
        }
        format!("{median} ({}–{})", shown(self.q1), shown(self.q3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_interpolated() {
        let spread = Spread::of(vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!((spread.q1, spread.median, spread.q3), (1.75, 2.5, 3.25));
        assert_eq!(Spread::of(vec![3.0, 1.0, 2.0]).median, 2.0);
        assert_eq!(Spread::of(vec![5.0]), Spread::single(5.0));
        assert_eq!(Spread::of(vec![]).shown(|value| value.to_string()), "");
    }

    #[test]
    fn a_single_figure_shows_no_quartiles() {
        let whole = |value: f64| format!("{value:.0}");
        assert_eq!(Spread::single(5.0).shown(whole), "5");
        assert_eq!(Spread { q1: 1.0, median: 2.0, q3: 3.0 }.shown(whole), "2 (1–3)");
    }
}
