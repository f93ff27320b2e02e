//! The median of some rounds and how far they spread.

/// Quartiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub q1: f64,
    pub median: f64,
    pub q3: f64,
}

impl Spread {
    /// Of the values of some rounds; quantiles are interpolated between two of them.
    pub fn of(values: impl Iterator<Item = f64>) -> Spread {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let quantile = |part: f64| {
            let place = sorted.len().saturating_sub(1) as f64 * part;
            let at = |index: f64| sorted.get(index as usize).copied().unwrap_or(f64::NAN);
            let (below, above) = (at(place.floor()), at(place.ceil()));
            below + (above - below) * place.fract()
        };
        Spread { q1: quantile(0.25), median: quantile(0.5), q3: quantile(0.75) }
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
        let spread = Spread::of([4.0, 1.0, 3.0, 2.0].into_iter());
        assert_eq!((spread.q1, spread.median, spread.q3), (1.75, 2.5, 3.25));
        assert_eq!(Spread::of([3.0, 1.0, 2.0].into_iter()).median, 2.0);
        assert_eq!(Spread::of(std::iter::empty()).shown(|value| value.to_string()), "");
    }

    #[test]
    fn a_single_figure_shows_no_quartiles() {
        let whole = |value: f64| format!("{value:.0}");
        assert_eq!(Spread::of([5.0].into_iter()).shown(whole), "5");
        assert_eq!(Spread { q1: 1.0, median: 2.0, q3: 3.0 }.shown(whole), "2 (1–3)");
    }
}
