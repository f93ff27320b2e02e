//! Gauges that are computed when they are scraped.

use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use std::fmt;

/// A figure that is computed when it is asked for.
pub type Figure = Box<dyn Fn() -> f64 + Send + Sync>;

/// The value that a function returns.
pub struct ComputedGauge<F>(pub F);

impl<F> fmt::Debug for ComputedGauge<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ComputedGauge(..)")
    }
}

impl<F: Fn() -> f64> EncodeMetric for ComputedGauge<F> {
    fn encode(&self, encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        ConstGauge::new((self.0)()).encode(encoder)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}
